package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakePatterns is a core.PatternService made of functions; a nil one answers with a plain success.
type fakePatterns struct {
	findAll  func(core.PatternFilter) ([]*core.Pattern, core.PageInfo, error)
	find     func(name, version string) (*core.Pattern, error)
	versions func(name string) ([]*core.Pattern, error)
	create   func(context.Context, core.PatternInput) (*core.Pattern, error)
	update   func(name string, in core.PatternInput) (core.PatternUpdate, error)
	remove   func(name, version string) (int, error)
	check    func(source string) []core.Problem
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func somePattern(name, version string) *core.Pattern {
	return &core.Pattern{
		Name: name, Version: version, Description: "sorts \"texts\"", CreatedAt: epoch, UpdatedAt: epoch,
		CreatedBy: "anonymous", Definition: json.RawMessage(`{"agents":{"min":3}}`),
	}
}

func (f *fakePatterns) FindPatterns(_ context.Context, filter core.PatternFilter) ([]*core.Pattern, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	return []*core.Pattern{somePattern("a", "1.0.0")}, core.PageInfo{Total: 1}, nil
}

func (f *fakePatterns) FindPattern(_ context.Context, name, version string) (*core.Pattern, error) {
	if f.find != nil {
		return f.find(name, version)
	}
	return somePattern(name, "1.0.0"), nil
}

func (f *fakePatterns) FindPatternVersions(_ context.Context, name string) ([]*core.Pattern, error) {
	if f.versions != nil {
		return f.versions(name)
	}
	return []*core.Pattern{somePattern(name, "2.0.0"), somePattern(name, "1.0.0")}, nil
}

func (f *fakePatterns) CreatePattern(ctx context.Context, in core.PatternInput) (*core.Pattern, error) {
	if f.create != nil {
		return f.create(ctx, in)
	}
	return somePattern("made", "1.0.0"), nil
}

func (f *fakePatterns) UpdatePattern(_ context.Context, name string, in core.PatternInput) (core.PatternUpdate, error) {
	if f.update != nil {
		return f.update(name, in)
	}
	return core.PatternUpdate{Pattern: somePattern(name, "1.0.0")}, nil
}

func (f *fakePatterns) DeletePattern(_ context.Context, name, version string) (int, error) {
	if f.remove != nil {
		return f.remove(name, version)
	}
	return 2, nil
}

func (f *fakePatterns) CheckPattern(_ context.Context, source string) (*core.Pattern, []core.Problem) {
	if f.check != nil {
		return nil, f.check(source)
	}
	return &core.Pattern{Name: "p", Definition: json.RawMessage(`{"name":"p"}`)}, nil
}

func (f *fakePatterns) IdentifyPattern(_ context.Context, in core.PatternInput) (name, version string, err error) {
	if _, text, ok := strings.Cut(in.Source, "version: "); ok && in.Version == "" {
		in.Version, _, _ = strings.Cut(text, "\n")
	}
	return in.Name, in.Version, nil
}

// fakeExecutions is a core.ExecutionService made of functions.
type fakeExecutions struct {
	start   func(context.Context, core.ExecuteRequest) (*core.Execution, error)
	wait    func(ctx context.Context, id string) (*core.Execution, error)
	find    func(id string) (*core.Execution, error)
	findAll func(core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error)
	cancel  func(id, reason string) (*core.Execution, error)
	delete  func(id string) error
	retry   func(ctx context.Context, id string) (*core.Execution, error)
	rerun   func(ctx context.Context, id, step string) (*core.Execution, error)
	stream  func(ctx context.Context, id string, after uint64) (core.EventStream, error)

	timeline func(id string) (*core.Timeline, error)
	step     func(executionID, path string) (*core.StepDetail, error)
}

const (
	execID  = "exec_01JGFJJZ8N4Q1W0000000000AB"
	execID2 = "exec_01JGFJJZ8N4Q1W0000000000AC"
)

// someExecution returns an execution in a state, with the fields that state has.
func someExecution(id string, status core.ExecutionStatus) *core.Execution {
	started, ended := epoch.Add(time.Millisecond), epoch.Add(43*time.Millisecond)
	e := &core.Execution{
		ID: id, Pattern: core.PatternRef{Name: "classify", Version: "1.0.0"}, Status: status,
		Input: json.RawMessage(`{"text":"x"}`), CreatedAt: epoch, Deadline: epoch.Add(5 * time.Second),
		CreatedBy: "anonymous",
	}
	if status != core.ExecutionPending {
		e.StartedAt = &started
	}
	if status.Terminal() {
		e.CompletedAt = &ended
	}
	switch status {
	case core.ExecutionCompleted:
		e.Result = json.RawMessage(`{"label":"good"}`)
		e.Agents = []core.AgentResult{{ID: "agent_1", Status: "completed", Result: json.RawMessage(`{"label":"good"}`)}}
	case core.ExecutionFailed:
		e.Error = &core.ExecutionError{Code: core.CodeAgentError, Message: "the agent gave up"}
		e.Agents = []core.AgentResult{{ID: "agent_1", Status: "failed"}}
	case core.ExecutionCancelled:
		e.CancelledAt = &ended
		e.CancelReason = "no longer needed"
	}
	return e
}

func (f *fakeExecutions) Start(ctx context.Context, req core.ExecuteRequest) (*core.Execution, error) {
	if f.start != nil {
		return f.start(ctx, req)
	}
	return someExecution(execID, core.ExecutionPending), nil
}

func (f *fakeExecutions) Delete(_ context.Context, id string) error {
	if f.delete != nil {
		return f.delete(id)
	}
	return nil
}

func (f *fakeExecutions) FindTask(_ context.Context, executionID, taskID string) (*core.TaskDetail, error) {
	return &core.TaskDetail{ExecutionID: executionID, TaskID: taskID, Status: "running", Attempts: []wire.TaskAttempt{}}, nil
}

func (f *fakeExecutions) FindStep(_ context.Context, executionID, path string) (*core.StepDetail, error) {
	if f.step != nil {
		return f.step(executionID, path)
	}
	return nil, core.NotFound("step", path)
}

func (f *fakeExecutions) Wait(ctx context.Context, id string) (*core.Execution, error) {
	if f.wait != nil {
		return f.wait(ctx, id)
	}
	return someExecution(id, core.ExecutionCompleted), nil
}

func (f *fakeExecutions) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someExecution(id, core.ExecutionCompleted), nil
}

