package seal_test

import (
	"bytes"
	"testing"

	"github.com/wardroom/wardroom/core/internal/seal"
)

func TestBox(t *testing.T) {
	box := seal.New([32]byte{1})
	sealed, err := box.Seal("sched_1", map[string]string{"KEY": "canary"})
	if err != nil || bytes.Contains(sealed, []byte("canary")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	again, err := box.Seal("sched_1", map[string]string{"KEY": "canary"})
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("the same twice: %v", err)
	}
	var got map[string]string
	if !box.Open("sched_1", sealed, &got) || got["KEY"] != "canary" {
		t.Errorf("opened %v", got)
	}
	for what, open := range map[string]func() bool{
		"another name":  func() bool { return box.Open("sched_2", sealed, &got) },
		"another key":   func() bool { return seal.New([32]byte{2}).Open("sched_1", sealed, &got) },
		"cut":           func() bool { return box.Open("sched_1", sealed[:len(sealed)-1], &got) },
		"nothing":       func() bool { return box.Open("sched_1", nil, &got) },
		"another value": func() bool { return box.Open("sched_1", sealed, new(int)) },
	} {
		if open() {
			t.Errorf("%s was opened", what)
		}
	}
}
