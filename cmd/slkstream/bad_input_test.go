package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// closedPipe is stdout after its reader, such as head, has closed it.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// The reader of our output may close it at any time.
func TestOutputOfAClosedPipe(t *testing.T) {
	input, _, _ := saveBlobs(t, 3000, 8, 3, 1)
	for _, line := range []string{"config", "version", "label --input " + input + " --k 3 --output -"} {
		var messages bytes.Buffer
		if code := execute(context.Background(), strings.Fields(line), closedPipe{},
			&messages); code != exitDone {
			t.Errorf("%s: exit %d: %s", line, code, messages.String())
		}
	}
}

// A full disk is reported in one sentence, and no file is left behind.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no /dev/full on %s: nothing here is always full", runtime.GOOS)
	}
	defer full.Close()
	input, _, _ := saveBlobs(t, 3000, 8, 3, 1)
	var messages bytes.Buffer
	code := execute(context.Background(), strings.Fields("label --input "+input+" --k 3 --output -"), full,
		&messages)
	if code != exitFailed || !strings.Contains(messages.String(), "no space left on device") ||
		strings.Contains(messages.String(), "goroutine") {
		t.Errorf("exit %d: %s", code, messages.String())
	}
}

// A file in place of the embedded broker's folder is reported in a sentence, with exit code 1.
func TestFileInPlaceOfAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	input, _, _ := saveBlobs(t, 10, 8, 3, 1)
	code, _, messages := runLine(t, strings.Fields("feed --input "+input+" --out x --embedded-dir "+file)...)
	if code != exitFailed || !strings.Contains(messages, file) || strings.Contains(messages, "goroutine") {
		t.Errorf("exit %d: %s", code, messages)
	}
}

// A header that claims three gigabytes allocates no memory.
func TestHeaderOfThreeGigabytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "X.npy")
	if err := os.WriteFile(path, []byte("\x93NUMPY\x02\x00\x00\x00\x00\xc0"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, messages := runLine(t, strings.Fields("label --k 2 --output - --input "+path)...)
	if code != exitFailed || !strings.Contains(messages, "header of 3221225472 bytes is above the limit") {
		t.Errorf("exit %d: %s", code, messages)
	}
}

// A port in use is reported with its setting, and nothing keeps running.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir, _ := embedded(t)
	var messages bytes.Buffer
	code := execute(
		context.Background(),
		strings.Fields("run --in a --out b --embedded-dir "+dir+" --listen "+taken.Addr().String()),
		io.Discard,
		&messages,
	)
	if code != exitFailed || !strings.Contains(messages.String(), "listen") ||
		!strings.Contains(messages.String(), taken.Addr().String()) {
		t.Errorf("exit %d: %s", code, messages.String())
	}
}
