package recent

import (
	"bytes"
	"time"
	"unsafe"
)

// kept is an item in its block. There are very many, and the garbage collector follows each pointer: what does not
// change has none.
type kept struct {
	texts       [texts]part
	seconds     int64 // of its time
	nanoseconds int32
	taught      bool
	unknown     bool

	label, class, said, cause  string // that come from the labels, and so share memory
	confidence, saidConfidence float64
}

// part is a text of a block's items, as bytes of the block's text.
type part struct{ from, to uint32 }

// The texts of an item that never change.
const (
	ofID = iota
	ofName
	ofItemID
	ofKey
	ofStream
	ofTrack
	ofModel
	ofAttributes
	texts
)

// keep appends an item. A text that is one of the item before is not copied.
func (b *Block) keep(it *Item) {
	k := kept{seconds: it.Time.Unix(), nanoseconds: int32(it.Time.Nanosecond()), taught: it.Taught}
	for i, text := range [texts]string{
		it.ID, it.Name, it.ItemID, view(it.Key), it.Stream, it.Track, it.Model, view(it.Attributes),
	} {
		switch last := len(b.items) - 1; {
		case i == ofName && text == it.ID:
			k.texts[i] = k.texts[ofID]
		case last >= 0 && text == b.text(last, i):
			k.texts[i] = b.items[last].texts[i]
		default:
			from := uint32(len(b.texts))
			b.texts = append(b.texts, text...)
			k.texts[i] = part{from, uint32(len(b.texts))}
		}
	}
	k.change(it)
	b.items = append(b.items, k)
}

// complete gives up the memory that the items did not need, and measures what they take.
func (b *Block) complete() {
	const ofBlock, ofItem = 256, int(unsafe.Sizeof(kept{})) + 4
	b.texts = bytes.Clone(b.texts)
	b.size = int64(ofBlock + len(b.items)*(ofItem+b.dimension) + cap(b.texts))
	for i := range b.items {
		k := &b.items[i]
		b.size += int64(len(k.label))
		if k.class != k.label { // else they may be the same bytes
			b.size += int64(len(k.class))
		}
	}
}

// change sets what may change of an item.
func (k *kept) change(it *Item) {
	k.label, k.class, k.said, k.cause = it.Label, it.Class, it.Said, it.Cause
	k.confidence, k.saidConfidence, k.unknown = it.Confidence, it.SaidConfidence, it.Unknown
}

// item returns item i. Its texts are the block's: they may be kept and must not be changed.
func (b *Block) item(i int) Item {
	k := &b.items[i]
	return Item{
		ID: b.text(i, ofID), Name: b.text(i, ofName), ItemID: b.text(i, ofItemID), Key: b.bytesOf(i, ofKey),
		Stream: b.text(i, ofStream), Track: b.text(i, ofTrack), Model: b.text(i, ofModel),
		Label: k.label, Class: k.class, Confidence: k.confidence, Said: k.said, SaidConfidence: k.saidConfidence,
		Unknown: k.unknown, Taught: k.taught, Time: k.time(), Attributes: b.bytesOf(i, ofAttributes), Cause: k.cause,
	}
}

func (k *kept) time() time.Time { return time.Unix(k.seconds, int64(k.nanoseconds)).UTC() }

// bytesOf returns a text of item i; nil: it is empty.
func (b *Block) bytesOf(i, text int) []byte {
	p := b.items[i].texts[text]
	if p.from == p.to {
		return nil
	}
	return b.texts[p.from:p.to:p.to]
}

// text is bytesOf as a string. No byte of a block's text changes once it is written.
func (b *Block) text(i, text int) string { return view(b.bytesOf(i, text)) }

// view returns bytes as a string, which shares their memory.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
