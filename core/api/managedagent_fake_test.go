package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/wardroom/wardroom/core"
)

const magentID = "magent_01JGFJJZ8N4Q1W0000000000AB"

// fakeManaged is a core.ManagedAgentService made of functions; a nil one answers with a plain success.
type fakeManaged struct {
	findAll  func(core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error)
	find     func(id string) (*core.ManagedAgent, error)
	spawn    func(context.Context, core.ManagedAgentSpec) (*core.ManagedAgent, error)
	send     func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error)
	answer   func(id string, a core.ManagedAgentAnswer) (*core.ManagedAgent, error)
	restart  func(ctx context.Context, id string) (*core.ManagedAgent, error)
	stop     func(id string, how core.ManagedAgentStop) error
	logs     func(ctx context.Context, id string, opts core.LogOptions) (core.LogStream, error)
	metrics  func(id string) (core.ManagedAgentMetrics, error)
	screen   func(id string) (core.ManagedAgentScreen, error)
	events   func(ctx context.Context, id string, after uint64) (core.EventStream, error)
	terminal func(w http.ResponseWriter, r *http.Request, id string, readOnly bool) error
	runtimes []core.RuntimeInfo
}

func someManaged(id string, status core.ManagedAgentStatus) *core.ManagedAgent {
	a := &core.ManagedAgent{
		ID: id, Name: "reviewer", Type: "claude", Status: status, Runtime: "local", Capabilities: []string{"review"},
		Workdir: "/srv/w", PID: 4711, SessionID: "s-1", Turn: 2, CreatedAt: epoch, LastActivityAt: epoch,
	}
	switch status {
	case core.ManagedBusy:
		a.StatusReason = core.ReasonBlocked
		a.Prompt = json.RawMessage(`{"id":"q1","kind":"approval","text":"Run ls?","options":[{"id":"allow","label":"Yes"}]}`)
	case core.ManagedStopped:
		code := 130
		a.ExitCode, a.StoppedAt, a.PID = &code, &epoch, 0
	}
	return a
}

func (f *fakeManaged) FindManagedAgents(_ context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	return []*core.ManagedAgent{
		someManaged(magentID, core.ManagedReady), {ID: "magent_2", Name: "bare", Type: "codex", Status: core.ManagedStarting},
	}, core.PageInfo{Total: 2}, nil
}

func (f *fakeManaged) FindManagedAgent(_ context.Context, id string) (*core.ManagedAgent, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someManaged(id, core.ManagedReady), nil
}

func (f *fakeManaged) SpawnManagedAgent(ctx context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	if f.spawn != nil {
		return f.spawn(ctx, spec)
	}
	return someManaged(magentID, core.ManagedStarting), nil
}

func (f *fakeManaged) SendManagedAgent(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
	if f.send != nil {
		return f.send(ctx, id, in)
	}
	return core.ManagedAgentReply{Sent: true}, nil
}

func (f *fakeManaged) AnswerManagedAgent(_ context.Context, id string, a core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
	if f.answer != nil {
		return f.answer(id, a)
	}
	return someManaged(id, core.ManagedBusy), nil
}

func (f *fakeManaged) RestartManagedAgent(ctx context.Context, id string, _ core.ManagedAgentRestart) (*core.ManagedAgent, error) {
	if f.restart != nil {
		return f.restart(ctx, id)
	}
	return someManaged(id, core.ManagedStarting), nil
}

func (f *fakeManaged) StopManagedAgent(_ context.Context, id string, how core.ManagedAgentStop) error {
	if f.stop != nil {
		return f.stop(id, how)
	}
	return nil
}

func (f *fakeManaged) ManagedAgentLogs(ctx context.Context, id string, opts core.LogOptions) (core.LogStream, error) {
	if f.logs != nil {
		return f.logs(ctx, id, opts)
	}
	return newLines(core.LogLine{Timestamp: epoch, Stream: "output", Line: "hello"}).end(nil), nil
}

func (f *fakeManaged) ManagedAgentMetrics(_ context.Context, id string) (core.ManagedAgentMetrics, error) {
	if f.metrics != nil {
		return f.metrics(id)
	}
	return core.ManagedAgentMetrics{CPUPercent: 1.5, MemoryBytes: 1 << 20, UptimeSeconds: 3.25, MessagesSent: 4}, nil
}

func (f *fakeManaged) ManagedAgentScreen(_ context.Context, id string) (core.ManagedAgentScreen, error) {
	if f.screen != nil {
		return f.screen(id)
	}
	return core.ManagedAgentScreen{AgentID: id, Cols: 80, Rows: 24, Lines: []string{"$ go test ./..."}}, nil
}

func (f *fakeManaged) ManagedAgentEvents(ctx context.Context, id string, after uint64) (core.EventStream, error) {
	if f.events != nil {
		return f.events(ctx, id, after)
	}
	j := newJournal(managedJournal(id)...)
	j.after, j.over = after, true
	return j, nil
}

func (f *fakeManaged) ServeTerminal(w http.ResponseWriter, r *http.Request, id string, readOnly bool) error {
	if f.terminal != nil {
		return f.terminal(w, r, id, readOnly)
	}
	return core.Invalid("Upgrade", "this is a WebSocket")
}

func (f *fakeManaged) Runtimes(context.Context) []core.RuntimeInfo { return f.runtimes }

func (f *fakeManaged) LookAtRuntimes(context.Context) []core.RuntimeInfo { return f.runtimes }

func managedJournal(id string) []core.Event {
	return []core.Event{
		{Seq: 21, Type: core.EventManagedStarted, Time: epoch, Subject: id, Data: json.RawMessage(`{"agentId":"` + id + `","status":"starting"}`)},
		{Seq: 24, Type: core.EventManagedReady, Time: epoch, Subject: id, Data: json.RawMessage(`{"agentId":"` + id + `","status":"ready"}`)},
		{Seq: 29, Type: core.EventManagedTurnComplete, Time: epoch, Subject: id, Data: json.RawMessage("{\"agentId\":\"" + id + "\",\n\"text\":\"a < b\"}")},
	}
}

// lines is a log stream that tests may make longer.
type lines struct {
	mu     sync.Mutex // guards all below
	list   []core.LogLine
	fault  error         // once the list is read
	grown  chan struct{} // closed and replaced when something changes
	closed bool
}

func newLines(list ...core.LogLine) *lines { return &lines{list: list, grown: make(chan struct{})} }

// end ends the stream with an error; nil is its proper end.
func (l *lines) end(err error) *lines {
	if err == nil {
		err = io.EOF
	}
	l.change(func() { l.fault = err })
	return l
}

func (l *lines) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *lines) Next() (core.LogLine, error) {
	for {
		l.mu.Lock()
		if len(l.list) > 0 && !l.closed {
			line := l.list[0]
			l.list = l.list[1:]
			l.mu.Unlock()
			return line, nil
		}
		fault, closed, grown := l.fault, l.closed, l.grown
		l.mu.Unlock()
		switch {
		case closed:
			return core.LogLine{}, context.Canceled
		case fault != nil:
			return core.LogLine{}, fault
		}
		<-grown
	}
}

func (l *lines) Close() error {
	l.change(func() { l.closed = true })
	return nil
}

func (l *lines) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
