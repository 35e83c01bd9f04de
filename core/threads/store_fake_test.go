package threads_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// memStore is a store in memory with real transactions. It outlives the service under test. What the service does not
// use is not there.
type memStore struct {
	core.Store

	mu         sync.Mutex // guards all below; held over each transaction
	seq        uint64
	executions map[string]*core.Execution
	threads    map[string][]byte // as JSON
	inputs     map[string]map[uint64]*core.QueuedInput
	workspaces map[string]*core.Workspace
	decisions  []*core.Decision
	lessons    []*core.Experience
	questions  []*core.Question
	claims     map[string]string // key of a claim -> resource
	events     []core.Event
	agents     func() []*core.ManagedAgentRecord

	shown  func(id string) // called after each commit of events before Update returns, with their subject; nil: nothing is
	writes int             // transactions that were stored
	limit  int             // no more than so many are; -1: no limit
	failed chan struct{}   // closed when one was refused
	wake   chan struct{}   // closed and replaced when events came
}

func newMemStore() *memStore {
	return &memStore{
		executions: map[string]*core.Execution{}, threads: map[string][]byte{}, inputs: map[string]map[uint64]*core.QueuedInput{},
		workspaces: map[string]*core.Workspace{}, claims: map[string]string{}, limit: -1,
		failed: make(chan struct{}), wake: make(chan struct{}),
	}
}

// failAfter has every transaction fail after so many more.
func (s *memStore) failAfter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = s.writes + n
	s.failed = make(chan struct{})
}

func (s *memStore) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = -1
}

// tell appends an event of somebody else than the service under test, which never fails.
func (s *memStore) tell(e core.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append(e)
}

