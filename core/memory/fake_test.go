package memory_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/core/storetest"
)

// memStore is a store in memory that cannot be walked while a test says so.
type memStore struct {
	*storetest.Memory
	failWalk atomic.Bool
}

func newStore(tb testing.TB) *memStore { return &memStore{Memory: storetest.NewMemory(tb)} }

func (s *memStore) WalkExperiences(ctx context.Context, after string, fn func(*core.Experience) error) error {
	if s.failWalk.Load() {
		return errTest
	}
	return s.Memory.WalkExperiences(ctx, after, fn)
}

func (s *memStore) put(e *core.Experience) {
	s.Put(func(tx core.Tx) error { return tx.PutExperience(e) })
}

func (s *memStore) drop(id string) {
	s.Put(func(tx core.Tx) error { return tx.DeleteExperience(id) })
}

// ids returns those of all experiences, rising.
func (s *memStore) ids() (ids []string) {
	err := s.Memory.WalkExperiences(context.Background(), "", func(e *core.Experience) error {
		ids = append(ids, e.ID)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return ids
}

var errTest = errors.New("broken for the test")

// rig is a service with its surroundings.
type rig struct {
	*memory.Service
	t     testing.TB
	store *memStore
	clock *coretest.Clock
	opts  memory.Options
	made  int // by keepMany
}

func newRig(t testing.TB, path string, change ...func(o *memory.Options)) *rig {
	t.Helper()
	r := &rig{t: t, store: newStore(t), clock: coretest.NewClock()}
	r.store.Put(func(tx core.Tx) error {
		for _, id := range []string{"exec_1", "exec_2"} {
			if err := tx.PutExecution(&core.Execution{ID: id, Status: core.ExecutionRunning}); err != nil {
				return err
			}
		}
		return tx.PutThread(&core.ThreadRecord{Thread: core.Thread{ID: "thread_1", ExecutionID: "exec_1", Status: core.ThreadRunning}})
	})
	r.opts = memory.Options{
		Store: r.store, Path: path, Clock: r.clock, IDs: core.NewIDs(r.clock), Config: memory.DefaultConfig(),
		Instructions: "Say what you did.\n",
	}
	for _, c := range change {
		c(&r.opts)
	}
	r.open()
	return r
}

// open starts the service, anew if it was closed.
func (r *rig) open() {
	r.t.Helper()
	r.Service = memory.New(r.opts)
	if err := r.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	s := r.Service
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	})
}

// keep stores experiences as a thread does, and tells of them.
func (r *rig) keep(list ...core.Experience) []*core.Experience {
	r.t.Helper()
	kept := r.keepUntold(list...)
	r.Kept(kept...)
	return kept
}

// keepUntold stores experiences, and dies before it tells.
func (r *rig) keepUntold(list ...core.Experience) []*core.Experience {
	r.t.Helper()
	var kept []*core.Experience
	for _, e := range list {
		if e.Outcome == "" {
			e.Outcome = core.ExperienceSuccessful
		}
		if err := r.store.Update(r.t.Context(), func(tx core.Tx) error { return r.KeepExperience(tx, &e) }); err != nil {
			r.t.Fatal(err)
		}
		kept = append(kept, &e)
	}
	return kept
}

// found returns the objectives of what a query finds, in order.
func (r *rig) found(f core.ExperienceFilter) string {
	r.t.Helper()
	list, _, err := r.FindExperiences(r.t.Context(), f)
	if err != nil {
		r.t.Fatalf("%+v: %v", f, err)
	}
	return objectives(list)
}

func objectives(list []*core.Experience) string {
	var words []string
	for _, e := range list {
		words = append(words, e.Objective)
	}
	return strings.Join(words, ", ")
}
