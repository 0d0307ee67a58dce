package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// demoRun is a running demo.
type demoRun struct {
	stop     context.CancelFunc
	out      *bufio.Reader
	messages *strings.Builder // read it only after the end
	code     chan int
}

func startDemo(t *testing.T, arguments ...string) *demoRun {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(context.Background())
	printed, out := io.Pipe()
	d := &demoRun{
		stop: stop, out: bufio.NewReader(printed), messages: &strings.Builder{},
		code: make(chan int, 1),
	}
	go func() {
		d.code <- execute(ctx, append([]string{"demo", "--rate", "400"}, arguments...), out,
			d.messages)
		out.Close()
	}()
	t.Cleanup(func() {
		stop()
		_, _ = io.Copy(io.Discard, d.out)
	})
	return d
}

// line returns the next line that matches.
func (d *demoRun) line(t *testing.T, pattern string) []string {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	for {
		line, err := d.out.ReadString('\n')
		if found := wanted.FindStringSubmatch(line); found != nil {
			return found
		}
		if err != nil {
			t.Fatalf("no line like %s: %v\n%s", pattern, err, d.messages)
		}
	}
}

// end stops the demo and returns the rest of what it printed.
func (d *demoRun) end(t *testing.T) string {
	t.Helper()
	d.stop()
	rest, err := io.ReadAll(d.out)
	if err != nil {
		t.Fatal(err)
	}
	if code := <-d.code; code != exitDone {
		t.Errorf("exit %d: %s", code, d.messages)
	}
	return string(rest)
}

// lessons reads the labels of the demo's labels topic, in the order of teaching.
func lessons(t *testing.T, broker string) []string {
	t.Helper()
	client, err := topic.Connect(topic.Settings{Brokers: []string{broker}, ClientID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	reader := client.NewReader(topic.ReaderSettings{Topic: demoLabels, Offset: 0})
	for {
		batch, err := reader.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Records {
			what, err := decoder.DecodeLabel(t.Context(), &batch.Records[i])
			if err != nil || what.Teach == nil {
				t.Fatalf("not a lesson: %v", err)
			}
			labels = append(labels, what.Teach.Label)
		}
		if batch.Next >= batch.LastStable {
			return labels
		}
	}
}

// The demo answers through Kafka, its page shows the same score as its lines, and what is taught there
// reaches the labels topic. A second demo uses a free port. Nothing is left behind.
func TestDemo(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0")
	address, broker := d.line(t, `page +(http://127\.0\.0\.1:\d+)`)[1], d.line(t, `broker +(\S+),`)[1]
	d.line(t, `^camera 3 +1 +\d+/\d+ .* ms`)
	d.line(t, `^camera 1 +3 +\d+/\d+ .* ms`) // the score that a visitor gets has all cameras
	events, err := http.Get(address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	type item struct {
		ID, Name, Label, Truth, Image string
		Taught                        bool
	}
	var episode struct {
		Items []item
		Edges [][2]int
		Trace []float64
	}
	var hello struct {
		Score struct {
			All     []demo.Score
			Cameras map[string][]demo.Score
		}
	}
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	atOnce := false
	// On a stalled machine an episode may close with fewer items.
	for name := ""; (!atOnce || len(episode.Items) < 40) && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		atOnce = atOnce || name == "first"
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && name == "episode" {
			if err := json.Unmarshal([]byte(text), &episode); err != nil {
				t.Fatal(err)
			}
		} else if ok && name == "hello" {
			if err := json.Unmarshal([]byte(text), &hello); err != nil {
				t.Fatal(err)
			}
		}
	}
	score := hello.Score
	if len(episode.Items) != 40 || len(episode.Edges) == 0 || len(episode.Trace) < 3 ||
		len(score.All) != 2 || len(score.Cameras["camera 3"]) != 2 {
		t.Fatalf("%d items, %d edges, %d steps, scores %+v", len(episode.Items), len(episode.Edges),
			len(episode.Trace), score)
	}
	for i := 1; i < len(episode.Trace); i++ {
		if rise := episode.Trace[i] - episode.Trace[i-1]; rise > 1e-3 {
			t.Errorf("the objective rose by %g", rise)
		}
	}
	for _, s := range score.All {
		if s.All != score.All[0].All || s.Right < s.All/3 || s.Right > s.All {
			t.Errorf("%s: %d of %d right", s.Name, s.Right, s.All)
		}
	}
	first := episode.Items[slices.IndexFunc(episode.Items, func(i item) bool { return i.Truth != "" })]
	if !strings.HasPrefix(first.Image, "data:image/png;base64,") {
		t.Errorf("%+v", first)
	}
	lesson, err := http.NewRequest(http.MethodPost, address+"/api/teach",
		strings.NewReader(`{"id":"`+first.ID+`","label":"hat"}`))
	if err != nil {
		t.Fatal(err)
	}
	lesson.Header.Set("Content-Type", "application/json")
	taught, err := http.DefaultClient.Do(lesson)
	if err != nil {
		t.Fatal(err)
	}
	taught.Body.Close()
	if taught.StatusCode != http.StatusNoContent {
		t.Errorf("teaching: %s", taught.Status)
	}
	if all := lessons(t, broker); len(all) != 11 || all[10] != "hat" {
		t.Errorf("%d lessons in the labels topic, the last %q", len(all), all[len(all)-1])
	}
	if rest := d.end(t); !strings.Contains(rest, "Right so far: slkstream") {
		t.Errorf("the last line: %q", rest)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// If the default address is taken, a command listens at the next free port and logs it. The test holds a port
// of its own as the default, as another process might take or leave the real one meanwhile.
func TestTakenDefaultAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var said bytes.Buffer
	c := &call{Config: config.Default("demo"), Log: slog.New(slog.NewTextHandler(&said, nil))}
	c.Config.Listen.Address = taken.Addr().String()
	socket, err := openSocket(c)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if socket.Addr().String() == taken.Addr().String() || !strings.Contains(said.String(), "is taken") {
		t.Errorf("listens at %s: %s", socket.Addr(), said.String())
	}
}

func TestDemoSaysWhatIsInTheWay(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d := startDemo(t, "--listen", taken.Addr().String())
	if code := <-d.code; code != exitFailed || !strings.Contains(d.messages.String(), taken.Addr().String()) {
		t.Errorf("exit %d: %s", code, d.messages)
	}
}
