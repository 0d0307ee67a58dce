package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendScore appends x with at most six decimals, as more would be noise. NaN and infinity become 0.
func appendScore(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, '0')
	}
	if x < 0 || x >= 1000 {
		return strconv.AppendFloat(dst, x, 'g', 6, 64)
	}
	const scale = 1000000
	n := uint64(x*scale + .5)
	dst = strconv.AppendUint(dst, n/scale, 10)
	if rest := n % scale; rest != 0 {
		dst = append(dst, ".000000"...)
		digits(dst[len(dst)-6:], rest)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return dst
}

// digits writes the last decimal digits of n to all of b.
func digits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// appendTime appends a time as a JSON string.
func appendTime(dst []byte, t time.Time) []byte {
	return append(AppendTime(append(dst, '"'), t), '"')
}

// AppendTime appends a time as RFC 3339 in UTC. Times outside the years 0 to 9999 become the nearest inside.
func AppendTime(dst []byte, t time.Time) []byte {
	t = NearestTime(t)
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	text := []byte("0000-00-00T00:00:00.000000000")
	digits(text[:4], uint64(year))
	digits(text[5:7], uint64(month))
	digits(text[8:10], uint64(day))
	digits(text[11:13], uint64(hour))
	digits(text[14:16], uint64(minute))
	digits(text[17:19], uint64(second))
	digits(text[20:], uint64(t.Nanosecond()))
	return append(append(dst, bytes.TrimRight(bytes.TrimRight(text, "0"), ".")...), 'Z')
}

// NearestTime returns the time in UTC, or the nearest that RFC 3339 can express.
func NearestTime(t time.Time) time.Time {
	const first, last = -62167219200, 253402300799 // seconds of the years 0 to 9999
	switch s := t.Unix(); {
	case s < first:
		t = time.Unix(first, 0)
	case s > last:
		t = time.Unix(last, 0)
	}
	return t.UTC()
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if !plain[s[i]] {
			return append(appendText(append(dst, s[:i]...), s[i:]), '"')
		}
	}
	return append(append(dst, s...), '"')
}

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// appendText appends the inside of a JSON string.
func appendText(dst []byte, s string) []byte {
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == utf8.RuneError:
			dst = append(dst, `\ufffd`...)
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		case r == '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = fmt.Appendf(dst, `\u%04x`, s[i])
		}
	}
	return dst
}

// Example is an input record as a sender writes it, or an example for the labels topic.
type Example struct {
	ID         string          `json:"id,omitempty"`
	ItemID     string          `json:"itemId,omitempty"` // of an example: the sender's id of its item; "": none
	Stream     string          `json:"stream,omitempty"`
	Label      string          `json:"label,omitempty"`
	Model      string          `json:"model,omitempty"`
	Frame      string          `json:"frame,omitempty"`
	Track      string          `json:"track,omitempty"`
	Time       time.Time       `json:"time,omitzero"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	By         string          `json:"by,omitempty"` // who labelled it; "": not known
	At         time.Time       `json:"at,omitzero"`  // when; zero: not known
	Vector     []float32       `json:"-"`            // written as base64, which is short and exact
}

// AppendExample appends the JSON of an example to dst.
func AppendExample(dst []byte, e *Example) []byte {
	x := struct {
		Example
		Vector []byte `json:"vector"`
	}{*e, AppendVector(nil, e.Vector)}
	x.Time, x.At = NearestTime(x.Time), NearestTime(x.At)
	return appendJSON(dst, &x)
}

// Episode is the audit record of one episode.
type Episode struct {
	Stream          string  `json:"stream"`
	Episode         int64   `json:"episode"`
	Count           int     `json:"count"`
	Closed          string  `json:"closed"` // a consumer.Reason
	Unknown         int     `json:"unknown"`
	Iterations      int     `json:"iterations"`
	ObjectiveBefore float64 `json:"objectiveBefore"`
	ObjectiveAfter  float64 `json:"objectiveAfter"`
	Warm            bool    `json:"warm"`
	Admitted        int     `json:"admitted"` // items that the memory learned from
	SolveSeconds    float64 `json:"solveSeconds"`
	// of classes and clusters, strangers, and the stream: kinds are those of stream.Event
	Events      []string  `json:"events,omitempty"`
	Time        time.Time `json:"time"` // the latest event time in the episode
	Topic       string    `json:"topic"`
	Partition   int32     `json:"partition"`
	FirstOffset int64     `json:"firstOffset"`
	LastOffset  int64     `json:"lastOffset"`
}

// AppendEpisode appends the JSON of an episode record to dst.
func AppendEpisode(dst []byte, e *Episode) []byte {
	c := *e
	for _, x := range []*float64{&c.ObjectiveBefore, &c.ObjectiveAfter, &c.SolveSeconds} {
		if math.IsNaN(*x) || math.IsInf(*x, 0) {
			*x = 0
		}
	}
	return appendJSON(dst, &c)
}

// Review asks a person for the label of an item. It has the format of an input record, so that it becomes an
// example when a label is added. Guess is the stage's answer.
type Review struct {
	ID         string          `json:"id"`               // to teach it under
	ItemID     string          `json:"itemId,omitempty"` // the sender's
	Stream     string          `json:"stream"`
	Time       time.Time       `json:"time"`
	Model      string          `json:"model,omitempty"`
	Vector     []float32       `json:"vector"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Guess      Guess           `json:"guess"`
	Source     ResultSource    `json:"source"`
}

// Guess is the answer that a Review asks to confirm or correct.
type Guess struct {
	Result       string        `json:"result"` // the id of the result
	Episode      int64         `json:"episode"`
	Label        string        `json:"label"`
	Class        string        `json:"class,omitempty"` // before names; "": the label
	Confidence   float64       `json:"confidence"`
	Unknown      bool          `json:"unknown"`
	UnknownScore float64       `json:"unknownScore"`
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// NewReview returns the review record of an item whose answer is r.
func NewReview(item *Item, r *Result) Review {
	return Review{
		ID: item.Name(), ItemID: item.ItemID, Stream: item.Stream, Time: item.Time, Model: item.Model, Vector: item.Vector,
		Attributes: item.Attributes, Source: r.Source,
		Guess: Guess{
			r.ID, r.Episode, r.Label, r.Class, r.Confidence, r.Unknown, r.UnknownScore, r.Alternatives,
		},
	}
}

// AppendReview appends the JSON of a review record to dst.
func AppendReview(dst []byte, r *Review) []byte { return appendJSON(dst, r) }

func appendJSON(dst []byte, value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		// Cannot happen with the checked parts that callers pass. Readers still get valid JSON, with the error.
		return appendString(dst, err.Error())
	}
	return append(dst, b...)
}
