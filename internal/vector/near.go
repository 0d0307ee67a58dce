package vector

// Near is something that is near, and how far away.
type Near[T any] struct {
	Node     T
	Distance float32
}

// Nearest keeps the most nearest of those that it is given, in order; of two at one distance the first.
func Nearest[T any](near []Near[T], x Near[T], most int) []Near[T] {
	if len(near) < most {
		near = append(near, x)
	} else if most == 0 || x.Distance >= near[most-1].Distance {
		return near
	}
	at := len(near) - 1
	for ; at > 0 && x.Distance < near[at-1].Distance; at-- {
		near[at] = near[at-1]
	}
	near[at] = x
	return near
}
