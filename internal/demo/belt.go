// Package demo has the sample cameras of the demo: pictures of a few recurring objects on belts, while the light
// and the cameras drift. The true label of each picture is known, so that the demo can score the stage.
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

// Newcomer is the name of the object that first appears after a while and has no example.
const Newcomer = "tag"

// NewcomerAfter is how many pictures pass before the first newcomer.
const NewcomerAfter = 1000

const (
	newcomerShare = .08 // of the pictures from then on
	strangerShare = .02 // of the pictures: objects that appear only once
)

// Picture is one picture with its true label.
type Picture struct {
	ID       string
	Thing    string // the true label; "" for a stranger
	Pixels   []byte // grey, side x side
	side     int
	stranger bool
}

// Belt generates pictures; the same seed gives the same ones. Each picture of an object is turned, shifted and
// grainy, in the current light.
type Belt struct {
	names    []string
	things   [][]byte // a picture of each, upright and in full light
	newcomer []byte
	others   *sample.Set // strangers
	side     int
	random   *rand.Rand
	lane     []burst // the current bursts
	passed   int
	scene    scene
	prefix   string // of the pictures' ids
}

// scene is how the pictures of a camera change.
type scene struct {
	newcomerAfter int     // pictures before the first newcomer
	day           float64 // pictures from full light to dusk and back
	morning       float64 // the phase at the first picture
	dusk          float64 // share of the light lost at dusk
	slope         float64 // of the light, from side to side
	tilt          float64 // of the camera at dusk
	away          float64 // share of the size lost at dusk
}

const degree = math.Pi / 180

// all is a camera to which everything happens, within two minutes at 40 pictures a second.
var all = scene{newcomerAfter: NewcomerAfter, day: 5000, morning: 700, dusk: .4, slope: .5, tilt: 28 * degree, away: .15}

// Camera is one of the demo's cameras.
type Camera struct {
	Name  string
	About string // what happens to it
	*Belt
}

// NewCameras returns three cameras before which the same things pass: one in steady light, one whose light
// falls, and one that tilts.
func NewCameras(seed uint64) []Camera {
	const newcomerAfter, day, morning = 120, 2400, 340
	steady := scene{newcomerAfter: newcomerAfter, day: day, morning: morning, slope: .2}
	falls, tilts := steady, steady
	falls.dusk, falls.slope = .8, .7
	tilts.tilt, tilts.away = 28*degree, .15
	cameras := []Camera{
		{Name: "camera 1", About: "steady light"},
		{Name: "camera 2", About: "the light falls"},
		{Name: "camera 3", About: "the camera tilts"},
	}
	for i, s := range []scene{steady, falls, tilts} {
		belt := NewBelt(seed)
		belt.random = rand.New(rand.NewPCG(seed, uint64(1+i)))
		belt.scene, belt.prefix = s, fmt.Sprintf("camera-%d/", 1+i)
		cameras[i].Belt = belt
	}
	return cameras
}

// burst is a run of views of one thing.
type burst struct{ thing, left int }

// NewBelt returns a belt with one object of each kind of clothing.
func NewBelt(seed uint64) *Belt {
	set := sample.Fashion()
	b := &Belt{
		names: set.Names, things: make([][]byte, len(set.Names)), others: sample.Digits(), side: set.Side,
		random: rand.New(rand.NewPCG(seed, seed)), scene: all,
	}
	for i := set.N() - 1; i >= 0; i-- {
		b.things[set.Labels[i]] = set.Image(i)
	}
	b.newcomer = b.enlarge(0)
	return b
}

// enlarge is a picture of the other set, as large as those of the things.
func (b *Belt) enlarge(i int) []byte {
	const margin, brightest = 2, 16
	small, size := b.others.Image(i), b.others.Side
	out := make([]byte, b.side*b.side)
	scale := float64(size) / float64(b.side-2*margin)
	for y := range b.side {
		for x := range b.side {
			value := between(small, size, (float64(x-margin)+.5)*scale-.5, (float64(y-margin)+.5)*scale-.5)
			out[y*b.side+x] = byte(min(value*256/brightest, 255))
		}
	}
	return out
}

// between is the brightness between four pixels; black beyond the edge.
func between(pixels []byte, side int, x, y float64) float64 {
	left, top := math.Floor(x), math.Floor(y)
	value := 0.
	for corner := range 4 {
		column, row := left+float64(corner&1), top+float64(corner>>1)
		if column < 0 || row < 0 || column >= float64(side) || row >= float64(side) {
			continue
		}
		weight := (1 - math.Abs(x-column)) * (1 - math.Abs(y-row))
		value += weight * float64(pixels[int(row)*side+int(column)])
	}
	return value
}

