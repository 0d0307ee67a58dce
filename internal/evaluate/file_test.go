package evaluate

import (
	"context"
	"testing"

	"github.com/slkstream/slkstream/solver/file"
	"github.com/slkstream/slkstream/solver/stream"
)

// Every method of eval file answers the same rows, accurately if classes are far apart. The default's unknown
// score finds rows of classes without labels.
func TestFileMethods(t *testing.T) {
	set := drawnSet(360, 6, 16)
	for _, method := range FileMethods {
		f := File{
			Protocol: StreamProtocol{
				Order: "shuffled", Episode: 100, Shots: 3, SupportBy: "class", TeachBy: "random",
				UnlabelledClasses: .2,
			},
			Method: method, Settings: file.Settings{UnknownRate: .05, Check: true},
			Episodes: stream.Defaults(),
		}
		if method == "class-vectors" {
			f.Protocol.VectorRows = 3
		}
		r, err := f.Run(context.Background(), set, 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Accuracy < .95 || r.ObjectiveRises > 0 {
			t.Errorf("%s: %+v", method, r)
		}
		if method == "default" && (r.UnknownAUROC == nil || *r.UnknownAUROC < .9) {
			t.Errorf("unknown score: %+v", r)
		}
	}
}
