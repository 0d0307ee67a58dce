// Package stream labels the embeddings of a stream, episode by episode, and learns from them: it
// is warm-started SLK.
//
// A Stream gets episodes of items, in order, and the labelled examples in force. It answers each item with a
// label, a confidence, and whether the item seems to be of a class without labels. From every episode it
// learns how often each class comes, how its classes look here, a metric that separates them better, and how
// far its own confidence can be trusted. Items may carry labels themselves, which the stream learns too.
// Without any label the answers are clusters with stable ids.
//
//	camera := stream.New("camera-7")                   // with Defaults
//	answers, report, err := camera.Answer(ctx, nil, items, labels)
//	pieces := camera.State()                           // what it has learned, as bytes
//	camera, err = stream.Restore(settings, pieces)     // continues where it stopped
//
// The package uses no Kafka, no clock and no goroutine. Every answer, and everything learned, is a function
// of the stream's own items, the labels in force and the settings, bit for bit, however often the stream was
// encoded and restored in between. The exception is processors with other vector units, which round differently. A stream
// that moves between those notes it in its next Report.
//
// The learned state has parts, each in a file of its own with its state, its rule and its encoding; see part. What
// users say of items is in the package taught.
package stream