func (f *fakeExecutions) FindExecutions(_ context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	list := []*core.Execution{
		someExecution(execID2, core.ExecutionPending), someExecution(execID, core.ExecutionCompleted),
	}
	return list, core.PageInfo{Total: 42, HasMore: true, NextCursor: "abc"}, nil
}

func (f *fakeExecutions) Cancel(_ context.Context, id, reason string) (*core.Execution, error) {
	if f.cancel != nil {
		return f.cancel(id, reason)
	}
	return someExecution(id, core.ExecutionCancelled), nil
}

func (f *fakeExecutions) Retry(ctx context.Context, id string) (*core.Execution, error) {
	if f.retry != nil {
		return f.retry(ctx, id)
	}
	return someExecution(execID2, core.ExecutionPending), nil
}

func (f *fakeExecutions) Rerun(ctx context.Context, id, step string) (*core.Execution, error) {
	if f.rerun != nil {
		return f.rerun(ctx, id, step)
	}
	return someExecution(execID2, core.ExecutionPending), nil
}

func (f *fakeExecutions) Timeline(_ context.Context, id string) (*core.Timeline, error) {
	if f.timeline != nil {
		return f.timeline(id)
	}
	return &core.Timeline{
		ExecutionID: id, Pattern: core.PatternRef{Name: "classify", Version: "1.0.0"},
		Status: core.ExecutionCompleted, LastSequence: 18,
	}, nil
}

func (f *fakeExecutions) Stream(ctx context.Context, id string, after uint64) (core.EventStream, error) {
	if f.stream != nil {
		return f.stream(ctx, id, after)
	}
	return &journal{events: completedJournal(id), after: after, over: true}, nil
}

