package piece

// Numbers of fields. One never gets another meaning.
const (
	Kind = iota + 1
	Name
	Model
	Dimension
	Fingerprint
	Episode
	Offset
	Object
	Seen // the sum of the labels topic
	Taught
	Credit
	Verdict // a held-out answer
	Topic
	NextCluster
	Pieces
	Mean
	Mass
	Count
	Example
	ID
	Vector
	Label
	Predicted
	Confidence
	Items
	Scales
	Sum // of rows that are not judged yet
	Freedom
	Trace
	Note
	Units
	Spread // the density of unknown scores
	Pending
	Again
	RecurrenceMass
	OrderDistance
	OrderWeight
	ItemCount
	Track
	Kernel
	RawMean
	Inverse
	RawSum
	LeftOut
	Score
	TrackLabel
	LinkedItem
	UnitRow
	Frame
	Position
	EarlierItem
	Usual // likeness of shapes
	HalfBytes
	Directions
	_ // products of a scatter, no longer read
	RowScales
	About
	ShortMean
	Weights
	Apart
	HeldOut
	Root
	RootScales
	Turn
)
