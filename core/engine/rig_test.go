package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	stdtime "time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a core store in a map, with the one-after-the-other transactions of the real one. It outlives
// engines, so a test restarts by opening another engine on it.
type memory struct {
	mu         sync.Mutex
	executions map[string]core.Execution
	events     map[string][]core.Event
	batches    map[string]core.Batch
	inputs     map[string][]byte
	results    map[string]core.BatchResult
	claims     map[string]string
	questions  map[string]core.Question
	threads    []core.ThreadRecord // oldest first
	seq        uint64
	deleted    []core.Event // told of executions that were
	refuse     error        // returned by Update while set
	refuseAt   int          // the commit from which on refuse is errReadOnly; 0: none
	loseAt     int          // the commit that is stored, and answered as one that is not; 0: none
	refused    int
	refusedAt  int // commits when it was refused last
	commits    int
	statuses   map[string][]core.ExecutionStatus // every status an execution was stored with, in order
	onCommit   func(commits int)
	before     func() error               // called by Update, if set; its error refuses
	unstorable func(*core.Execution) bool // executions that are refused for good, if set
	unreadable func(id string) error      // asked by every read of a record or journal, if set
	weigh      func(size int) error       // of the results of batches of one commit, if set; its error refuses
}

func newMemory() *memory {
	return &memory{
		executions: map[string]core.Execution{}, events: map[string][]core.Event{},
		batches: map[string]core.Batch{}, inputs: map[string][]byte{}, results: map[string]core.BatchResult{},
		claims: map[string]string{}, questions: map[string]core.Question{}, statuses: map[string][]core.ExecutionStatus{},
	}
}

var errReadOnly = core.Unavailable("read_only", "the store takes no writes")

// errLost is the error of a commit that failed, and may be stored all the same.
var errLost = core.Unavailable("store_write_failed", "the store could not write").WithCause(core.ErrInDoubt)

// upTo returns a copy of the store as a crash would leave it: of the execution's events only the first n.
func (m *memory) upTo(id string, n int) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := newMemory()
	maps.Copy(c.executions, m.executions)
	for subject, events := range m.events {
		c.events[subject] = slices.Clone(events)
	}
	c.events[id] = c.events[id][:n]
	maps.Copy(c.batches, m.batches)
	maps.Copy(c.inputs, m.inputs)
	maps.Copy(c.results, m.results)
	maps.Copy(c.questions, m.questions)
	c.seq = m.seq
	return c
}

type memoryTx struct {
	core.Tx
	m     *memory
	apply []func()
	seq   uint64 // events that were appended
	size  int    // of results of batches
}

func (m *memory) setRefuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = err
}

func (m *memory) Update(_ context.Context, fn func(core.Tx) error) error {
	if before := m.before; before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	m.mu.Lock()
	if m.refuse == nil && m.refuseAt > 0 && m.commits+1 == m.refuseAt {
		m.refuse, m.refuseAt = errReadOnly, 0
	}
	if m.refuse != nil {
		defer m.mu.Unlock()
		m.refused++
		m.refusedAt = m.commits
		return m.refuse
	}
	tx := &memoryTx{m: m}
	if err := fn(tx); err != nil {
		m.mu.Unlock()
		return err
	}
	if m.weigh != nil {
		if err := m.weigh(tx.size); err != nil {
			m.mu.Unlock()
			return err
		}
	}
	for _, apply := range tx.apply {
		apply()
	}
	m.commits++
	n, hook := m.commits, m.onCommit
	lost := m.loseAt > 0 && n == m.loseAt
	if lost {
		m.refused++
		m.refusedAt = m.commits
	}
	m.mu.Unlock()
	if hook != nil {
		hook(n)
	}
	if lost {
		return errLost
	}
	return nil
}

func (t *memoryTx) PutExecution(e *core.Execution) error {
	if t.m.unstorable != nil && t.m.unstorable(e) {
		return errUnstorable
	}
	t.apply = append(t.apply, func() {
		t.m.executions[e.ID] = *e
		t.m.statuses[e.ID] = append(t.m.statuses[e.ID], e.Status)
	})
	return nil
}

