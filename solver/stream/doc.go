// Package stream labels the embeddings of a stream, episode by episode, and learns from them: warm-started SLK.
//
// A Stream is given episodes of items, in order, and the labelled examples in force; it answers each item with a label, a
// confidence and whether the item is of a class that nobody has labelled. From every episode it learns: how often each
// class comes, what its classes look like here, a metric in which they are easier to tell apart, how far its own
// confidence can be trusted. Items may carry labels themselves; those teach. Without any label the answers are clusters
// with stable ids.
//
//	engine, err := stream.NewEngine(settings)          // workspaces, for any number of streams
//	camera := stream.New("camera-7", settings)
//	answers, report, err := camera.Answer(ctx, engine, items, labels)
//	pieces := camera.State()                           // what it remembers, as bytes
//	camera, err = stream.Restore(settings, pieces)     // goes on as if it had never stopped
//
// The package is pure: no Kafka, no clock, no goroutine. Every answer, and everything learned, is a function of the
// stream's own items, the labels in force and the settings, bit for bit, however often the stream was encoded and restored
// in between. (A shared metric is the exception: see Settings.SharedMetric. And processors with other vector units round
// differently: a stream that moves between them says so in its next Report.)
//
// What a stream learns is made of parts, each in a file of its own with its state, its rule and its bytes: see part.
package stream