// Names lists the objects that have an example.
func (b *Belt) Names() []string { return b.names }

// Teachers returns the labelled examples: one picture of each object, upright and in steady light.
func (b *Belt) Teachers() []Picture {
	out := make([]Picture, len(b.things))
	for i, pixels := range b.things {
		out[i] = Picture{ID: fmt.Sprintf("teacher-%02d", i), Thing: b.names[i], Pixels: pixels, side: b.side}
	}
	return out
}

// Next returns the next picture. It comes from one of three simultaneous bursts of 8 to 20 views of an object,
// or now and then shows a stranger.
func (b *Belt) Next() Picture {
	b.passed++
	p := Picture{ID: fmt.Sprintf("%spicture-%06d", b.prefix, b.passed), side: b.side}
	switch draw := b.random.Float64(); {
	case draw < strangerShare:
		p.stranger = true
		p.Pixels = b.view(b.enlarge(1 + b.random.IntN(b.others.N()-1)))
	case draw < strangerShare+newcomerShare && b.passed > b.scene.newcomerAfter:
		p.Thing, p.Pixels = Newcomer, b.view(b.newcomer)
	default:
		thing := b.fromLane()
		p.Thing, p.Pixels = b.names[thing], b.view(b.things[thing])
	}
	return p
}

func (b *Belt) fromLane() int {
	const lanes, shortest, longest = 3, 8, 20
	for len(b.lane) < lanes {
		b.lane = append(b.lane, burst{b.random.IntN(len(b.things)), shortest + b.random.IntN(longest-shortest+1)})
	}
	at := b.random.IntN(lanes)
	thing := b.lane[at].thing
	if b.lane[at].left--; b.lane[at].left == 0 {
		b.lane = append(b.lane[:at], b.lane[at+1:]...)
	}
	return thing
}

// view returns a picture of an object in the current light. In the course of a day of its scene the camera tilts
// and moves away and the light falls, then all of it returns to the start. The direction of the light moves too;
// each picture is turned and shifted a little, and has grain.
func (b *Belt) view(pixels []byte) []byte {
	const (
		round  = 450. // pictures for the light to go round
		wobble = 7 * degree
		grain  = 4.
	)
	scene, phase := &b.scene, 2*math.Pi*float64(b.passed)
	late := (1 - math.Cos(2*math.Pi*(float64(b.passed)+scene.morning)/scene.day)) / 2
	sin, cos := math.Sincos(scene.tilt*late + wobble*b.random.NormFloat64())
	size := 1 - scene.away*late + .03*b.random.NormFloat64()
	shiftX, shiftY := float64(b.random.IntN(3)-1), float64(b.random.IntN(3)-1)
	lightY, lightX := math.Sincos(phase / round)
	centre := float64(b.side-1) / 2
	out := make([]byte, len(pixels))
	for i := range out {
		x, y := float64(i%b.side), float64(i/b.side)
		u, v := (x-centre-shiftX)/size, (y-centre-shiftY)/size
		value := between(pixels, b.side, cos*u+sin*v+centre, cos*v-sin*u+centre)
		across := (x/float64(b.side)-.5)*lightX + (y/float64(b.side)-.5)*lightY
		value = value*(1-scene.dusk*late)*(1+scene.slope*across) + grain*b.random.NormFloat64()
		out[i] = byte(min(max(value, 0), 255))
	}
	return out
}

// Attributes are the attributes of a picture, for people: the stage passes them on without reading them.
type Attributes struct {
	Image    string `json:"image"`
	Truth    string `json:"truth,omitempty"` // the thing it shows
	Stranger bool   `json:"stranger,omitempty"`
}

// Example returns the picture as a record: its embedding, with the picture and its true label as attributes.
func (p *Picture) Example() (record.Example, error) {
	data, err := p.dataURL()
	if err != nil {
		return record.Example{}, err
	}
	attributes, err := json.Marshal(Attributes{data, p.Thing, p.stranger})
	if err != nil {
		return record.Example{}, err
	}
	return record.Example{ID: p.ID, Vector: sample.HOG(p.Pixels, p.side), Attributes: attributes}, nil
}

// About reads an item's attributes; fields that are missing are zero.
func About(attributes json.RawMessage) (a Attributes) {
	if len(attributes) > 0 && json.Unmarshal(attributes, &a) != nil {
		return Attributes{}
	}
	return a
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