func (t *memoryTx) Append(events ...core.Event) error {
	for i := range events {
		t.seq++
		events[i].Seq = t.m.seq + t.seq
	}
	t.apply = append(t.apply, func() {
		for _, ev := range events {
			t.m.seq = ev.Seq
			t.m.events[ev.Subject] = append(t.m.events[ev.Subject], ev)
		}
	})
	return nil
}

func (t *memoryTx) PutBatch(b *core.Batch) error {
	t.apply = append(t.apply, func() { t.m.batches[b.ID] = *b })
	return nil
}

func (t *memoryTx) PutBatchInput(id string, index int, input []byte) error {
	t.apply = append(t.apply, func() { t.m.inputs[fmt.Sprint(id, index)] = input })
	return nil
}

func (t *memoryTx) PutBatchResult(id string, r core.BatchResult) error {
	t.size += len(r.Result)
	t.apply = append(t.apply, func() { t.m.results[fmt.Sprintf("%s/%06d", id, r.Index)] = r })
	return nil
}

func (t *memoryTx) ClaimIdempotency(claim *core.IdempotencyClaim, id string, _ time) error {
	if claim == nil {
		return nil
	}
	if _, taken := t.m.claims[claim.Key]; taken {
		return core.Conflict("idempotency key", claim.Key, "", "taken")
	}
	t.apply = append(t.apply, func() { t.m.claims[claim.Key] = id })
	return nil
}

// readable returns why a record cannot be read. The caller holds mu.
func (m *memory) readable(id string) error {
	if m.unreadable == nil {
		return nil
	}
	return m.unreadable(id)
}

func (m *memory) setUnreadable(judge func(id string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unreadable = judge
}

func (m *memory) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readable(id); err != nil {
		return nil, err
	}
	e, ok := m.executions[id]
	if !ok {
		return nil, core.NotFound("execution", id)
	}
	return &e, nil
}

func (m *memory) FindExecutions(context.Context, core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	return nil, core.PageInfo{}, errors.New("not used")
}

func (m *memory) DeleteExecution(_ context.Context, id string, event core.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.executions[id]; !ok || !e.Status.Terminal() {
		return core.Conflict("execution", id, string(e.Status), "is not over")
	}
	delete(m.executions, id)
	m.deleted = append(m.deleted, event)
	return nil
}

func (m *memory) FindBatches(context.Context, core.BatchFilter) ([]*core.Batch, core.PageInfo, error) {
	return nil, core.PageInfo{}, errors.New("not used")
}

