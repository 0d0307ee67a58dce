package evaluate

import (
	"context"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// Labels that come after the answer correct some wrong answers, and spoil a few right ones.
func TestCorrectionsProtocol(t *testing.T) {
	s := Stream{
		Protocol: StreamProtocol{Order: "bursts", Episode: 50, Shots: 1, SupportBy: "class", Teach: .05, TeachBy: "review"},
		Settings: stream.Defaults(), Method: "slk-means",
	}
	r, err := s.Corrections(context.Background(), digits(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Taught == 0 || r.Wrong == 0 || r.Right == 0 || 3*r.Spoiled > r.Right || r.Corrected <= r.Accuracy {
		t.Errorf("%+v", r)
	}
}
