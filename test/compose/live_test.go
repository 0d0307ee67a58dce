package compose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/slkstream/slkstream/internal/topic"
)

// TestServicesRun runs what docker compose up --scale stage=3 runs, as processes, against the Kafka that
// SLKSTREAM_TEST_BROKERS names; .ci/steps/70-compose.sh starts one.
func TestServicesRun(t *testing.T) {
	brokers := os.Getenv("SLKSTREAM_TEST_BROKERS")
	if brokers == "" {
		t.Skip("SLKSTREAM_TEST_BROKERS names no Kafka; .ci/steps/70-compose.sh runs this test with one")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	binary, samples := filepath.Join(dir, "slkstream"), filepath.Join(dir, "sample")
	for _, args := range [][]string{
		{"build", "-o", binary, "./cmd/slkstream"},
		{"run", "./cmd/slkstream", "sample", samples},
	} {
		build := exec.CommandContext(ctx, "go", args...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
	}
	services := map[string]types.ServiceConfig{}
	for _, s := range ours(load(t)) {
		services[s.Name] = s
	}
	here := strings.NewReplacer("kafka:9092", brokers, "/sample/", samples+"/")
	process := func(service string, more ...string) (*exec.Cmd, *bytes.Buffer) {
		s := services[service]
		var args, env []string
		for _, a := range s.Command {
			args = append(args, here.Replace(a))
		}
		for _, v := range environ(s) {
			env = append(env, here.Replace(v))
		}
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Env = dir, append(env, more...) // the last of two of a name counts
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		return cmd, &said
	}

	topics, said := process("topics")
	if err := topics.Run(); err != nil {
		t.Fatalf("topics: %v: %s", err, said)
	}
	type running struct {
		cmd  *exec.Cmd
		said *bytes.Buffer
	}
	var all []running
	start := func(service string, more ...string) {
		cmd, said := process(service, more...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, running{cmd, said})
	}
	start("feed")
	var addresses []string
	for range 3 {
		address := freeAddress(t)
		addresses = append(addresses, address)
		start("stage", "SLKSTREAM_LISTEN="+address)
	}
	client, err := topic.Connect(topic.Settings{Brokers: strings.Split(brokers, ",")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	await(ctx, t, "1000 results", func() error {
		if n, err := count(ctx, client, "results"); err != nil || n < 1000 {
			return fmt.Errorf("%d results: %v", n, err)
		}
		return nil
	})
	for _, address := range addresses {
		await(ctx, t, "health of "+address, func() error {
			health := exec.CommandContext(ctx, binary, "health")
			health.Env = []string{"SLKSTREAM_LISTEN=" + address}
			out, err := health.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	scraped := get(ctx, t, "http://"+addresses[0]+"/metrics")
	for _, name := range metrics(t) {
		if !strings.Contains(scraped, "# TYPE "+name+" ") {
			t.Errorf("the dashboard or an alert asks for %s, which /metrics does not know", name)
		}
	}
	for _, p := range all {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v: %v: %s", p.cmd.Args, err, p.said)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	return socket.Addr().String()
}

// await asks again until the answer is good.
func await(ctx context.Context, t *testing.T, what string, ask func() error) {
	t.Helper()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func count(ctx context.Context, client *topic.Client, name string) (int64, error) {
	partitions, err := client.Partitions(ctx, name)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for p := range partitions {
		end, err := client.Offset(ctx, name, int32(p), topic.Latest, true)
		if err != nil {
			return sum, err
		}
		sum += end
	}
	return sum, nil
}

func get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
