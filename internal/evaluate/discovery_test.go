package evaluate

import (
	"context"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

func TestDiscoveryStreams(t *testing.T) {
	camera, other := drawnSet(900, 5, 12), drawnSet(900, 5, 12)
	for row := range camera.Rows {
		if row%camera.D == 0 {
			camera.Frames = append(camera.Frames, int32(row/camera.D/3))
		}
	}
	other.Name = "other"
	streams := DiscoveryStreams([]*Set{camera, other}, 11)
	if len(streams) != 14 {
		t.Fatalf("%d streams of a camera and a set without frames, want 12 and 2", len(streams))
	}
	names := map[string]bool{}
	for _, d := range streams {
		names[d.Name] = true
		for _, method := range []string{"slk-means", Leaders} {
			s := Stream{Protocol: d.Protocol, Settings: stream.Defaults(), Method: method}
			s.Settings.Discover = true
			r, err := s.Run(context.Background(), d.Set, 1)
			if err != nil {
				t.Fatal(err)
			}
			if r.NMI == nil || *r.NMI < .3 {
				t.Errorf("%s: clusters of %s: %+v", d.Name, method, r)
			}
		}
	}
	if len(names) != len(streams) {
		t.Errorf("names: %v", names)
	}
}
