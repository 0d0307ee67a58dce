package evaluate

import "github.com/slkstream/slkstream/solver/stream"

// scoreSure scores sure answers, and those above a threshold on confidence alone. If no answer is sure,
// none is wrong.
func (t *Trial) scoreSure(answers []stream.Answer, most float64, out *StreamResult) {
	var items, sure, wrong, plain, plainWrong float64
	for i := range t.Items {
		item, a := &t.Items[i], &answers[i]
		if item.Taught || item.Truth < 0 {
			continue
		}
		items++
		right := item.Known && a.Label == className(item.Truth)
		if a.Sure {
			if sure++; !right {
				wrong++
			}
		}
		if a.Confidence >= 1-most && !a.Unknown {
			if plain++; !right {
				plainWrong++
			}
		}
	}
	items = max(1, items)
	out.Sure, out.SureWrong = pointer(sure/items), pointer(wrong/max(1, sure))
	out.Plain, out.PlainWrong = pointer(plain/items), pointer(plainWrong/max(1, plain))
}
