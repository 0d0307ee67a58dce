package web

import (
	"io"
	"io/fs"
	"net/http"
	"testing"
)

// Every file of the page is sent with its type and a tag, by which a browser that has it is not sent it again. All that a visitor of
// every page fetches is small.
func TestAssets(t *testing.T) {
	const most = 120_000 // bytes of all files, not compressed
	server := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	files, err := fs.ReadDir(static, "static")
	if err != nil {
		t.Fatal(err)
	}
	written, sent := 0, 0
	for _, file := range files {
		path := "/static/" + file.Name()
		r := get(t, server, path)
		content, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK || len(content) == 0 || r.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %s, %d bytes of type %q, %v", path, r.Status, len(content), r.Header.Get("Content-Type"), err)
		}
		sent += len(content)
		if info, err := file.Info(); err == nil {
			written += int(info.Size())
		}
		again, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		again.Header.Set("If-None-Match", r.Header.Get("ETag"))
		if r, err := server.Client().Do(again); err != nil {
			t.Error(err)
		} else if r.Body.Close(); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again: %s", path, r.Status)
		}
	}
	t.Logf("%d bytes written, %d sent", written, sent)
	if sent > most {
		t.Errorf("%d bytes are sent, where at most %d may be", sent, most)
	}
}
