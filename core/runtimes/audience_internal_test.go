package runtimes

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/terminal"
)

// Those at a terminal learn of each other, and that they left; nothing is kept of a terminal that is alone.
func TestAudience(t *testing.T) {
	var a audience
	ofAda, adaLeaves := a.join("magent_1", terminal.Viewer{Who: "ada", Typing: true})
	_, otherLeaves := a.join("magent_2", terminal.Viewer{Who: "eve"})
	others, changed := ofAda()
	if len(others) != 0 {
		t.Fatalf("others %v", others)
	}
	ofTom, tomLeaves := a.join("magent_1", terminal.Viewer{Who: "tom"})
	select {
	case <-changed:
	default:
		t.Fatal("ada does not learn that somebody came")
	}
	if others, changed = ofAda(); len(others) != 1 || others[0] != (terminal.Viewer{Who: "tom"}) {
		t.Errorf("others of ada: %v", others)
	}
	if others, _ := ofTom(); len(others) != 1 || others[0] != (terminal.Viewer{Who: "ada", Typing: true}) {
		t.Errorf("others of tom: %v", others)
	}
	tomLeaves()
	select {
	case <-changed:
	default:
		t.Fatal("ada does not learn that tom left")
	}
	if others, _ := ofAda(); len(others) != 0 {
		t.Errorf("others after tom left: %v", others)
	}
	adaLeaves()
	otherLeaves()
	if len(a.rooms) != 0 {
		t.Errorf("%d rooms are kept", len(a.rooms))
	}
}