func (m *memory) ActiveExecutions(context.Context) ([]*core.Execution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*core.Execution
	for _, e := range m.executions {
		if !e.Status.Terminal() {
			list = append(list, &e)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list, nil
}

func (m *memory) Events(_ context.Context, subject string, after uint64, limit int) (list []core.Event, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readable(subject); err != nil {
		return nil, false, err
	}
	for _, ev := range m.events[subject] {
		if ev.Seq <= after {
			continue
		}
		if len(list) == limit {
			return list, true, nil
		}
		list = append(list, ev)
	}
	return list, false, nil
}

func (m *memory) FindBatch(_ context.Context, id string) (*core.Batch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readable(id); err != nil {
		return nil, err
	}
	b, ok := m.batches[id]
	if !ok {
		return nil, core.NotFound("batch", id)
	}
	b.Results = nil
	return &b, nil
}

// batchResults returns what is stored of the items of a batch, by index.
func (m *memory) batchResults(id string) []core.BatchResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []core.BatchResult
	for key, r := range m.results {
		if strings.HasPrefix(key, id+"/") {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y core.BatchResult) int { return x.Index - y.Index })
	return list
}

func (m *memory) FindBatchResults(_ context.Context, id string, from, limit int) ([]core.BatchResult, int, error) {
	var list []core.BatchResult
	for _, r := range m.batchResults(id) {
		switch {
		case r.Index < from:
		case len(list) == limit:
			return list, r.Index, nil
		default:
			list = append(list, r)
		}
	}
	return list, -1, nil
}

func (m *memory) ActiveBatches(ctx context.Context) ([]*core.Batch, error) {
	var list []*core.Batch
	m.mu.Lock()
	ids := []string{}
	for id, b := range m.batches {
		if !b.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	m.mu.Unlock()
	for _, id := range ids {
		b, err := m.FindBatch(ctx, id)
		if err != nil {
			return nil, err
		}
		b.Results = m.batchResults(id)
		list = append(list, b)
	}
	return list, nil
}

func (m *memory) FindQuestions(_ context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*core.Question
	for _, q := range m.questions {
		if (filter.ExecutionID == "" || q.ExecutionID == filter.ExecutionID) && (filter.Status == "" || q.Status == filter.Status) {
			list = append(list, &q)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID > list[j].ID })
	return list, core.PageInfo{Total: len(list)}, nil
}

func (m *memory) FindThreads(_ context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*core.ThreadRecord
	for _, t := range slices.Backward(m.threads) {
		if t.ExecutionID == filter.ExecutionID {
			list = append(list, &t)
		}
	}
	total, offset := len(list), 0
	if filter.Cursor != "" {
		offset, _ = strconv.Atoi(filter.Cursor)
	}
	end := min(offset+filter.Limit, total)
	return list[offset:end], core.PageInfo{Total: total, HasMore: end < total, NextCursor: strconv.Itoa(end)}, nil
}

func (m *memory) FindQuestion(_ context.Context, id string) (*core.Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, ok := m.questions[id]
	if !ok {
		return nil, core.NotFound("question", id)
	}
	return &q, nil
}

func (t *memoryTx) PutQuestion(q *core.Question) error {
	copied := *q
	t.apply = append(t.apply, func() { t.m.questions[copied.ID] = copied })
	return nil
}

func (m *memory) FindBatchInput(_ context.Context, id string, index int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readable("input of " + id); err != nil {
		return nil, err
	}
	return m.inputs[fmt.Sprint(id, index)], nil
}

// types returns the journal of an execution as a list of event types.
func (m *memory) types(id string) []core.EventType {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []core.EventType
	for _, ev := range m.events[id] {
		list = append(list, ev.Type)
	}
	return list
}

// text returns the data of an execution's events of a type, one after the other.
func (m *memory) text(id string, kind core.EventType) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all strings.Builder
	for _, ev := range m.events[id] {
		if ev.Type == kind {
			all.Write(ev.Data)
		}
	}
	return all.String()
}

func (m *memory) count(id string, kind core.EventType) int {
	n := 0
	for _, t := range m.types(id) {
		if t == kind {
			n++
		}
	}
	return n
}

// plan is a core.Plan over a literal definition. An outcome's result is the list of answers, and its
// confidence the mean of their `confidence` fields, so that tests see exactly what was folded.
type plan struct {
	def   core.Definition
	chart core.ChartPlan // of an org chart, else nil
}

func (p *plan) Definition() *core.Definition { return &p.def }

func (p *plan) OrgChart() core.ChartPlan { return p.chart }

func (p *plan) CheckInput(input json.RawMessage) (json.RawMessage, error) {
	if strings.Contains(string(input), "bad") {
		return nil, core.Invalid("input.text", "is bad")
	}
	return input, nil
}

func (p *plan) StepInput(_ int, scope core.Scope) (json.RawMessage, error) {
	if strings.Contains(string(scope.Input), "unresolvable") {
		return nil, core.Invalid("steps[0].input", "a variable cannot be resolved")
	}
	return scope.Input, nil
}

func (p *plan) Aggregate(_ int, answers []core.Answer) (core.Outcome, error) {
	var results []json.RawMessage
	sum := 0.0
	for _, a := range answers {
		var body struct {
			Confidence *float64 `json:"confidence"`
		}
		confidence := 1.0
		if json.Unmarshal(a.Result, &body) == nil && body.Confidence != nil {
			confidence = *body.Confidence
		}
		sum += confidence
		results = append(results, a.Result)
	}
	raw, err := json.Marshal(results)
	return core.Outcome{Result: raw, Confidence: sum / float64(max(len(answers), 1))}, err
}

func (p *plan) Output(scope core.Scope) (json.RawMessage, error) {
	if scope.Last == nil {
		return json.RawMessage("null"), nil
	}
	return scope.Last.Result, nil
}

// shelf is the engine's Patterns: plans by name.
type shelf map[string]*plan

func (s shelf) Resolve(_ context.Context, name, _ string) (*core.Pattern, core.Plan, error) {
	p, ok := s[name]
	if !ok {
		return nil, nil, core.NotFound("pattern", name)
	}
	return &core.Pattern{Name: name, Version: "1.0.0", Hash: name}, p, nil
}

func (s shelf) Plan(_ context.Context, hash string) (core.Plan, error) {
	p, ok := s[hash]
	if !ok {
		return nil, core.NotFound("definition", hash)
	}
	return p, nil
}

// noStreams is for tests that watch nothing.
type noStreams struct{}

func (noStreams) Stream(context.Context, string, uint64, func(core.Event) bool) (core.EventStream, error) {
	return nil, io.EOF
}
func (noStreams) Publish([]core.Event) {}

// rig is an engine over memory and fake agents.
type rig struct {
	*engine.Engine
	tb     testing.TB
	store  *memory
	agents *agents
	clock  *coretest.Clock
	ids    core.IDs
	shelf  shelf
	config engine.Config
	roles  *spawner // or nil

	patterns engine.Patterns  // the shelf if nil
	streams  engine.Streams   // noStreams if nil
	adHoc    engine.AdHoc     // or nil
	alert    engine.Alert     // or nil
	notice   func(core.Event) // or nil

	still, seen int // looks of passTime since commits were seen
}

// FindBatch returns a batch with all that is stored of its items.
func (r *rig) FindBatch(ctx context.Context, id string) (*core.Batch, error) {
	b, err := r.Engine.FindBatch(ctx, id)
	if err == nil {
		b.Results = r.store.batchResults(id)
	}
	return b, err
}

func newRig(tb testing.TB) *rig {
	r := &rig{tb: tb, store: newMemory(), agents: newAgents(), clock: coretest.NewClock(), shelf: shelf{}, config: engine.DefaultConfig()}
	r.ids = core.NewIDs(r.clock)
	tb.Cleanup(func() {
		if r.Engine != nil {
			r.Close()
		}
	})
	return r
}

// open starts an engine on the rig's store, as a restart does.
func (r *rig) open() *rig {
	r.tb.Helper()
	options := engine.Options{
		Store: r.store, Patterns: r.shelf, Agents: r.agents, Streams: noStreams{},
		Clock: r.clock, IDs: r.ids, Logger: hclog.NewNullLogger(), Config: r.config, AdHoc: r.adHoc,
		Alert: r.alert, Notice: r.notice,
	}
	if r.roles != nil {
		options.Roles = r.roles
	}
	if r.patterns != nil {
		options.Patterns = r.patterns
	}
	if r.streams != nil {
		options.Streams = r.streams
	}
	r.Engine = engine.New(options)
	r.agents.setSink(r.Engine)
	if r.roles != nil {
		r.roles.sink = r.Engine
		r.roles.agents.setSink(r.Engine)
	}
	if err := r.Open(r.tb.Context()); err != nil {
		r.tb.Fatal(err)
	}
	return r
}

// restart closes the engine and opens another one; the tasks at agents are those that it adopts.
func (r *rig) restart() {
	r.Close()
	r.agents.mu.Lock()
	r.agents.inbox = nil
	r.agents.mu.Unlock()
	r.open()
}

// pattern puts a pattern of one step on the shelf.
func (r *rig) pattern(name string, steps ...core.Step) {
	for i := range steps {
		if steps[i].Min == 0 {
			steps[i].Min = 1
		}
		if steps[i].Max == 0 {
			steps[i].Max = steps[i].Min
		}
		if steps[i].Strategy == "" {
			steps[i].Strategy = core.StepParallel
		}
	}
	r.shelf[name] = &plan{def: core.Definition{Name: name, Steps: steps}}
}

func (r *rig) start(pattern string) *core.Execution {
	r.tb.Helper()
	return r.startWith(core.ExecuteRequest{Pattern: pattern, Input: json.RawMessage(`{"text":"hello"}`)})
}

func (r *rig) startWith(req core.ExecuteRequest) *core.Execution {
	r.tb.Helper()
	exec, err := r.Start(r.tb.Context(), req)
	if err != nil {
		r.tb.Fatal(err)
	}
	return exec
}

func (r *rig) wait(id string) *core.Execution {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), stdtime.Minute)
	defer cancel()
	exec, err := r.Wait(ctx, id)
	if err != nil {
		r.tb.Fatal(err)
	}
	return exec
}
