// Package demo is the sample camera of the demo: a sorting belt that carries pictures of clothing past a lens, in bursts
// of few kinds while the light drifts. The kind of each picture is known, so that the demo can keep its own score.
package demo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/sample"
)

// teachers is how many labelled pictures of each class the stage is given.
const teachers = 5

// Picture is what the camera saw.
type Picture struct {
	ID     string
	Class  string // what it truly shows
	Pixels []byte // grey, side x side
	side   int
}

// Belt brings pictures past the camera, always the same ones for a seed. When all have passed they come again, in another
// order, in another place under the lens and in another light.
type Belt struct {
	set      *sample.Set
	random   *rand.Rand
	byClass  [][]int // pictures of a class, in the order they come
	next     []int   // of a class
	teachers []int
	lane     []burst // the bursts on the belt at a time
	passed   int
}

// burst is a run of one class.
type burst struct{ class, left int }

// NewBelt loads the belt.
func NewBelt(seed uint64) *Belt {
	b := &Belt{set: sample.Fashion(), random: rand.New(rand.NewPCG(seed, seed))}
	b.byClass = make([][]int, len(b.set.Names))
	b.next = make([]int, len(b.set.Names))
	for i, class := range b.set.Labels {
		b.byClass[class] = append(b.byClass[class], i)
	}
	for class, list := range b.byClass {
		b.shuffle(list)
		b.teachers = append(b.teachers, list[:teachers]...) // they teach and never ride
		b.byClass[class] = list[teachers:]
	}
	return b
}

func (b *Belt) shuffle(list []int) {
	b.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// Classes are the names of what may come.
func (b *Belt) Classes() []string { return b.set.Names }

// Teachers are five labelled pictures a class, in steady light.
func (b *Belt) Teachers() []Picture {
	out := make([]Picture, len(b.teachers))
	for i, p := range b.teachers {
		out[i] = Picture{ID: fmt.Sprintf("teacher-%02d", i), Class: b.set.Names[b.set.Labels[p]], Pixels: b.set.Image(p), side: b.set.Side}
	}
	return out
}

// Next is the next picture. Three bursts of 8 to 20 pictures of a class ride side by side.
func (b *Belt) Next() Picture {
	const lanes, shortest, longest = 3, 8, 20
	for len(b.lane) < lanes {
		class := b.random.IntN(len(b.byClass))
		b.lane = append(b.lane, burst{class, shortest + b.random.IntN(longest-shortest+1)})
	}
	at := b.random.IntN(lanes)
	class := b.lane[at].class
	if b.lane[at].left--; b.lane[at].left == 0 {
		b.lane = append(b.lane[:at], b.lane[at+1:]...)
	}
	if b.next[class] == len(b.byClass[class]) {
		b.shuffle(b.byClass[class])
		b.next[class] = 0
	}
	picture := b.byClass[class][b.next[class]]
	b.next[class]++
	b.passed++
	return Picture{ID: fmt.Sprintf("picture-%06d", b.passed), Class: b.set.Names[class], Pixels: b.expose(b.set.Image(picture)), side: b.set.Side}
}

// expose takes a picture in the light of the moment: it brightens and darkens as the belt moves, falls in from a side that
// wanders, and the lens adds grain and never stands quite straight above.
func (b *Belt) expose(pixels []byte) []byte {
	const (
		day   = 700. // pictures from bright to dark and back
		turn  = 450. // pictures for the light to go round
		grain = 4.
	)
	side := b.set.Side
	phase := 2 * math.Pi * float64(b.passed)
	bright := .8 + .25*math.Cos(phase/day)
	dirX, dirY := math.Cos(phase/turn), math.Sin(phase/turn)
	shiftX, shiftY := b.random.IntN(3)-1, b.random.IntN(3)-1
	out := make([]byte, len(pixels))
	for y := range side {
		for x := range side {
			fromX, fromY := x+shiftX, y+shiftY
			if fromX < 0 || fromY < 0 || fromX >= side || fromY >= side {
				continue
			}
			across := (float64(x)/float64(side)-.5)*dirX + (float64(y)/float64(side)-.5)*dirY
			light := bright * (1 + .5*across)
			value := float64(pixels[fromY*side+fromX])*light + grain*b.random.NormFloat64()
			out[y*side+x] = byte(min(max(value, 0), 255))
		}
	}
	return out
}

// Example is the picture as a record: its embedding, and for whoever looks on the picture itself and what it shows. The
// stage passes attributes on and never reads them.
func (p *Picture) Example() (record.Example, error) {
	data, err := p.dataURL()
	if err != nil {
		return record.Example{}, err
	}
	about, err := json.Marshal(struct {
		Image string `json:"image"`
		Truth string `json:"truth"`
	}{data, p.Class})
	if err != nil {
		return record.Example{}, err
	}
	return record.Example{ID: p.ID, Vector: sample.HOG(p.Pixels, p.side), Attributes: about}, nil
}

// Truth is what attributes say their picture shows, "" if they do not.
func Truth(attributes json.RawMessage) string {
	var about struct {
		Truth string `json:"truth"`
	}
	if json.Unmarshal(attributes, &about) != nil {
		return ""
	}
	return about.Truth
}

func (p *Picture) dataURL() (string, error) {
	grey := image.NewGray(image.Rect(0, 0, p.side, p.side))
	for i, v := range p.Pixels {
		grey.SetGray(i%p.side, i/p.side, color.Gray{Y: v})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, grey); err != nil {
		return "", fmt.Errorf("%s: %w", p.ID, err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
