package web

import (
	"fmt"
	"net/http/httptest"
	"testing"
)

// A visitor gets a bounded list of classes, however many are labelled.
func TestWelcomeOfManyClasses(t *testing.T) {
	classes := make([]string, 20_000)
	for i := range classes {
		classes[i] = fmt.Sprintf("class %05d", i)
	}
	p := pageOf(Options{}, fakeStage{classes: classes})
	reply := httptest.NewRecorder()
	p.Handler().ServeHTTP(reply, httptest.NewRequest("GET", "/page/shell", nil))
	if reply.Code != 200 || reply.Body.Len() > 64*mostLabels {
		t.Errorf("%d: a visitor gets %d bytes of classes", reply.Code, reply.Body.Len())
	}
}
