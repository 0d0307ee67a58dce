package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/sample"
	"github.com/slkstream/slkstream/internal/topic"
)

// freeAddress returns a loopback address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	return socket.Addr().String()
}

// The page of run shows the digits of a feed with their answers, pictures if the feed has them, and teaches
// through the labels topic.
func TestPageOfRun(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	dir, client := embedded(t)
	address := freeAddress(t)
	var messages strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{
			"run", "--embedded-dir", dir, "--in", "digits", "--out", "named", "--labels", "lessons", "--episode-size",
			"20",
			"--listen", address, "--now", "at-once", "--images", "pictures.example", "--log-level", "warn",
		}, io.Discard, &messages)
	}()
	t.Cleanup(func() {
		stop()
		if c := <-code; c != exitDone {
			t.Errorf("exit %d: %s", c, messages.String())
		}
	})
	feedDigits(t, client)
	events := visit(t, "http://"+address+"/events")
	defer events.Close()
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<20)
	right, all, name := 0, 0, ""
	atOnce, settled := map[string]bool{}, 0 // items answered at once, and how many of them are settled
	var last struct {
		Items []struct{ ID, Name, Label, Truth, Image string }
		Edges [][2]int
	}
	for (all < 60 || settled < 5) && lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok && (name == "first" || name == "settled") {
			var items []struct {
				ID, Label, Name, Image string
				Settled                bool
			}
			if err := json.Unmarshal([]byte(text), &items); err != nil {
				t.Fatal(err)
			}
			for _, item := range items {
				if item.Label == "" || item.Image != "https://pictures.example/"+item.Name ||
					item.Settled != (name == "settled") || item.Settled != atOnce[item.ID] {
					t.Errorf("%s: %+v", name, item)
				}
				if atOnce[item.ID] = true; item.Settled {
					settled++
				}
			}
		}
		if !ok || name != "episode" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			t.Fatal(err)
		}
		for _, item := range last.Items {
			if all++; item.Label == item.Truth {
				right++
			}
		}
	}
	if all < 60 || settled < 5 || right < all*2/3 || len(last.Edges) == 0 ||
		last.Items[0].Image != "https://pictures.example/"+last.Items[0].Name {
		t.Errorf("%d of %d right, %d edges, picture %q", right, all, len(last.Edges), last.Items[0].Image)
	}
	for answered := 0.; answered < 60; { // the figures update within a second
		if !lines.Scan() {
			t.Fatal("the events end")
		}
		if text, ok := strings.CutPrefix(lines.Text(), `data: {"answered":`); ok {
			if _, err := fmt.Sscanf(text, "%g", &answered); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, want := range map[string]int{
		"/": http.StatusOK, "/metrics": http.StatusOK,
		"/livez": http.StatusOK, "/readyz": http.StatusOK,
	} {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

// visit waits for the page and opens its events.
func visit(t *testing.T, address string) io.ReadCloser {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := http.Get(address)
		if err == nil {
			return r.Body
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // pace: of a poll
	}
}

// feedDigits writes five labelled examples per digit and then digits, slowly and repeatedly, until
// the test ends.
func feedDigits(t *testing.T, client *topic.Client) {
	t.Helper()
	set := sample.Digits()
	rows := set.Rows()
	row := func(i int) []float32 { return rows[64*i : 64*(i+1)] }
	ctx, cancel := context.WithCancel(context.Background())
	taught := map[int32]int{}
	var lessons []record.Out
	var feed []int
	for i, class := range set.Labels {
		if taught[class] < 5 {
			taught[class]++
			lessons = append(lessons, record.Teach("lessons", &record.Example{
				ID:    fmt.Sprint("lesson-", i),
				Label: set.Names[class], Vector: row(i),
			}))
		} else {
			feed = append(feed, i)
		}
	}
	for _, d := range []topic.Description{
		{Name: "lessons", Partitions: 1, Settings: topic.StateSettings()},
		{Name: "digits", Partitions: 1},
	} {
		if err := client.Ensure(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Write(ctx, lessons); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			i := feed[n%len(feed)]
			name := fmt.Sprint("digit-", n)
			about, _ := json.Marshal(map[string]string{
				"truth": set.Names[set.Labels[i]],
				"image": "https://pictures.example/" + name,
			})
			value := record.AppendExample(nil, &record.Example{ID: name, Vector: row(i), Attributes: about})
			if client.Write(ctx, []record.Out{{
				Topic: "digits", Partition: -1, Key: []byte("desk"), Value: value,
				Time: time.Now(),
			}}) != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