func (s *memStore) append(e core.Event) {
	s.seq++
	e.Seq = s.seq
	s.events = append(s.events, e)
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *memStore) Update(_ context.Context, fn func(tx core.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit >= 0 && s.writes >= s.limit {
		select {
		case <-s.failed:
		default:
			close(s.failed)
		}
		return core.Unavailable("store", "the store is gone")
	}
	tx := &memTx{s: s}
	if err := fn(tx); err != nil {
		for _, undo := range slices.Backward(tx.undo) {
			undo()
		}
		return err
	}
	s.writes++
	for _, fn := range tx.after {
		fn()
	}
	for _, e := range tx.events {
		s.append(e)
		if s.shown != nil {
			s.shown(e.Subject)
		}
	}
	return nil
}

func (s *memStore) thread(id string) *core.ThreadRecord {
	raw, ok := s.threads[id]
	if !ok {
		return nil
	}
	r := &core.ThreadRecord{}
	if err := json.Unmarshal(raw, r); err != nil {
		panic(err)
	}
	return r
}

func (s *memStore) FindThread(_ context.Context, id string) (*core.ThreadRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.thread(id); r != nil {
		return r, nil
	}
	return nil, core.NotFound("thread", id)
}

func (s *memStore) all(keep func(*core.ThreadRecord) bool) []*core.ThreadRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*core.ThreadRecord
	for id := range s.threads {
		if r := s.thread(id); keep(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *core.ThreadRecord) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (s *memStore) ActiveThreads(context.Context) ([]*core.ThreadRecord, error) {
	return s.all(func(r *core.ThreadRecord) bool { return !r.Status.Terminal() }), nil
}

func (s *memStore) FindThreads(_ context.Context, f core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error) {
	list := s.all(func(r *core.ThreadRecord) bool { return f.ExecutionID == "" || r.ExecutionID == f.ExecutionID })
	slices.Reverse(list)
	return list, core.PageInfo{Total: len(list)}, nil
}

func (s *memStore) QueuedInputs(_ context.Context, id string, after uint64, limit int) ([]*core.QueuedInput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*core.QueuedInput
	for _, in := range s.inputs[id] {
		if in.Number > after {
			list = append(list, in)
		}
	}
	slices.SortFunc(list, func(a, b *core.QueuedInput) int { return int(a.Number) - int(b.Number) })
	return list[:min(len(list), limit)], nil
}

func (s *memStore) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.executions[id]; e != nil {
		return e, nil
	}
	return nil, core.NotFound("execution", id)
}

func (s *memStore) FindQuestions(_ context.Context, f core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*core.Question
	for _, q := range s.questions {
		if q.ExecutionID == f.ExecutionID && q.Status == f.Status {
			list = append(list, q)
		}
	}
	return list, core.PageInfo{Total: len(list)}, nil
}

func (s *memStore) AllManagedAgents(context.Context) ([]*core.ManagedAgentRecord, error) {
	return s.agents(), nil
}

func (s *memStore) LastSeq() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

func (s *memStore) Events(_ context.Context, name string, after uint64, limit int) ([]core.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page []core.Event
	for _, e := range s.events[min(after, uint64(len(s.events))):] { // sequences count from 1 without gaps
		if len(page) == limit {
			break
		}
		if e.Subject == name || e.Group == name {
			page = append(page, e)
		}
	}
	return page, nil
}

// Follow implements threads.Streams.
func (s *memStore) Follow(_ context.Context, name string, after uint64) (core.EventStream, error) {
	return &memStream{s: s, name: name, after: after}, nil
}

type memStream struct {
	s     *memStore
	name  string
	after uint64
}

func (m *memStream) Next(ctx context.Context) (core.Event, error) {
	for {
		m.s.mu.Lock()
		wake := m.s.wake
		m.s.mu.Unlock()
		page, err := m.s.Events(ctx, m.name, m.after, 1)
		if err != nil {
			return core.Event{}, err
		}
		if len(page) > 0 {
			m.after = page[0].Seq
			return page[0], nil
		}
		select {
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		case <-wake:
		}
	}
}

func (m *memStream) Close() {}

// memTx is a transaction: it changes the store at once, and undoes that when it fails.
type memTx struct {
	core.Tx
	s      *memStore
	undo   []func()
	events []core.Event
	after  []func()
}

func (tx *memTx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// put sets an entry of a map and notes how to undo that.
func put[K comparable, V any](tx *memTx, m map[K]V, key K, value V) {
	old, had := m[key]
	m[key] = value
	tx.undo = append(tx.undo, func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

func (tx *memTx) PutThread(r *core.ThreadRecord) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	put(tx, tx.s.threads, r.ID, raw)
	return nil
}

func (tx *memTx) FindThread(id string) (*core.ThreadRecord, error) {
	if r := tx.s.thread(id); r != nil {
		return r, nil
	}
	return nil, core.NotFound("thread", id)
}

func (tx *memTx) CountActiveThreads(execution string) (int, error) {
	n := 0
	for id := range tx.s.threads {
		if r := tx.s.thread(id); !r.Status.Terminal() && (execution == "" || r.ExecutionID == execution) {
			n++
		}
	}
	return n, nil
}

func (tx *memTx) PutInput(in *core.QueuedInput) error {
	if tx.s.inputs[in.ThreadID] == nil {
		tx.s.inputs[in.ThreadID] = map[uint64]*core.QueuedInput{}
	}
	put(tx, tx.s.inputs[in.ThreadID], in.Number, in)
	return nil
}

func (tx *memTx) DeleteInputs(id string, upTo uint64) error {
	m := tx.s.inputs[id]
	for number, in := range m {
		if number <= upTo {
			delete(m, number)
			tx.undo = append(tx.undo, func() { m[number] = in })
		}
	}
	return nil
}

func (tx *memTx) PutExecution(e *core.Execution) error {
	put(tx, tx.s.executions, e.ID, e)
	return nil
}

func (tx *memTx) FindExecution(id string) (*core.Execution, error) {
	if e := tx.s.executions[id]; e != nil {
		return e, nil
	}
	return nil, core.NotFound("execution", id)
}

func (tx *memTx) PutWorkspace(w *core.Workspace) error {
	put(tx, tx.s.workspaces, w.ID, w)
	return nil
}

func (tx *memTx) FindWorkspace(id string) (*core.Workspace, error) {
	if w := tx.s.workspaces[id]; w != nil {
		return w, nil
	}
	return nil, core.NotFound("workspace", id)
}

func (tx *memTx) PutDecision(d *core.Decision) error {
	old := tx.s.decisions
	tx.s.decisions = append(slices.Clone(old), d)
	tx.undo = append(tx.undo, func() { tx.s.decisions = old })
	return nil
}

func (tx *memTx) PutExperience(e *core.Experience) error {
	old := tx.s.lessons
	tx.s.lessons = append(slices.Clone(old), e)
	tx.undo = append(tx.undo, func() { tx.s.lessons = old })
	return nil
}

func (tx *memTx) Append(events ...core.Event) error {
	tx.events = append(tx.events, events...)
	return nil
}

func (tx *memTx) ClaimIdempotency(claim *core.IdempotencyClaim, resource string, _ time.Time) error {
	if claim == nil {
		return nil
	}
	if _, taken := tx.s.claims[claim.Key]; taken {
		return core.Conflict("idempotencyKey", claim.Key, "", "this Idempotency-Key was used")
	}
	put(tx, tx.s.claims, claim.Key, resource)
	return nil
}