// completedJournal returns the events of an execution that two agents answered.
func completedJournal(id string) []core.Event {
	return []core.Event{
		{Seq: 10, Type: core.EventExecutionQueued, Subject: id, Data: json.RawMessage(`{}`)},
		{Seq: 11, Type: core.EventExecutionStarted, Subject: id, Data: json.RawMessage(`{"executionId":"` + id + `","pattern":{"name":"classify","version":"1.0.0"},"input":{},"metadata":{}}`)},
		{Seq: 12, Type: core.EventTaskAssigned, Subject: id, Data: json.RawMessage(`{"taskId":"task_1","step":"","agentId":"agent_1","attempt":1}`)},
		{Seq: 15, Type: core.EventTaskCompleted, Subject: id, Data: json.RawMessage(`{"taskId":"task_1","step":"","agentId":"agent_1","attempt":1,"result":{"label":"good"},"durationMs":3}`)},
		{Seq: 17, Type: core.EventStepCompleted, Subject: id, Data: json.RawMessage(`{"step":"","result":{"label":"good"},"confidence":1}`)},
		{Seq: 18, Type: core.EventExecutionCompleted, Subject: id, Data: json.RawMessage(`{"executionId":"` + id + `","result":{"label":"good"},"duration":4,"agents":[]}`)},
	}
}

// journal is an event stream over a list that tests may make longer.
type journal struct {
	mu     sync.Mutex // guards all below
	events []core.Event
	after  uint64
	over   bool
	fault  error
	closed bool
	grown  chan struct{} // closed and replaced when something changes; nil for a list that stays
}

func newJournal(events ...core.Event) *journal {
	return &journal{events: events, grown: make(chan struct{})}
}

func (j *journal) change(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	close(j.grown)
	j.grown = make(chan struct{})
}

