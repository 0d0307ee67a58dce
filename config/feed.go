package config

// Feed is how a file becomes a feed.
type Feed struct {
	LabelsFile string
	Key        string
	Keys       string
	Rate       float64
	Loop       bool
}

func (f *Feed) title() string { return "Feed" }

func (f *Feed) settings() []Setting {
	return takenBy([]string{"feed"},
		define("labels-file", &f.LabelsFile, "", ".npy file of int32 classes, -1 none: sent as each record's label").example("FILE"),
		define("key", &f.Key, "", "key of every record").example("TEXT"),
		define("keys", &f.Keys, "", ".npy file of one whole number a row, the key of its record").example("FILE"),
		define("rate", &f.Rate, 0, "records a second; 0: as fast as the brokers take them", atLeast(0.)),
		define("loop", &f.Loop, false, "begin again at the end of the file, until stopped"),
	)
}

func (f *Feed) faults(*Config) []Fault {
	if f.Key != "" && f.Keys != "" {
		return []Fault{{Setting: "keys", Problem: "is " + f.Keys + " and key is " + f.Key + ": leave one out"}}
	}
	return nil
}
