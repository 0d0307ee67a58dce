package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// killed is the exit code of a process that a signal has ended.
const killed = -1

// ending is how a run of a history ends.
type ending struct {
	kill      bool     // by kill -9 when the broker gets a request, in peace if not
	key       kmsg.Key // the kind of the request
	count     int64    // which of its kind, from 1
	delivered bool     // the broker does what it asks; false: it is lost with the process
}

var inPeace = ending{}

// drawEnd draws how a run ends: in peace, at a step of a commit, or at one of a claim.
func (h *betweenRuns) drawEnd() ending {
	steps := []kmsg.Key{kmsg.Produce, kmsg.Produce, kmsg.Produce, kmsg.OffsetCommit}
	if h.once {
		steps = []kmsg.Key{kmsg.Produce, kmsg.AddPartitionsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.EndTxn}
	}
	switch h.random.IntN(8) {
	case 0:
		return inPeace
	case 1:
		steps = []kmsg.Key{kmsg.InitProducerID, kmsg.SyncGroup, kmsg.Heartbeat}
	}
	return ending{
		kill: true, key: steps[h.random.IntN(len(steps))], count: 1 + int64(h.random.IntN(6)), delivered: h.random.IntN(2) == 0,
	}
}

// stageProcess is a run of a history: a process of its own, which can be killed.
type stageProcess struct {
	h     *betweenRuns
	cmd   *exec.Cmd
	log   lockedBuffer
	ended chan struct{}
}

// lockedBuffer is written by a process while the test reads it.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.String()
}

// testBinary is this test's binary, which is slkstream where it is called so; see TestMain.
func testBinary(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (h *betweenRuns) start(args []string) *stageProcess {
	h.t.Helper()
	run := &stageProcess{h: h, cmd: exec.Command(h.binary, args...), ended: make(chan struct{})}
	run.cmd.Args[0], run.cmd.Stderr = "slkstream", &run.log
	if err := run.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = run.cmd.Wait() // the exit code says it
		close(run.ended)
	}()
	h.t.Cleanup(run.kill)
	return run
}

// kill ends the process at once.
func (run *stageProcess) kill() {
	_ = run.cmd.Process.Kill() // one that has ended needs nothing
	<-run.ended
}

func (run *stageProcess) code() int        { return run.cmd.ProcessState.ExitCode() }
func (run *stageProcess) messages() string { return run.log.String() }

// await waits until a condition holds; false: it does not, within the history's patience or before the process ends.
func (run *stageProcess) await(what string, until func() bool) bool {
	for deadline := time.Now().Add(run.h.patience); !until(); {
		select {
		case <-run.ended:
			run.h.breaks("%s: the stage ends with %d: %s", what, run.code(), run.messages())
			return false
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			run.h.breaks("%s: not within %v, %d of %d are answered: %s", what, run.h.patience, len(run.h.read()), len(run.h.sent),
				run.messages())
			return false
		}
	}
	return true
}

var listeningAt = regexp.MustCompile(`listening"? .*?(http://[0-9.:]+)`)

// address waits for the address of the stage's page.
func (run *stageProcess) address() string {
	var found []string
	run.await("the address of the page", func() bool {
		found = listeningAt.FindStringSubmatch(run.messages())
		return found != nil
	})
	if found == nil {
		run.h.t.Fatal(run.messages())
	}
	return found[1]
}

// end ends the process as drawn, or has it end itself. A request that does not come within a time is not waited for.
func (run *stageProcess) end(e ending, within time.Duration) {
	run.h.t.Helper()
	var left atomic.Int64
	left.Store(e.count)
	cluster := run.h.server.Cluster
	if e.kill {
		cluster.ControlKey(int16(e.key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			if p, is := r.(*kmsg.ProduceRequest); is && len(p.Topics) > 0 && p.Topics[0].Topic == run.h.in {
				cluster.KeepControl() // the history's own
				return nil, nil, false
			}
			if left.Add(-1) > 0 {
				cluster.KeepControl()
				return nil, nil, false
			}
			cluster.DropControl()
			run.kill()
			if e.delivered {
				return nil, nil, false
			}
			return nil, errors.New("the process is gone"), true
		})
	}
	if within > 0 {
		select {
		case <-run.ended:
		case <-time.After(within):
		}
	}
	left.Store(1 << 40) // this run is over for the control
	if e.kill {
		run.kill()
	} else {
		_ = run.cmd.Process.Signal(syscall.SIGTERM)
	}
	<-run.ended
}
