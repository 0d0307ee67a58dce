package main

import (
	"context"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cell is one way in which one resource of the stage fails.
type cell struct {
	resource, way string
	how           string  // details
	does          string  // the stage's behaviour meanwhile
	told          trouble // empty: readyz does not change
	doubt         string  // told on the page and in the log, while readyz does not change
	letter        bool    // it causes a dead letter
	othersGoOn    bool    // another input is still answered
	answersLost   bool    // answers are deleted with their topic, so repeats are allowed
	idsAgain      bool    // the input is created again, so positions and ids repeat
	later         bool    // nothing can be written to the input meanwhile
	onceOnly      bool    // only exactly once needs it
	atStart       bool    // the stage is stopped before it fails, and started again
	short         bool    // played in CI
	unlisted      bool    // a like cell stands for it on the page
	on            ground  // brokers on which it can be played
	begin         func(context.Context, *bed) error
}

// trouble is what reports a fault: a text in readyz, and the label with which slkstream_trouble is above 0.
type trouble struct{ text, of string }

// ground is the kind of brokers that a cell is played on.
type ground int

const (
	anywhere ground = iota
	embedded        // can be made to answer anything
	real            // its processes can be stopped
)

const (
	stateTopicName = groupName + "-state"
	deadTopicName  = outTopic + "-dead"
	reviewTopic    = "review"
)

// The stage's behaviour meanwhile.
const (
	gone           = "reads nothing and keeps what it has; brokers give its partitions to others after --session-timeout"
	retries        = "keeps what is closed in bounded memory and tries again, ever more slowly"
	goesOn         = "goes on with the labels that it has"
	goesOnAsBefore = "goes on as before"
	deadLetter     = "writes a dead letter"
	waitsFirst     = "waits for it and reads nothing"
)

// cells returns the cells that are played. The table's other pairs are in elsewhere and meaningless.
func cells() []cell {
	const partition = "partition"
	stuck := trouble{"has not got on", partition}
	inputStuck := trouble{inTopic + "/0 " + stuck.text, partition}
	notAtWork := trouble{"not at work for", "brokers"}
	cutOff, labelsUnread := trouble{"cut off for", "brokers"}, trouble{"the labels topic", "labels"}
	group := []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat}
	transaction := []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.EndTxn}
	return append(append(otherSettings(), registryCells()...), []cell{
		{
			resource: "brokers", way: "away", how: "connections are refused", does: gone, told: cutOff,
			begin: refused,
		},
		{
			resource: "brokers", way: "away", how: "the process is killed", does: gone, told: cutOff, on: real,
			begin: killed,
		},
		{
			resource: "brokers", way: "hanging", how: "connections hang", does: gone, told: cutOff, short: true,
			begin: held,
		},
		{
			resource: "brokers", way: "hanging", how: "connections end instead of answering", does: gone,
			told:  cutOff,
			short: true, begin: silent,
		},
		{
			resource: "brokers", way: "slow", how: "each request takes 100 ms more", does: "goes on, later",
			othersGoOn: true, begin: slowed,
		},
		{
			resource: "group coordinator", way: "away", how: "not available", does: gone, told: cutOff,
			on: embedded, short: true,
			begin: failing(kfake.Fault{Keys: group, TopLevel: true, Err: kerr.CoordinatorNotAvailable}),
		},
		{
			resource: "group coordinator", way: "denied", how: "READ denied", does: gone, told: cutOff,
			short: true,
			begin: denied(kafka.ResourceTypeGroup, groupName, kafka.ACLOperationTypeRead, kfake.Fault{
				Keys: group, TopLevel: true, Err: kerr.GroupAuthorizationFailed,
			}),
		},
		{
			resource: "group coordinator", way: "hanging", how: "never answers", does: gone, told: cutOff,
			begin: mute(group...),
		},
		{
			resource: "group coordinator", way: "another's", how: "a consumer of another program joins the group",
			does:       "goes on: the group refuses it",
			othersGoOn: true, short: true, begin: stranger,
		},
		{
			resource: "group coordinator", way: "another's",
			how:  "a consumer of another program has the group at a restart, and commits",
			does: "waits until it has gone, and answers what it has read", told: cutOff, atStart: true, short: true,
			begin: strangerFirst,
		},
		{
			resource: "group coordinator", way: "another's", how: "a consumer of the protocol of KIP-848 joins the group",
			does: "goes on: the group refuses it", othersGoOn: true, on: real, begin: strangerOfNow,
		},
		{
			resource: "state", way: "another's", how: "a stage with another group has the same state topic",
			does: "goes on: each knows its own records", othersGoOn: true, short: true, begin: neighbour,
		},
		{
			resource: "clock", way: "another's", how: "the brokers' is two hours behind",
			does: "writes with their time", doubt: "this machine's clock is 2h0m0s ahead", othersGoOn: true, on: embedded, short: true,
			begin: behind,
		},
		{
			resource: "input", way: "another's", how: "the brokers throttle its reader to a quota that others have used up",
			does: "waits as long as they say", told: inputStuck, on: embedded, short: true, begin: throttled,
		},
		{
			resource: "transaction coordinator", way: "away", how: "not available", does: retries, told: stuck,
			onceOnly: true,
			on:       embedded, short: true,
			begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.EndTxn}, TopLevel: true, Err: kerr.CoordinatorNotAvailable,
			}),
		},
		{
			resource: "transaction coordinator", way: "denied", how: "WRITE denied", does: retries, told: stuck,
			onceOnly: true,
			short:    true,
			begin: denied(kafka.ResourceTypeTransactionalID, "*", kafka.ACLOperationTypeWrite, kfake.Fault{
				Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.TransactionalIDAuthorizationFailed,
			}),
		},
		{
			resource: "transaction coordinator", way: "hanging", how: "never answers", does: retries, told: stuck,
			onceOnly: true,
			begin:    mute(transaction...),
		},
		{
			resource: "input", way: "hanging", how: "a sender's transaction hangs",
			does: "answers up to the transaction and other inputs",
			told: trouble{"a transaction that has not ended", "transaction"}, othersGoOn: true, short: true,
			begin: hangingSender(inTopic),
		},
		{
			resource: "input", way: "denied", how: "READ denied",
			does: "goes on with other inputs, asks again every two seconds",
			told: inputStuck, othersGoOn: true, short: true,
			begin: denied(kafka.ResourceTypeTopic, inTopic, kafka.ACLOperationTypeRead, kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: inTopic, Err: kerr.TopicAuthorizationFailed,
			}),
		},
		{
			resource: "input", way: "away", how: "deleted, and made again later",
			does:       "goes on with other inputs and waits for it",
			told:       trouble{"input topics have been missing", "input"},
			othersGoOn: true, idsAgain: true, later: true, short: true, begin: deleted(inTopic, 1),
		},
		{
			resource: "input", way: "made again", unlisted: true, how: "empty, within a second", does: "begins at its start",
			othersGoOn: true, idsAgain: true, begin: madeAgain(inTopic, 1),
		},
		{
			resource: "input", way: "made again", unlisted: true, how: "with three partitions", does: "begins at their start",
			othersGoOn: true, idsAgain: true, begin: madeAgain(inTopic, 3),
		},
		{
			resource: "input", way: "made again", how: "refilled past the old offsets, within a second",
			does: "answers all of it", othersGoOn: true, idsAgain: true, short: true, begin: refilled(inTopic),
		},
		{
			resource: "input", way: "huge", how: "a batch that inflates to 192 MiB", does: deadLetter, letter: true,
			othersGoOn: true,
			begin:      bomb,
		},
		{
			resource: "output", way: "away", how: "deleted, and made again later", does: retries, told: stuck,
			answersLost: true,
			short:       true, begin: deleted(outTopic, 1),
		},
		{
			resource: "output", way: "denied", how: "WRITE denied", does: retries, told: stuck, short: true,
			begin: deniedWriting(outTopic),
		},
		{
			resource: "output", way: "hanging", how: "too few replicas in sync", does: retries, told: stuck,
			on:    embedded,
			begin: failing(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: outTopic, Err: kerr.NotEnoughReplicas}),
		},
		{
			resource: "output", way: "made again", unlisted: true, how: "with three partitions", does: "writes to the new topic",
			answersLost: true, begin: madeAgain(outTopic, 3),
		},
		{
			resource: "output", way: "limits lowered", how: "takes 20,000 bytes a record",
			does:       "goes on; what is larger is cut",
			othersGoOn: true, begin: limitedTo(outTopic, 20_000),
		},
		{
			resource: "output", way: "limits lowered", how: "refuses every size", does: retries, told: stuck,
			short: true,
			begin: limitedTo(outTopic, 80),
		},
		{
			resource: "output", way: "full", how: "the broker's disk cannot be written to", does: retries,
			told: stuck, on: embedded,
			begin: failing(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: outTopic, Err: kerr.KafkaStorageError}),
		},
		{
			resource: "state", way: "away", how: "deleted",
			does:  "makes it again and saves every stream; while it may not, as where the output refuses",
			begin: deletedAlone(stateTopicName),
		},
		{
			resource: "state", way: "made again", how: "empty, within a second",
			does: "saves every stream to the new topic", begin: madeAgain(stateTopicName, 1),
		},
		{
			resource: "review", way: "limits lowered", how: "takes nothing", does: retries, told: stuck,
			begin: limitedTo(reviewTopic, 80),
		},
		{
			resource: "labels", way: "made again", unlisted: true, how: "empty, while the stage is stopped",
			does: "reads the new topic", atStart: true, begin: madeAgain(labelsTopic, 1),
		},
		{
			resource: "state", way: "away", how: "deleted while the stage is stopped",
			does:    "makes it again; streams start from their labels",
			atStart: true, begin: deletedAlone(stateTopicName),
		},
		{
			resource: "input", way: "made again", unlisted: true, how: "refilled past the old offsets while the stage is stopped",
			does: "answers all of it", atStart: true, idsAgain: true, begin: refilled(inTopic),
		},
		{
			resource: "state", way: "denied", how: "WRITE denied", does: retries, told: stuck, short: true,
			begin: deniedWriting(stateTopicName),
		},
		{
			resource: "state", way: "limits lowered", how: "takes 20,000 bytes a record",
			does:       "cuts snapshots and journals smaller",
			othersGoOn: true, short: true, begin: limitedTo(stateTopicName, 20_000),
		},
		{
			resource: "state", way: "limits lowered", how: "takes nothing", does: retries, told: stuck, short: true,
			begin: limitedTo(stateTopicName, 80),
		},
		{
			resource: "state", way: "full", how: "the broker's disk cannot be written to", does: retries,
			told: stuck, on: embedded,
			begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: stateTopicName, Err: kerr.KafkaStorageError,
			}),
		},
		{
			resource: "labels", way: "away", how: "deleted, and made again later", does: goesOn, told: labelsUnread,
			othersGoOn: true, begin: deleted(labelsTopic, 1),
		},
		{
			resource: "labels", way: "denied", how: "READ denied", does: goesOn, told: labelsUnread,
			othersGoOn: true, short: true,
			begin: denied(kafka.ResourceTypeTopic, labelsTopic, kafka.ACLOperationTypeRead, kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: labelsTopic, Err: kerr.TopicAuthorizationFailed,
			}),
		},
		{
			resource: "labels", way: "made again", unlisted: true, how: "empty, with three partitions", does: "reads the new topic",
			othersGoOn: true, begin: madeAgain(labelsTopic, 3),
		},
		{
			resource: "labels", way: "hanging", how: "a teacher's transaction hangs", does: goesOn,
			told: trouble{"a transaction that began at offset", "labels"}, othersGoOn: true, short: true,
			begin: hangingSender(labelsTopic),
		},
		{
			resource: "review", way: "denied", how: "WRITE denied", does: retries, told: stuck,
			begin: deniedWriting(reviewTopic),
		},
		{
			resource: "review", way: "away", how: "deleted, and made again later", does: retries, told: stuck,
			begin: deleted(reviewTopic, 1),
		},
		{
			resource: "dead letters", way: "denied", how: "WRITE denied",
			does: "keeps the letter; partitions without one go on",
			told: inputStuck, letter: true, othersGoOn: true, short: true,
			begin: both(rubbish, deniedWriting(deadTopicName)),
		},
		{
			resource: "dead letters", way: "away", how: "deleted, and made again later",
			does: "keeps the letter; partitions without one go on",
			told: inputStuck, letter: true, othersGoOn: true,
			begin: both(rubbish, deleted(deadTopicName, 1)),
		},
		{
			resource: "dead letters", way: "limits lowered", how: "takes 20,000 bytes a record", does: "cuts letters",
			letter: true, othersGoOn: true, begin: both(largeRubbish, limitedTo(deadTopicName, 20_000)),
		},
		{
			resource: "one sender", way: "other version", how: "rubbish", does: deadLetter, letter: true,
			othersGoOn: true, short: true,
			begin: rubbish,
		},
		{
			resource: "one sender", way: "other version", how: "vectors of another dimension", does: deadLetter,
			letter:     true,
			othersGoOn: true, begin: sent(otherDimension),
		},
		{
			resource: "one sender", way: "huge", how: "a name of 600 KB", does: deadLetter, letter: true,
			othersGoOn: true, short: true,
			begin: sent(longName),
		},
		{
			resource: "one sender", way: "huge", how: "2,000 streams of one item",
			does:       "answers them, and forgets streams of few episodes and long silence first",
			othersGoOn: true, begin: oneOffStreams,
		},
		{
			resource: "one sender", way: "forged", how: "the id of an item that is answered",
			does:       "answers under an id of its own",
			othersGoOn: true, begin: forgedID,
		},
		{
			resource: "clock", way: "forged", how: "a sender's clock is a century off", does: "answers",
			othersGoOn: true,
			begin:      centuryOff,
		},
		{
			resource: "one labeller", way: "other version", how: "rubbish", does: deadLetter, letter: true,
			othersGoOn: true,
			begin:      written(rubbishLabel),
		},
		{
			resource: "one labeller", way: "huge", how: "a name of 600 KB", does: deadLetter, letter: true,
			othersGoOn: true,
			begin:      written(longLabel),
		},
		{
			resource: "brokers", way: "away", how: "connections are refused at a restart", does: waitsFirst,
			told: notAtWork, atStart: true, short: true, begin: refused,
		},
		{
			resource: "brokers", way: "hanging", how: "connections hang at a restart", does: waitsFirst,
			told: notAtWork, atStart: true, begin: held,
		},
		{
			resource: "group coordinator", way: "denied", unlisted: true, how: "READ denied at a restart", does: waitsFirst,
			told: cutOff, atStart: true,
			begin: denied(kafka.ResourceTypeGroup, groupName, kafka.ACLOperationTypeRead, kfake.Fault{
				Keys: group, TopLevel: true, Err: kerr.GroupAuthorizationFailed,
			}),
		},
		{
			resource: "transaction coordinator", way: "denied", unlisted: true, how: "WRITE denied at a restart", does: waitsFirst,
			told: stuck, onceOnly: true, atStart: true,
			begin: denied(kafka.ResourceTypeTransactionalID, "*", kafka.ACLOperationTypeWrite, kfake.Fault{
				Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.TransactionalIDAuthorizationFailed,
			}),
		},
		{
			resource: "input", way: "away", how: "missing at a restart, and made later", does: waitsFirst,
			told: notAtWork, atStart: true, idsAgain: true, later: true,
			begin: both(deleted(besideTopic, 1), deleted(inTopic, 1)),
		},
		{
			resource: "output", way: "denied", how: "missing at a restart, CREATE denied", does: waitsFirst,
			told: notAtWork, atStart: true, short: true, begin: both(deleted(outTopic, 1), deniedMaking(outTopic)),
		},
		{
			resource: "state", way: "denied", unlisted: true, how: "READ denied at a restart", does: waitsFirst, told: stuck,
			atStart: true, begin: deniedReading(stateTopicName),
		},
		{
			resource: "labels", way: "denied", how: "READ denied at a restart", does: waitsFirst, told: labelsUnread,
			atStart: true, short: true, begin: deniedReading(labelsTopic),
		},
	}...)
}
