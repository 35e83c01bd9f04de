package storetest

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// Events are put down to who the context of their transaction is of, over a restart too.
func testEventPrincipal(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for _, who := range []core.Principal{{Kind: core.PrincipalAPIKey, ID: "ann"}, core.System, core.Anonymous, {Kind: core.PrincipalUser, ID: "bob"}} {
		err := s.Update(core.WithPrincipal(ctx, who), func(tx core.Tx) error {
			return tx.Append(core.Event{Type: core.EventExecutionQueued, Time: start, Subject: "exec_1", Data: []byte(`{}`)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, _, err := s.Events(ctx, "exec_1", 0, 10)
	if err != nil || len(page) != 4 {
		t.Fatalf("%v, %v", page, err)
	}
	for i, want := range []string{"ann", "system", "anonymous", "bob"} {
		if page[i].By != want || string(page[i].Data) != `{}` {
			t.Errorf("event %d is by %q with %s, want %q", i, page[i].By, page[i].Data, want)
		}
	}
}
