package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of what a host tells of a thread; text beyond them is cut.
const (
	maxEventText   = 256 << 10
	maxPromptText  = 64 << 10
	maxOptions     = 64
	maxSessionID   = 256
	maxReasonBytes = 4 << 10

	maxOutcomeCode = 64
)

// threadEvents are the types of events that a host may tell.
var threadEvents = map[string]core.EventType{
	protocol.ThreadStarted:       core.EventManagedStarted,
	protocol.ThreadReady:         core.EventManagedReady,
	protocol.ThreadBusy:          core.EventManagedBusy,
	protocol.ThreadBlocked:       core.EventManagedBlocked,
	protocol.ThreadQuestion:      core.EventManagedQuestion,
	protocol.ThreadUnblocked:     core.EventManagedUnblocked,
	protocol.ThreadLoginRequired: core.EventManagedLogin,
	protocol.ThreadToolRunning:   core.EventManagedTool,
	protocol.ThreadTurnComplete:  core.EventManagedTurnComplete,
	protocol.ThreadMessage:       core.EventManagedMessage,
	protocol.ThreadStuck:         core.EventManagedStuck,
	protocol.ThreadError:         core.EventManagedError,
	protocol.ThreadStopped:       core.EventManagedStopped,
}

// agentStatuses are the states that an event may name.
var agentStatuses = []core.ManagedAgentStatus{
	core.ManagedStarting, core.ManagedReady, core.ManagedBusy, core.ManagedUnreachable, core.ManagedError, core.ManagedStopped,
}

// errNoThreads answers frames about threads where the service has no threads.
var errNoThreads = errors.New("threads are not supported by this server")

// threadEvent runs a thread_event. The error's text is meant for the agent.
func (s *session) threadEvent(a *agent, f *frame, now time.Time) error {
	if s.svc.threads == nil {
		return errNoThreads
	}
	var p protocol.ThreadEvent
	if err := f.into(&p); err != nil {
		return err
	}
	kind, signal, err := checkThreadEvent(&p, now)
	if err != nil {
		return err
	}
	a.mu.Lock()
	h := a.threads.hosted[p.ThreadID]
	switch {
	case a.session != s: // replaced: the agent tells it again on its new connection
		a.mu.Unlock()
		return nil
	case p.Sequence <= a.threads.ended[p.ThreadID]:
		s.acknowledge(p.ThreadID, p.Sequence, now)
		if h != nil && h.spawn != nil && kind == core.EventManagedStopped { // the host forgets the old one now
			s.svc.order(a, h.spawn)
		}
		a.mu.Unlock()
		return nil
	case h == nil:
		a.mu.Unlock()
		s.sendError(f.id, core.CodeNotFound, "threadId: this agent does not host the thread", false)
		return nil
	case p.Sequence <= h.settled:
		s.acknowledge(p.ThreadID, h.settled, now)
		a.mu.Unlock()
		return nil
	case h.last != 0 && p.Sequence <= h.last: // it is acknowledged once it is durable
		a.mu.Unlock()
		return nil
	case h.over || h.last != 0 && p.Sequence != h.last+1:
		last := h.last
		a.mu.Unlock()
		s.sendError(f.id, core.CodeConflict,
			fmt.Sprintf("sequence: %d does not follow %d; send the events from there on again", p.Sequence, last), false)
		return nil
	}
	signal.AgentID = p.ThreadID
	in := &pendingEvent{seq: p.Sequence}
	h.last, h.pending = p.Sequence, append(h.pending, in)
	ended := kind == core.EventManagedStopped
	var again *order
	if ended && h.spawn != nil && h.spawn.on != s {
		again = h.spawn // of the thread that comes after this one, which the host did not hear of yet
	}
	h.spawn = nil // what tells of itself was taken
	if ended {
		a.threads.end(h)
	}
	a.mu.Unlock()
	size := len(f.payload)
	receipt := &threadReceipt{
		session: s, agent: a, hosted: h, pending: in, input: p.InputTaken, ended: ended, again: again, size: size,
		generation: s.unsettled.add(size),
	}
	s.svc.threads.RemoteThreadEvented(core.RemoteThreadEvent{
		AgentID: a.id, ThreadID: p.ThreadID, Seq: p.Sequence, Type: kind, Time: now, Signal: signal, SessionID: p.SessionID,
		InputTaken: p.InputTaken, Settled: receipt.settle,
	})
	return nil
}

// threadReceipt settles one event.
type threadReceipt struct {
	session    *session
	agent      *agent
	hosted     *hosted
	pending    *pendingEvent
	input      string
	ended      bool
	again      *order // the spawn of the thread anew, or nil
	size       int
	generation int
	done       atomic.Bool
}

