package memory_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/memory"
)

// fakeStore is a store in memory with real transactions: what a failed one wrote is undone.
type fakeStore struct {
	core.Store
	mu          sync.Mutex
	executions  map[string]bool
	threads     map[string]string // execution by thread
	decisions   map[string]*core.Decision
	experiences map[string]*core.Experience
	prints      map[string]string // id by fingerprint of experiences
	order       []string          // ids of experiences, rising
	claims      map[string]string
	failWalk    error
}

func newStore() *fakeStore {
	return &fakeStore{
		executions: map[string]bool{}, threads: map[string]string{}, decisions: map[string]*core.Decision{},
		experiences: map[string]*core.Experience{}, prints: map[string]string{}, claims: map[string]string{},
	}
}

type fakeTx struct {
	core.Tx
	s    *fakeStore
	undo []func()
}

func (s *fakeStore) Update(_ context.Context, fn func(core.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &fakeTx{s: s}
	err := fn(tx)
	if err != nil {
		for _, undo := range slices.Backward(tx.undo) {
			undo()
		}
	}
	return err
}

func (tx *fakeTx) FindExecution(id string) (*core.Execution, error) { return tx.s.execution(id) }

func (s *fakeStore) execution(id string) (*core.Execution, error) {
	if !s.executions[id] {
		return nil, core.NotFound("execution", id)
	}
	return &core.Execution{ID: id}, nil
}

func (s *fakeStore) thread(id string) (*core.ThreadRecord, error) {
	execution, ok := s.threads[id]
	if !ok {
		return nil, core.NotFound("thread", id)
	}
	return &core.ThreadRecord{Thread: core.Thread{ID: id, ExecutionID: execution}}, nil
}

func (tx *fakeTx) FindThread(id string) (*core.ThreadRecord, error) { return tx.s.thread(id) }

func (tx *fakeTx) ClaimIdempotency(claim *core.IdempotencyClaim, id string, _ time.Time) error {
	if claim == nil {
		return nil
	}
	if tx.s.claims[claim.Key] != "" {
		return core.Conflict("idempotency key", claim.Key, "", "was used")
	}
	tx.s.claims[claim.Key] = id
	return nil
}

func (tx *fakeTx) PutDecision(d *core.Decision) error {
	old := tx.s.decisions[d.ID]
	tx.s.decisions[d.ID] = d
	tx.undo = append(tx.undo, func() {
		if tx.s.decisions[d.ID] = old; old == nil {
			delete(tx.s.decisions, d.ID)
		}
	})
	return nil
}

func (tx *fakeTx) SameDecision(execution, print string) (*core.Decision, error) {
	for _, d := range tx.s.decisions {
		if d.ExecutionID == execution && d.Fingerprint == print {
			return d, nil
		}
	}
	return nil, nil
}

func (tx *fakeTx) PutExperience(e *core.Experience) error {
	tx.s.put(e)
	return nil
}

func (s *fakeStore) put(e *core.Experience) {
	if s.experiences[e.ID] == nil {
		at, _ := slices.BinarySearch(s.order, e.ID)
		s.order = slices.Insert(s.order, at, e.ID)
	}
	s.experiences[e.ID] = e
	if e.Fingerprint != "" {
		s.prints[e.Fingerprint] = e.ID
	}
}

func (tx *fakeTx) SameExperience(print string) (*core.Experience, error) {
	return tx.s.experiences[tx.s.prints[print]], nil
}

func (tx *fakeTx) DeleteExperience(id string) error {
	tx.s.drop(id)
	return nil
}

func (s *fakeStore) drop(id string) {
	if e := s.experiences[id]; e != nil {
		delete(s.prints, e.Fingerprint)
		delete(s.experiences, id)
		at, _ := slices.BinarySearch(s.order, id)
		s.order = slices.Delete(s.order, at, at+1)
	}
}

func (s *fakeStore) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.execution(id)
}

func (s *fakeStore) FindThread(_ context.Context, id string) (*core.ThreadRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thread(id)
}

// page cuts a page out of a list.
func page[T any](list []T, p core.Page) ([]T, core.PageInfo) {
	if p.Limit == 0 {
		p.Limit = core.DefaultPageLimit
	}
	from := p.Offset
	if p.Cursor != "" {
		from, _ = strconv.Atoi(p.Cursor)
	}
	from = min(from, len(list))
	to := min(from+p.Limit, len(list))
	info := core.PageInfo{Total: len(list), HasMore: to < len(list)}
	if info.HasMore {
		info.NextCursor = strconv.Itoa(to)
	}
	return list[from:to], info
}

func (s *fakeStore) FindDecisions(_ context.Context, f core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*core.Decision
	for _, d := range s.decisions {
		if (f.ExecutionID == "" || f.ExecutionID == d.ExecutionID) && (f.ThreadID == "" || f.ThreadID == d.ThreadID) &&
			(f.Category == "" || f.Category == d.Category) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *core.Decision) int { return strings.Compare(b.ID, a.ID) })
	list, info := page(list, f.Page)
	return list, info, nil
}

func (s *fakeStore) FindExperiences(_ context.Context, f core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Limit == 1 && f.Repo == "" && len(s.order) > 0 { // the count of a large store
		newest := s.experiences[s.order[len(s.order)-1]]
		return []*core.Experience{newest}, core.PageInfo{Total: len(s.order), HasMore: len(s.order) > 1}, nil
	}
	var list []*core.Experience
	for _, id := range slices.Backward(s.order) {
		if e := s.experiences[id]; matches(e, f) {
			list = append(list, e)
		}
	}
	list, info := page(list, f.Page)
	return list, info, nil
}

func matches(e *core.Experience, f core.ExperienceFilter) bool {
	return (f.Repo == "" || f.Repo == e.Repo) && (f.Role == "" || f.Role == e.Role) &&
		(f.Outcome == "" || f.Outcome == e.Outcome) && (f.ExecutionID == "" || f.ExecutionID == e.ExecutionID)
}

func (s *fakeStore) FindExperience(_ context.Context, id string) (*core.Experience, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.experiences[id]; e != nil {
		return e, nil
	}
	return nil, core.NotFound("experience", id)
}

func (s *fakeStore) WalkExperiences(_ context.Context, after string, fn func(*core.Experience) error) error {
	for {
		s.mu.Lock()
		if s.failWalk != nil {
			defer s.mu.Unlock()
			return s.failWalk
		}
		at, found := slices.BinarySearch(s.order, after)
		if found {
			at++
		}
		if at >= len(s.order) {
			s.mu.Unlock()
			return nil
		}
		e := s.experiences[s.order[at]]
		s.mu.Unlock()
		if err := fn(e); err != nil {
			return err
		}
		after = e.ID
	}
}

var errTest = errors.New("broken for the test")

// rig is a service with its surroundings.
type rig struct {
	*memory.Service
	t     testing.TB
	store *fakeStore
	clock *coretest.Clock
	opts  memory.Options
	made  int // by keepMany
}

func newRig(t testing.TB, path string, change ...func(o *memory.Options)) *rig {
	t.Helper()
	r := &rig{t: t, store: newStore(), clock: coretest.NewClock()}
	r.store.executions["exec_1"] = true
	r.store.executions["exec_2"] = true
	r.store.threads["thread_1"] = "exec_1"
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
