package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDoubts(t *testing.T) {
	var d doubts
	now := time.Unix(1000, 0)
	d.add("cam-2", 3, 40, now)
	d.add("cam-1", 1, 30, now)
	d.add("cam-1", 2, 31, now.Add(time.Minute))
	list := d.list(now.Add(time.Minute))
	if len(list) != 2 || !strings.Contains(list[0].What, "cam-1 answers 2 of the last 31") || list[0].Do == "" {
		t.Errorf("%+v", list)
	}
	if list = d.list(now.Add(doubtLasts + time.Second)); len(list) != 1 {
		t.Errorf("what is over is still said: %+v", list)
	}
	for i := range 2 * doubtsKept {
		d.add(fmt.Sprint(i), 0, 20, now)
	}
	if len(d.list(now)) > doubtsKept {
		t.Errorf("%d streams remembered", len(d.list(now)))
	}
}
