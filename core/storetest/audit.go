package storetest

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// Audited is a store that keeps an audit trail.
type Audited interface {
	core.Store
	core.AuditStore
	Close() error
}

// OpenAudited opens a store whose transactions hook records, in a directory, or in memory if that is empty. It is closed
// at the end of the test.
func OpenAudited(tb testing.TB, dir string, clock core.Clock, hook core.AuditHook) Audited {
	tb.Helper()
	opts := store.Options{Path: dir, Clock: clock, Audit: hook}
	if dir == "" {
		return OnMemory(tb, memory.New(), opts)
	}
	return OnDisk(tb, opts)
}

// OpenFailing is OpenAudited in memory, with what has the next commit fail: before it is stored or, kept, after.
func OpenFailing(tb testing.TB, clock core.Clock, hook core.AuditHook) (s Audited, fail func(kept bool)) {
	tb.Helper()
	db := memory.New()
	return OnMemory(tb, db, store.Options{Clock: clock, Audit: hook}), func(kept bool) { db.Fail(1, kept) }
}
