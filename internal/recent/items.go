package recent

import (
	"slices"
	"time"
	"unsafe"
)

// kept is an item in its block. There are very many, and the garbage collector follows each pointer: it has none.
type kept struct {
	texts       [texts]part
	seconds     int64 // of its time
	nanoseconds int32
	taught      bool
	unknown     bool

	label, class, said, cause  uint32 // of the block's names
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
	b.items = append(b.items, k)
	b.change(len(b.items)-1, it)
}

// complete gives up the memory that the items did not need, and measures what they take.
func (b *Block) complete(s *slabs) {
	const ofBlock, ofItem = 256, int(unsafe.Sizeof(kept{})) + 4
	texts := reserve(&s.texts, len(b.texts), s.each)
	copy(texts, b.texts)
	b.texts = texts
	b.size = int64(ofBlock + len(b.items)*(ofItem+b.dimension) + cap(b.texts))
	for _, name := range b.names {
		b.size += int64(len(name)) + int64(unsafe.Sizeof(name))
	}
}

// change sets what may change of item i.
func (b *Block) change(i int, it *Item) {
	k := &b.items[i]
	k.label, k.class, k.said, k.cause = b.number(it.Label), b.number(it.Class), b.number(it.Said), b.number(it.Cause)
	k.confidence, k.saidConfidence, k.unknown = it.Confidence, it.SaidConfidence, it.Unknown
}

// fewNames are searched one by one.
const fewNames = 16

// number returns the number of a text that comes from the labels, as most items share theirs.
func (b *Block) number(text string) uint32 {
	if b.numbers == nil {
		if at := slices.Index(b.names, text); at >= 0 {
			return uint32(at)
		}
	} else if number, known := b.numbers[text]; known {
		return number
	}
	number := uint32(len(b.names))
	b.names = append(b.names, text)
	switch {
	case b.numbers != nil:
		b.numbers[text] = number
	case len(b.names) > fewNames:
		b.numbers = map[string]uint32{}
		for i, name := range b.names {
			b.numbers[name] = uint32(i)
		}
	}
	return number
}

// item returns item i. Its texts are the block's: they may be kept and must not be changed.
func (b *Block) item(i int) Item {
	k := &b.items[i]
	return Item{
		ID: b.text(i, ofID), Name: b.text(i, ofName), ItemID: b.text(i, ofItemID), Key: b.bytesOf(i, ofKey),
		Stream: b.text(i, ofStream), Track: b.text(i, ofTrack), Model: b.text(i, ofModel),
		Label: b.names[k.label], Class: b.names[k.class], Confidence: k.confidence,
		Said: b.names[k.said], SaidConfidence: k.saidConfidence, Unknown: k.unknown, Taught: k.taught,
		Time: k.time(), Attributes: b.bytesOf(i, ofAttributes), Cause: b.names[k.cause],
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