// settle is core.RemoteThreadEvent.Settled.
func (r *threadReceipt) settle() {
	if r.done.Swap(true) {
		return
	}
	s := r.session
	s.unsettled.settle(r.generation, r.size)
	a, h := r.agent, r.hosted
	a.mu.Lock()
	if r.input != "" {
		a.threads.confirm(h, func(o *order) bool { return o.id == r.input })
	}
	// The agent may have resumed meanwhile: then it sends the event again, and the repeat is acknowledged.
	if upTo := h.settle(r.pending); upTo > 0 && a.session == s {
		s.acknowledge(h.id, upTo, s.svc.clock.Now())
	}
	over := r.ended && a.threads.hosted[h.id] == h && h.over
	if over {
		a.threads.remove(h)
		a.threads.finished(h.id, r.pending.seq)
		if r.again != nil && a.presence != gone {
			next := a.threads.take(h.id)
			next.spawn = r.again
			s.svc.order(a, next.spawn)
		}
	}
	a.mu.Unlock()
	if over {
		s.svc.hostNotices.post(notice{kind: hostsChanged})
	}
}

// acknowledge sends a thread_ack.
func (s *session) acknowledge(threadID string, sequence uint64, now time.Time) {
	s.send(func(b []byte) []byte { return appendThreadAck(b, threadID, sequence, now) })
}

// threadStatus runs a thread_status.
func (s *session) threadStatus(a *agent, f *frame) error {
	if s.svc.threads == nil {
		return errNoThreads
	}
	var p protocol.ThreadStatus
	if err := f.into(&p); err != nil {
		return err
	}
	if err := checkThreadID(p.ThreadID); err != nil {
		return err
	}
	if len(p.InputID) > maxIDLen {
		return errors.New("inputId: must be the id of an input")
	}
	var told *core.RemoteThreadEvent
	keep := func(_ *agent, e core.RemoteThreadEvent) { told = &e }
	a.mu.Lock()
	h := a.threads.hosted[p.ThreadID]
	if h == nil || h.over || a.session != s { // out of date
		h = nil
	}
	var err error
	switch p.Status {
	case protocol.ThreadAccepted:
		if h != nil {
			h.spawn = nil
		}
	case protocol.ThreadTaken, protocol.ThreadRefused:
		switch {
		case p.InputID == "" && p.Status == protocol.ThreadTaken:
			err = errors.New("inputId: is missing")
		case h == nil:
		case p.InputID != "":
			a.threads.confirm(h, func(o *order) bool { return o.id == p.InputID })
		case h.spawn != nil: // an accepted thread ends with an event
			s.svc.endLocked(a, h, reasonRefused, refusalText(&p), keep)
		}
	case protocol.ThreadUnknown:
		if h != nil {
			s.svc.endLocked(a, h, reasonLost, "the host does not know the thread", keep)
		}
	default:
		err = fmt.Errorf("status: must be %s, %s, %s or %s",
			protocol.ThreadAccepted, protocol.ThreadRefused, protocol.ThreadTaken, protocol.ThreadUnknown)
	}
	a.mu.Unlock()
	if told != nil {
		s.svc.threads.RemoteThreadEvented(*told)
	}
	if err == nil && p.InputID != "" && p.Status == protocol.ThreadTaken && h != nil {
		s.svc.threads.RemoteInputTaken(a.id, p.ThreadID, p.InputID)
	}
	if err == nil && p.InputID != "" && p.Status == protocol.ThreadRefused {
		s.svc.log.Debug("a host refused an input", "agent", a.id, "thread", p.ThreadID, "code", p.Code)
		if h != nil {
			s.svc.threads.RemoteInputRefused(a.id, p.ThreadID, p.InputID, core.InputRefusal{
				Code: cleanReason(p.Code, ""), Reason: refusalText(&p),
			})
		}
	}
	return err
}

// refusalText is why a host refused a thread or an input, for people.
func refusalText(p *protocol.ThreadStatus) string {
	text := clip.Text(p.Message, maxReasonBytes)
	switch code := cleanReason(p.Code, ""); {
	case text == "":
		return code
	case code != "":
		return code + ": " + text
	}
	return text
}

func checkThreadID(id string) error {
	switch {
	case id == "":
		return errors.New("threadId: is missing")
	case len(id) > maxIDLen || !printable(id):
		return errors.New("threadId: must be the id of a thread of this server")
	}
	return nil
}

// checkThreadEvent checks an event and makes the product's of it. The error's text is meant for the agent.
func checkThreadEvent(p *protocol.ThreadEvent, now time.Time) (core.EventType, core.AgentSignal, error) {
	kind, ok := threadEvents[p.Type]
	err := checkThreadID(p.ThreadID)
	switch {
	case err != nil:
	case p.Sequence == 0:
		err = errors.New("sequence: must count the thread's events, from 1")
	case !ok:
		err = fmt.Errorf("type: must be the type of a thread's event, not %.64q", p.Type)
	case len(p.InputTaken) > maxIDLen || len(p.ExecutionID) > maxIDLen:
		err = errors.New("inputTaken and executionId: must be ids of this server")
	case len(p.SessionID) > maxSessionID || !printable(p.SessionID):
		err = fmt.Errorf("sessionId: must be at most %d printable bytes", maxSessionID)
	}
	if err != nil {
		return "", core.AgentSignal{}, err
	}
	signal, err := checkThreadData(kind, &p.Data, now)
	return kind, signal, err
}

