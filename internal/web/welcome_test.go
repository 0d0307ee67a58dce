package web

import (
	"fmt"
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
