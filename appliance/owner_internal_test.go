package appliance

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// What is hidden from a caller is called as the store calls what it does not find.
func TestOwnersHaveKinds(t *testing.T) {
	for prefix := range owners {
		id := core.IDBound(prefix, time.Now())
		if store.KindOf(id) == "" {
			t.Errorf("%s is of no kind", id)
		}
		if finderOf(core.Access{ID: id}) == nil || finderOf(core.Access{ID: id, Pattern: "p"}) != nil {
			t.Errorf("%s: what it belongs to is its owner's pattern, unless one is named", id)
		}
	}
	if id := core.IDBound(core.PrefixRequest, time.Now()); store.KindOf(id) != "" || finderOf(core.Access{ID: id}) != nil {
		t.Errorf("%s belongs to something", id)
	}
}
