package topic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

// Memory is bounded whatever the number of records: many that are empty take far more of it than their bytes.
func TestManyEmptyRecordsComeInParts(t *testing.T) {
	const n = 300_000
	batch := packed(t, compress.Zstd, 0, n, func(w io.Writer) {
		for i := range n {
			put(w, i, "", 0)
		}
	})
	got, most := all(t, &decoder{topic: "t"}, batch, 0, n)
	if len(got) != n || got[n-1].Offset != n-1 {
		t.Fatalf("%d records", len(got))
	}
	if most > 64<<20 {
		t.Errorf("one call takes %d bytes", most)
	}
	var body bytes.Buffer
	put(&body, 0, "", 1<<20)
	if _, most = all(t, &decoder{topic: "t"}, sealed(compress.None, 0, body.Len(), body.Bytes()), 0, 1); most > 32<<20 {
		t.Errorf("a batch of one record that claims %d takes %d bytes", body.Len(), most)
	}
}

// headed returns a record of so many headers, whose names are of size bytes and differ.
func headed(n, size int) []byte {
	head := append([]byte{0, 0, 0}, 1, 1) // attributes, time, offset; no key and no value
	head = binary.AppendVarint(head, int64(n))
	name := make([]byte, size)
	for i := range n {
		copy(name, fmt.Append(nil, i))
		head = append(kbin.AppendVarintBytes(head, name), 1)
	}
	return append(binary.AppendVarint(nil, int64(len(head))), head...)
}

// A record of very many headers is rejected alone, before memory is allocated for them.
func TestManyHeaders(t *testing.T) {
	body := append(headed(500_000, 0), headed(2, 8)...)
	body[len(body)-len(headed(2, 8))+3] = 2 // its offset is 1
	got, most := all(t, &decoder{topic: "t"}, sealed(compress.None, 0, 2, body), 0, 2)
	if len(got) != 2 || got[0].Rejected == nil || got[0].Rejected.Fault != record.TooLarge || got[1].Rejected != nil ||
		len(got[1].Headers) != 2 {
		t.Fatalf("%.300v", got)
	}
	if most > 1<<20 {
		t.Errorf("%d bytes are allocated", most)
	}
}

// Names of headers are kept for the records that follow, unless they are long.
func TestKeptNamesOfHeadersAreBounded(t *testing.T) {
	d := &decoder{topic: "t"}
	for i := range 100 {
		out := record.Out{Headers: []record.Header{{Key: fmt.Sprintf("%0100000d", i)}, {Key: "content-type"}}}
		if got, _, err := d.decode(appendBatch(nil, []record.Out{out}, Anonymous, time.UnixMilli(1)), nil, 0, nil); err != nil ||
			len(got) != 1 || got[0].Headers[0].Key != out.Headers[0].Key {
			t.Fatalf("%.100v, %v", got, err)
		}
	}
	kept := 0
	for name := range d.keys {
		kept += len(name)
	}
	if _, known := d.keys["content-type"]; !known || kept > 1<<16 {
		t.Errorf("%d bytes of names are kept, content-type %t", kept, known)
	}
}
