// Package taught holds what users say of the embeddings of streams: labelled examples, names of classes, and
// classes that items are not of. Labels are one version of all of this; With makes the next one, and For gives
// what applies to one stream, which its episodes ask.
package taught
