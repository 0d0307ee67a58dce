package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

//go:embed static
var static embed.FS

// kinds are the content types of the files of the page.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// asset is a file of the page as it is sent.
type asset struct {
	content    []byte
	kind, etag string
}

// assets returns the files of the page by name. They are written to be read and sent without comments and long names; the tag
// follows from what is sent, so a browser fetches again only what another build has changed.
var assets = sync.OnceValue(func() map[string]asset {
	shorter := minify.New()
	shorter.AddFunc(".css", css.Minify)
	shorter.AddFunc(".js", js.Minify)
	list, err := static.ReadDir("static")
	if err != nil {
		panic(err) // cannot happen: static is embedded
	}
	all := make(map[string]asset, len(list))
	for _, file := range list {
		kind := path.Ext(file.Name())
		content, err := static.ReadFile("static/" + file.Name())
		if kind == ".js" {
			content = closed(content)
		}
		if err == nil && kind != ".svg" {
			content, err = shorter.Bytes(kind, content)
		}
		if err != nil || kinds[kind] == "" {
			panic(fmt.Sprintf("%s cannot be sent: %v", file.Name(), err)) // a test asks for every file
		}
		all[file.Name()] = asset{content, kinds[kind], fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content))[:16])}
	}
	return all
})

// closed puts what follows the imports of a script that exports nothing into a function, where the minifier may shorten its names too.
func closed(script []byte) []byte {
	last := bytes.LastIndex(script, []byte("\nimport "))
	if last < 0 || bytes.Contains(script, []byte("\nexport ")) {
		return script
	}
	body := last + 1 + bytes.IndexByte(script[last+1:], '\n')
	return slices.Concat(script[:body], []byte("\n(() => {"), script[body:], []byte("})();"))
}

// serveAsset sends a file of the page, unless the visitor has it.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	found, known := assets()[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", found.kind)
	w.Header().Set("ETag", found.etag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(found.content))
}
