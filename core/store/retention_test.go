package store_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// failing is a database of which the values under a prefix cannot be read while it is set.
type failing struct {
	kv.DB
	prefix *atomic.Pointer[string]
}

func (f failing) Snapshot() kv.Snapshot { return failingSnapshot{f.DB.Snapshot(), f.prefix} }

type failingSnapshot struct {
	kv.Snapshot
	prefix *atomic.Pointer[string]
}

func (s failingSnapshot) Iterate(prefix []byte, backwards bool) kv.Iterator {
	it := s.Snapshot.Iterate(prefix, backwards)
	if bad := s.prefix.Load(); bad != nil && bytes.HasPrefix(prefix, []byte(*bad)) {
		return failingIterator{it}
	}
	return it
}

type failingIterator struct{ kv.Iterator }

var errSector = errors.New("a sector of the disk cannot be read")

func (failingIterator) Value(func([]byte) error) error { return errSector }

// A kind that retention cannot go through keeps none of the others, is told of, and is done once it can be read.
func TestRetentionOfEachKind(t *testing.T) {
	clock := coretest.NewClock()
	db := failing{memory.New(), new(atomic.Pointer[string])}
	s, err := store.OpenOn(ctx, db, store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	done := clock.Now()
	err = s.Update(ctx, func(tx core.Tx) error {
		e := &core.Execution{ID: core.IDBound(core.PrefixExecution, done), Status: core.ExecutionCompleted, CompletedAt: &done}
		a := &core.AgentRecord{Agent: core.Agent{ID: core.IDBound(core.PrefixAgent, done), Status: core.AgentDisconnected, DisconnectedAt: &done}}
		return errors.Join(tx.PutExecution(e), tx.PutAgent(a), tx.SetCursor("reader", 100),
			tx.Append(core.Event{ID: "evt_1", Type: core.EventPatternCreated, Subject: core.PatternSubject("p"), Time: done}))
	})
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(1000 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour, Agents: time.Hour, Batches: time.Hour, Idempotency: time.Hour, Deliveries: time.Hour}
	cursors := "cur/"
	db.prefix.Store(&cursors)
	got, err := s.Retain(ctx, policy)
	if err == nil || !strings.Contains(err.Error(), store.KindEvents) || got.Executions != 1 || got.Agents != 1 || got.Events != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	failures := s.RetentionFailures()
	if len(failures) != 1 || failures[0].Kind != store.KindEvents || failures[0].Count != 1 || failures[0].Since.IsZero() || failures[0].Reason == "" {
		t.Errorf("%+v", failures)
	}
	db.prefix.Store(nil)
	if got, err := s.Retain(ctx, policy); err != nil || got.Events != 1 {
		t.Errorf("once it can be read: %+v, %v", got, err)
	}
	if failures := s.RetentionFailures(); len(failures) != 1 || !failures[0].Since.IsZero() {
		t.Errorf("%+v", failures)
	}
}
