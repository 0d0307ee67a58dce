package record

import "strings"

// The keys of the labels topic have kinds, told by how they begin, so that nothing that a sender chooses can
// be the key of something else. A label is kept under
//
//	item:TOPIC/PARTITION/OFFSET[/OBJECT]  of the item at that place
//	stream:STREAM/ID                      of what is called ID in STREAM, where "/" and "%" are %2F and %25
//	ID                                    of an example under an id that its author chose
//
// and name:NAME and slkstream-... are keys of names and resets, never of examples and rejections.
const (
	itemPrefix   = "item:"
	streamPrefix = "stream:"
	namePrefix   = "name:"
	controlKeys  = "slkstream-"
)

// AppendKey appends the key under which the item at this place is taught.
func (s Source) AppendKey(dst []byte) []byte { return s.appendID(append(dst, itemPrefix...)) }

// ItemKey returns the key under which the item with this result is taught.
func ItemKey(result string) string { return itemPrefix + result }

// ResultOf returns the id of the result of an item that is taught under a key; "": the key names no place.
func ResultOf(key string) string {
	if id, ok := strings.CutPrefix(key, itemPrefix); ok {
		return id
	}
	return ""
}

// IsItemKey says whether a key is that of an item: by its place, or by its stream and id.
func IsItemKey(key string) bool {
	return strings.HasPrefix(key, itemPrefix) || strings.HasPrefix(key, streamPrefix)
}

// StreamKey returns the key of an example that is called id in one stream. With stream "", or where id is a
// key already, it is id.
func StreamKey(stream, id string) string {
	if stream == "" || IsItemKey(id) {
		return id
	}
	return ownKey(stream, id)
}

func ownKey(stream, id string) string {
	return streamPrefix + strings.NewReplacer("%", "%25", "/", "%2F").Replace(stream) + "/" + id
}

// OwnName returns the key under which a stream keeps an item that carried its label, if its sender named it:
// a record of the same stream and id corrects it. "": the item is named by its place, as are the objects of a
// frame, whose ids are a tracker's and come again.
func (i *Item) OwnName() string {
	if i.Label == "" || i.ItemID == "" || i.Source.Object >= 0 {
		return ""
	}
	return ownKey(i.Stream, i.ItemID)
}

// Name returns the key of the labels topic under which the item is taught.
func (i *Item) Name() string {
	if own := i.OwnName(); own != "" {
		return own
	}
	return ItemKey(i.ID())
}

// CheckKey refuses a key that no example and no rejection may have.
func CheckKey(key string) error {
	most := longestName
	if IsItemKey(key) {
		most = longestLabelKey
	}
	if n := len(key); n > most {
		return reject(TooLarge, "the key, as an id, is %d bytes long, more than %d", n, most)
	}
	for _, prefix := range []string{namePrefix, controlKeys} {
		if strings.HasPrefix(key, prefix) {
			return reject(Unreadable, "no example has an id that begins with %q, as the keys of others do: %q", prefix,
				short([]byte(key)))
		}
	}
	return nil
}