func checkThreadData(kind core.EventType, d *protocol.ThreadData, now time.Time) (core.AgentSignal, error) {
	text := clip.Text(d.Text, maxEventText)
	signal := core.AgentSignal{
		Status: core.ManagedAgentStatus(d.Status), Answered: d.Answered, Text: text,
		Truncated: d.Truncated || len(text) < len(d.Text), Turn: d.Turn, DurationMs: d.DurationMs, TurnOutcome: d.TurnOutcome,
		LoginURL: d.LoginURL, ExitCode: d.ExitCode, OccurredAt: d.OccurredAt,
	}
	if err := checkOutcome(&signal.TurnOutcome); err != nil {
		return signal, err
	}
	if signal.Error != nil {
		signal.Text, signal.Truncated = "", false // a failed turn has no text
	}
	signal.Source = cleanReason(d.Source, "host")
	signal.Reason = clip.Text(d.Reason, maxReasonBytes)
	if signal.OccurredAt.IsZero() {
		signal.OccurredAt = now
	}
	asks := kind == core.EventManagedBlocked || kind == core.EventManagedQuestion
	switch {
	case d.Status == "":
		signal.Status = statuses[kind]
		if kind == core.EventManagedStopped && d.ExitCode != nil && *d.ExitCode != 0 {
			signal.Status = core.ManagedError
		}
	case d.Status == "blocked": // a managed agent that waits for a person is busy
		signal.Status = core.ManagedBusy
	case !slices.Contains(agentStatuses, signal.Status):
		return signal, errors.New("data.status: must be starting, ready, busy, blocked, unreachable, error or stopped")
	}
	switch {
	case d.Turn < 0 || d.DurationMs < 0:
		return signal, errors.New("data.turn and data.durationMs: must not be negative")
	case len(d.LoginURL) > maxReasonBytes || len(d.Answered) > maxReasonBytes:
		return signal, fmt.Errorf("data.loginUrl and data.answered: must be at most %d bytes", maxReasonBytes)
	case kind == core.EventManagedTool && (d.Tool == nil || d.Tool.Name == ""):
		return signal, errors.New("data.tool: must name the tool")
	case asks && d.Prompt == nil:
		return signal, errors.New("data.prompt: is missing")
	}
	if d.Tool != nil {
		signal.Tool = &core.AgentTool{Name: d.Tool.Name, Input: d.Tool.Input}
	}
	if d.Prompt != nil && asks {
		prompt := *d.Prompt
		if prompt.Kind == "" && kind == core.EventManagedBlocked {
			prompt.Kind = wire.PromptApproval
		}
		prompt.Kind = cmp.Or(prompt.Kind, wire.PromptQuestion)
		switch {
		case prompt.ID == "" || len(prompt.ID) > maxIDLen || !printable(prompt.ID):
			return signal, fmt.Errorf("data.prompt.id: must be 1 to %d printable bytes", maxIDLen)
		case len(prompt.Options) > maxOptions:
			return signal, fmt.Errorf("data.prompt.options: must be at most %d", maxOptions)
		case prompt.Kind != wire.PromptApproval && prompt.Kind != wire.PromptQuestion:
			return signal, errors.New("data.prompt.kind: must be approval or question")
		}
		prompt.Text = clip.Text(prompt.Text, maxPromptText)
		signal.Prompt = json.RawMessage(encodePayload(prompt))
	}
	return signal, nil
}

// checkOutcome bounds what a host says of how a turn ended. It replaces what it changes.
func checkOutcome(o *wire.TurnOutcome) error {
	if o.Error != nil {
		failure := *o.Error
		if failure.Code == "" || len(failure.Code) > maxOutcomeCode || !printable(failure.Code) {
			return fmt.Errorf("data.error.code: must be 1 to %d printable bytes", maxOutcomeCode)
		}
		failure.Message = clip.Text(failure.Message, maxReasonBytes)
		o.Error = &failure
	}
	u := o.Usage
	if u == nil {
		return nil
	}
	for _, n := range []int64{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.Requests} {
		if n < 0 || n > wire.MaxTurnTokens {
			return fmt.Errorf("data.usage: numbers must be from 0 to %d", int64(wire.MaxTurnTokens))
		}
	}
	if u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD <= wire.MaxTurnCostUSD) {
		return fmt.Errorf("data.usage.costUsd: must be from 0 to %d", wire.MaxTurnCostUSD)
	}
	if len(u.Model) > maxSessionID || !printable(u.Model) {
		return fmt.Errorf("data.usage.model: must be at most %d printable bytes", maxSessionID)
	}
	return nil
}