func (j *journal) Next(ctx context.Context) (core.Event, error) {
	for {
		j.mu.Lock()
		for _, ev := range j.events {
			if ev.Seq > j.after {
				j.after = ev.Seq
				j.mu.Unlock()
				return ev, nil
			}
		}
		over, fault, grown := j.over, j.fault, j.grown
		j.mu.Unlock()
		switch {
		case fault != nil:
			return core.Event{}, fault
		case over:
			return core.Event{}, io.EOF
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
}

func (j *journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// fakeBatches is a core.BatchService made of functions.
type fakeBatches struct {
	start  func(context.Context, core.BatchRequest) (*core.Batch, error)
	find   func(id string) (*core.Batch, error)
	cancel func(id string) (*core.Batch, error)
	page   core.Page // that was asked for last
	filter core.BatchFilter
}

const batchID = "batch_01JGFJJZ8N4Q1W0000000000AB"

func someBatch(status core.BatchStatus) *core.Batch {
	b := &core.Batch{
		ID: batchID, Pattern: core.PatternRef{Name: "classify", Version: "1.0.0"}, Status: status,
		Total: 3, Completed: 1, Failed: 1, Cancelled: 1, CreatedAt: epoch,
		Results: []core.BatchResult{
			{Index: 0, ExecutionID: execID, Status: core.ExecutionCompleted, Result: json.RawMessage(`{"label":"good"}`)},
			{Index: 1, Status: core.ExecutionFailed, Error: &core.ExecutionError{Code: core.CodeValidation, Message: "text: is required"}},
		},
	}
	if status.Terminal() {
		b.CompletedAt = &epoch
	}
	return b
}

func (f *fakeBatches) StartBatch(ctx context.Context, req core.BatchRequest) (*core.Batch, error) {
	if f.start != nil {
		return f.start(ctx, req)
	}
	return someBatch(core.BatchRunning), nil
}

func (f *fakeBatches) FindBatch(_ context.Context, id string) (*core.Batch, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someBatch(core.BatchCompleted), nil
}

func (f *fakeBatches) FindBatchResults(ctx context.Context, id string, page core.Page) (*core.Batch, []core.BatchResult, core.PageInfo, error) {
	b, err := f.FindBatch(ctx, id)
	if err != nil {
		return nil, nil, core.PageInfo{}, err
	}
	f.page = page
	return b, b.Results, core.PageInfo{Total: b.Total, HasMore: true, NextCursor: "2"}, nil
}

func (f *fakeBatches) FindBatches(_ context.Context, filter core.BatchFilter) ([]*core.Batch, core.PageInfo, error) {
	f.filter = filter
	return []*core.Batch{someBatch(core.BatchRunning)}, core.PageInfo{Total: 1}, nil
}

func (f *fakeBatches) CancelBatch(_ context.Context, id string) (*core.Batch, error) {
	if f.cancel != nil {
		return f.cancel(id)
	}
	return someBatch(core.BatchCancelled), nil
}

// fakeAgents is a core.AgentService made of functions.
type fakeAgents struct {
	findAll    func(core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error)
	find       func(id string) (*core.Agent, error)
	disconnect func(id, reason string) (*core.Agent, error)
}

func someAgent(id string) *core.Agent {
	return &core.Agent{
		ID: id, Name: "lexicon", Status: core.AgentConnected, Healthy: true,
		Capabilities: []string{"classify"}, Region: "eu", ConnectedAt: epoch.Add(-time.Minute),
		LastHeartbeat: epoch, Metadata: map[string]any{"model": "m", "version": "1"}, MaxTasks: 2,
		Statistics: core.AgentStatistics{TasksCompleted: 4, TasksSucceeded: 3, TasksFailed: 1, TotalLatency: 10 * time.Millisecond},
	}
}

func (f *fakeAgents) FindAgents(_ context.Context, filter core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	return []*core.Agent{someAgent("agent_1"), {ID: "agent_2", Name: "bare", Status: core.AgentDisconnected}},
		core.PageInfo{Total: 2}, core.AgentCounts{Connected: 1, Disconnected: 1, Healthy: 1}, nil
}

func (f *fakeAgents) FindAgent(_ context.Context, id string) (*core.Agent, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someAgent(id), nil
}

func (f *fakeAgents) AgentTasks(_ context.Context, id string) ([]core.AgentTask, error) {
	if _, err := f.FindAgent(context.Background(), id); err != nil {
		return nil, err
	}
	one := core.AgentTask{TaskID: "task_1", ExecutionID: "exec_1", Attempt: 1, Status: "running", StartedAt: epoch}
	other := one
	other.TaskID, other.ExecutionID, other.Status, other.EndedAt = "task_2", "exec_hidden", "completed", &epoch
	return []core.AgentTask{one, other}, nil
}

func (f *fakeAgents) DisconnectAgent(_ context.Context, id, reason string) (*core.Agent, error) {
	if f.disconnect != nil {
		return f.disconnect(id, reason)
	}
	a := someAgent(id)
	a.Status, a.DisconnectedAt = core.AgentDisconnected, &epoch
	return a, nil
}

// keys is a store of idempotency keys, with looks into it.
type keys struct {
	*storetest.Memory
	mu     sync.Mutex
	claims []*core.IdempotencyClaim // guarded by mu
	full   error                    // what the store answers writes with
}

func (k *keys) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	if k.full != nil {
		return k.full
	}
	return k.Memory.Update(ctx, fn)
}

func newKeys(tb testing.TB) *keys { return &keys{Memory: storetest.NewMemory(tb)} }

// claim does what a service does in the transaction that creates its resource.
func (k *keys) claim(ctx context.Context, resourceID string) {
	claim := core.IdempotencyFrom(ctx)
	k.Put(func(tx core.Tx) error { return tx.ClaimIdempotency(claim, resourceID, epoch) })
	k.mu.Lock()
	defer k.mu.Unlock()
	if claim != nil {
		k.claims = append(k.claims, claim)
	}
}

// records returns what is stored of the keys that services claimed.
func (k *keys) records() (list []*core.IdempotencyRecord) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, claim := range k.claims {
		if rec, err := k.FindIdempotency(context.Background(), claim.Scope, claim.Key, epoch); err == nil && rec != nil {
			list = append(list, rec)
		}
	}
	return list
}

// dying does a request whose answer is not kept, as when the process dies before that; writes come ahead of it.
func (k *keys) dying(writes int, request func() reply) reply {
	k.Break(writes, errors.New("disk full"))
	defer k.Heal()
	return request()
}

// fakeJournal is the stored events of executions.
type fakeJournal struct{ events []core.Event }

func (f *fakeJournal) LastSeq() uint64 {
	if len(f.events) == 0 {
		return 0
	}
	return f.events[len(f.events)-1].Seq
}

func (f *fakeJournal) EventsBefore(_ context.Context, _ string, before uint64, limit int) (found []core.Event, more bool, err error) {
	for _, ev := range slices.Backward(f.events) {
		if ev.Seq >= before {
			continue
		}
		if len(found) == limit {
			return found, true, nil
		}
		found = append(found, ev)
	}
	return found, false, nil
}

func (f *fakeJournal) Events(_ context.Context, _ string, after uint64, limit int) (found []core.Event, more bool, err error) {
	for _, ev := range f.events {
		if ev.Seq <= after {
			continue
		}
		if len(found) == limit {
			return found, true, nil
		}
		found = append(found, ev)
	}
	return found, false, nil
}
