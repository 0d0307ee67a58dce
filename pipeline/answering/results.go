package answering

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Results says where answers are written, and how.
type Results struct {
	Out, Dead        string
	Review, Episodes string // "": none
	Form             record.ResultForm
	WithVector       bool
	Compare          *backfill.Comparison // writes corrections instead; nil: results
	Corrections      string
	Linked           string // group whose link's identities results have; "": none
}

// encode turns answers into records: results, review records and the episode's own. It returns results and
// review items for the observer.
func (j *Job) encode(answers []stream.Answer, v *labels.Version) ([]record.Result, []record.Review) {
	e, o := j.Episode, &j.owner.Results
	j.Records = make([]record.Out, 0, len(answers)+1)
	results := make([]record.Result, len(answers))
	fallbacks := make([]resultFallback, len(answers))
	buffer := make([]byte, 0, 416*len(answers))
	others := 0
	for i := range answers {
		others += len(answers[i].Alternatives)
	}
	alternatives := make([]record.Alternative, 0, others)
	asOf := v.Header()
	headers := make([]record.Header, 0, (1+len(asOf))*len(answers))
	for i := range answers {
		a, it := &answers[i], &e.Items[i]
		r := &results[i]
		if alternatives = j.result(r, i, a, v.Identity(o.Linked, e.Key, a.Class), alternatives); a.Unknown {
			j.Unknown++
		}
		if o.Compare != nil {
			if correction := o.Compare.Compare(it, r); correction != nil {
				j.add(correction.Out(o.Corrections, it.Key, asOf...))
			}
			continue
		}
		if o.WithVector || o.Form.Vector {
			from := len(buffer)
			buffer = record.AppendVector(buffer, it.Vector)
			r.Vector = buffer[from:len(buffer):len(buffer)]
		}
		from := len(buffer)
		buffer = o.Form.Append(buffer, r)
		// A buffer that grew has moved, but the bytes written before stay where they were.
		fallbacks[i] = resultFallback{j, a, i, r.Identity}
		out := record.Out{
			Topic:     o.Out,
			Partition: -1,
			Key:       it.Key,
			Value:     buffer[from:len(buffer):len(buffer)],
			Fallback:  &fallbacks[i],
		}
		from = len(buffer)
		buffer = record.AppendTime(buffer, it.Time)
		first := len(headers)
		headers = append(headers, record.Header{Key: record.TimeHeader, Value: buffer[from:len(buffer):len(buffer)]})
		if o.Form.ContentType != "" {
			headers = append(headers, record.Header{Key: "content-type", Value: []byte(o.Form.ContentType)})
		}
		headers = append(it.Trace.AppendHeaders(headers), asOf...)
		out.Headers = headers[first:len(headers):len(headers)]
		j.add(out)
	}
	var reviews []record.Review
	for i := range answers {
		if it := &e.Items[i]; answers[i].Review {
			review := record.NewReview(it, &results[i])
			reviews = append(reviews, review)
			if o.Review != "" {
				j.add(record.Out{
					Topic: o.Review, Partition: -1, Key: it.Key, Value: record.AppendReview(nil, &review), Headers: append(it.Trace.AppendHeaders(nil), timeHeader(it.Time)),
					Fallback: &record.Undeliverable{Item: it, Dead: o.Dead},
				})
			}
		}
	}
	if o.Episodes != "" {
		first, summary := &e.Items[0], j.summary()
		j.add(record.Out{
			Topic: o.Episodes, Partition: -1, Key: first.Key, Value: record.AppendEpisode(nil, summary),
			Headers: []record.Header{timeHeader(summary.Time)}, Fallback: &record.Undeliverable{Item: first, Dead: o.Dead},
		})
	}
	return results, reviews
}

// result sets the result of an item, without its vector. It appends the alternatives to others, of which the
// result holds a part, and returns them.
func (j *Job) result(
	r *record.Result, i int, a *stream.Answer, identity string, others []record.Alternative,
) []record.Alternative {
	extension.SetResult(r, &j.Episode.Items[i], record.ResultOf(j.keys[i]), a)
	r.Episode, r.Identity = j.Report.Episode, identity
	if j.owner.Memory.MaxWrong > 0 {
		r.Sure, r.SureFrom = &a.Sure, a.SureFrom
	}
	if n := len(others); len(a.Alternatives) > 0 {
		for _, other := range a.Alternatives {
			others = append(others, record.Alternative(other))
		}
		r.Alternatives = others[n:len(others):len(others)]
	}
	return others
}

// resultFallback is the Fallback of a result. It makes the result again, which hardly ever happens: many
// answers wait for their commit, and the collector would have to mark the results of all.
type resultFallback struct {
	job      *Job
	answer   *stream.Answer
	item     int
	identity string
}

// Instead implements record.Fallback.
func (f *resultFallback) Instead(rejected record.Out, why error, limit int) (record.Out, bool) {
	o, it := &f.job.owner.Results, &f.job.Episode.Items[f.item]
	var r record.Result
	f.job.result(&r, f.item, f.answer, f.identity, nil)
	if o.WithVector || o.Form.Vector {
		r.Vector = record.AppendVector(nil, it.Vector)
	}
	whole := record.ResultFallback{Item: it, Result: &r, Dead: o.Dead, Encode: o.Form.Append}
	return whole.Instead(rejected, why, limit)
}

// reject sends the items of an episode that could not be answered to the dead letters, as JSON that can
// be fed again.
func (j *Job) reject(why error) {
	if j.owner.Results.Compare != nil {
		return // the dead letters exist already
	}
	for i := range j.Episode.Items {
		j.add(record.ItemLetter(&j.Episode.Items[i], why.Error(), j.owner.Results.Dead))
	}
}

func (j *Job) add(r record.Out) {
	j.Records = append(j.Records, r)
	j.Bytes += int64(len(r.Key) + len(r.Value))
}

// summary makes the episode's record.
func (j *Job) summary() *record.Episode {
	e, r := j.Episode, &j.Report
	s := &record.Episode{
		Stream: e.Key.Name, Episode: r.Episode, Count: r.Count, Closed: string(e.Closed), Unknown: j.Unknown, Iterations: r.Iterations,
		ObjectiveBefore: r.Before, ObjectiveAfter: r.After, Warm: r.Warm, Admitted: r.Admitted, SolveSeconds: j.Took.Seconds(),
		Topic: e.Items[0].Source.Topic, Partition: e.Items[0].Source.Partition, FirstOffset: e.First().Offset, LastOffset: e.Last().Offset,
	}
	for i := range e.Items {
		if t := e.Items[i].Time; t.After(s.Time) {
			s.Time = t
		}
	}
	for _, event := range r.Events {
		text := event.Kind
		if event.Class != "" {
			text += " " + event.Class
		}
		if event.Into != "" {
			text += " " + event.Into
		}
		s.Events = append(s.Events, text)
	}
	return s
}

// timeHeader carries the event time. The record's timestamp is the time of writing, because with a sender's
// clock that is years off brokers would refuse the record, or retention would delete it at once.
func timeHeader(t time.Time) record.Header {
	return record.Header{Key: record.TimeHeader, Value: record.AppendTime(nil, t)}
}
