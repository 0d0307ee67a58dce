package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/pipeline/admin"
)

// state show reports the progress and troubles of the group's running stage. If no stage or another group's
// answers, it reports the time of the saved state.
func TestStateShowAsksTheRunningStage(t *testing.T) {
	stage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(
			w,
			`{"title":"group doors","status":{"answered":412,"episodes":4,"streams":1,"troubles":[{"what":"it hangs","cause":"a disk","do":"buy one"}]}}`,
		)
	}))
	defer stage.Close()
	list := []admin.Remembered{{Stream: "cam", Saved: time.Now().Add(-20 * time.Second)}, {Stream: "new"}}
	for group, want := range map[string][]string{
		"doors": {"answered_by_now=412", "it hangs", "do=\"buy one\"", "20 s ago"},
		"halls": {"no stage of the group answers", "20 s ago"},
	} {
		var said bytes.Buffer
		c := &call{Config: &config.Config{}, Log: slog.New(slog.NewTextHandler(&said, nil))}
		c.Config.Listen.Address, c.Config.Topics.Group = strings.TrimPrefix(stage.URL, "http://"), group
		sayLive(t.Context(), c, list)
		for _, text := range want {
			if !strings.Contains(said.String(), text) {
				t.Errorf("%s: %q is not in %s", group, text, said.String())
			}
		}
	}
}
