// Package health tracks whether a stage does its work: contact with the brokers and the group, the progress of
// each partition, and whether records and streams can be answered. It describes faults in words.
package health

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
)

// Trouble describes a fault that stops part of a stage's work, for display.
type Trouble struct {
	What  string `json:"what"`
	Cause string `json:"cause"` // "": not known
	Do    string `json:"do"`    // the remedy
	Of    string `json:"-"`     // the label of slkstream_trouble; "": the stage is ready all the same
}

// about is the rest of the log's line; without the cause, if it is not known.
func (t *Trouble) about() []any {
	if t.Cause == "" {
		return []any{"do", t.Do}
	}
	return []any{"cause", t.Cause, "do", t.Do}
}

// Labels of slkstream_trouble.
const (
	OfBrokers, OfInput, OfTransaction, OfPartition = "brokers", "input", "transaction", "partition"
	OfLabels, OfMemory, OfEmbedding, OfRecords     = "labels", "memory", "embedding", "records"
	OfSettings                                     = "settings"
)

// fault is since when something has been wrong, and its last cause. The zero value means that it is not.
type fault struct {
	mutex sync.Mutex
	since time.Time
	why   error
}

// holds notes the fault; why nil leaves the cause as it is.
func (f *fault) holds(why error, at time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.since.IsZero() {
		f.since = at
	}
	if why != nil {
		f.why = why
	}
}

// because replaces the cause.
func (f *fault) because(why error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.why = why
}

func (f *fault) ends() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.since, f.why = time.Time{}, nil
}

// lasting returns for how long the fault has held, and its cause; 0: it does not, or for less than limit.
func (f *fault) lasting(now time.Time, limit time.Duration) (time.Duration, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if lasting := now.Sub(f.since); !f.since.IsZero() && lasting >= limit {
		return lasting, f.why
	}
	return 0, nil
}

// Blocked says whether a partition waits for a person, as what its owners answered cannot be read.
func Blocked(err error) bool { return errors.Is(err, state.ErrBlocked) }

// Remedy returns what a person can do about an error that blocks a partition.
func Remedy(err error) string {
	if err == nil {
		return "look at the CPU and at slow solves: slkstream_solve_seconds"
	}
	if Blocked(err) {
		return "go back to the version that wrote it, or delete what cannot be read: slkstream state discard; " +
			"what was answered since the last journal that can be read may be answered again"
	}
	var conflict *topic.GroupConflict
	if errors.As(err, &conflict) {
		return conflict.Do
	}
	var schema *record.SchemaAway
	if errors.As(err, &schema) {
		return "see that the schema registry runs, can be reached and lets this client ask: --schema-registry and its " +
			"user or token; it goes on by itself"
	}
	var open *topic.Undecided
	if errors.As(err, &open) {
		return fmt.Sprintf("if it lasts longer than its timeout, end it with "+
			"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d",
			open.Topic, open.Partition, open.Offset)
	}
	var throttled *topic.Throttled
	if errors.As(err, &throttled) {
		return "raise the producer_byte_rate, consumer_byte_rate or request_percentage quota of this client or user; it goes on by itself"
	}
	if errors.Is(err, kafka.InvalidTimestamp) {
		return "set the clock of this machine or the brokers', or raise the topic's message.timestamp limits; it goes on by itself"
	}
	if errors.Is(err, kafka.KafkaStorageError) {
		return "make room on the brokers' disks, or replace them; it goes on by itself"
	}
	switch topic.CauseOf(err) {
	case topic.Away:
		return "see that the brokers run, can be reached and have the topic's leaders; it goes on by itself"
	case topic.Denied:
		return "give the rights that slkstream check names, or make the topic; it goes on by itself"
	case topic.Rejected:
		return "raise max.message.bytes of the topic; it goes on by itself"
	}
	return "report it with this line"
}
