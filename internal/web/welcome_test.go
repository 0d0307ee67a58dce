package web

import (
	"fmt"
	"strings"
	"testing"
)

// A visitor gets a bounded list of classes, however many are labelled.
func TestWelcomeOfManyClasses(t *testing.T) {
	classes := make([]string, 20_000)
	for i := range classes {
		classes[i] = fmt.Sprintf("class %05d", i)
	}
	p := pageOf(Options{}, fakeStage{classes: classes})
	if hello := p.welcome()[0]; len(hello) > 64*mostLabels {
		t.Errorf("a visitor gets %d bytes of classes", len(hello))
	}
}

// The first visitor of a demo may come before its first score: what the page indexes is there, and empty.
func TestWelcomeBeforeTheFirstScore(t *testing.T) {
	p := pageOf(Options{Demo: []Scene{{Camera: "camera 1"}}}, fakeStage{})
	for _, message := range p.welcome() {
		if text := string(message); strings.Contains(text, "null") {
			t.Errorf("a visitor gets %s", text)
		}
	}
}
