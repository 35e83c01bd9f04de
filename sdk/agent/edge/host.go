package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/runtime"
)

var (
	_ agent.ThreadHost    = (*host)(nil)
	_ agent.ThreadTyper   = (*host)(nil)
	_ agent.ThreadAdopter = (*host)(nil)
)

const (
	sendTimeout = 10 * time.Minute // of one try; a message waits for as long as it takes
	stopWait    = 10 * time.Second // for the runtime to tell that an agent which it stopped has ended
	maxAgentIDs = 100              // of one thread, at one runtime
)

// host is an Edge as the agent library calls it.
type host Edge

// Spawn implements agent.ThreadHost.
func (h *host) Spawn(ctx context.Context, t *agent.Thread) error {
	e := (*Edge)(h)
	dir, err := e.workdir(ctx, &t.Spec)
	if err != nil {
		return err
	}
	if err := writeFiles(dir, t.Spec.ContextFiles); err != nil {
		return err
	}
	spec := runtime.Spec{
		Name: t.Spec.Name, Type: t.Spec.AgentType, Workdir: dir, Env: t.Spec.Env, Approval: t.Spec.ApprovalPreset,
		Resume: t.Spec.SessionID,
		Labels: map[string]string{
			LabelEdge: e.opts.Name, LabelThread: t.Spec.ThreadID, LabelExecution: t.Spec.ExecutionID,
		},
	}
	e.making(t.Spec.ThreadID, true)
	var a runtime.Agent
	err = h.try(ctx, func() (err error) {
		a, err = e.spawn(ctx, t.Spec.ThreadID, spec)
		return err
	})
	if err == nil {
		e.follow(t, a.ID, 0)
	}
	e.making(t.Spec.ThreadID, false)
	if err != nil && !errors.Is(context.Cause(ctx), agent.ErrStopped) { // after the end of this process the server asks again
		e.clear(t.Spec.ThreadID) // an agent may run all the same
	}
	return err
}

// spawn starts an agent under an id that is made of the thread's. One that runs with the same spec was spawned for
// the thread before; one that has ended makes place for the next number.
func (e *Edge) spawn(ctx context.Context, threadID string, spec runtime.Spec) (runtime.Agent, error) {
	for n := 1; ; n++ {
		spec.ID = threadID
		if n > 1 {
			spec.ID += "-" + strconv.Itoa(n)
		}
		if old, err := e.opts.Runtime.Inspect(ctx, spec.ID); err == nil && old.Status == runtime.StatusStopped && n < maxAgentIDs {
			continue
		}
		return e.opts.Runtime.Spawn(ctx, spec)
	}
}

// Adopt implements agent.ThreadAdopter.
func (h *host) Adopt(_ context.Context, t *agent.Thread, mark string) {
	agentID, after := readMark(mark)
	agentID = cmp.Or(agentID, t.Spec.ThreadID)
	(*Edge)(h).follow(t, agentID, after)
}

// Message implements agent.ThreadHost. It tries until the agent took the message, or the thread ends: the runtime
// knows a message again by its id.
func (h *host) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	r := (*Edge)(h).run(t)
	if r == nil {
		return agent.ErrThreadOver
	}
	r.sending(m.ID)
	pause := newRetry()
	for {
		_, err := h.opts.Runtime.Send(ctx, r.agentID, runtime.Input{Message: m.Text, ID: m.ID, Timeout: sendTimeout})
		if err == nil {
			return r.sent(ctx, m.ID)
		}
		if ctx.Err() != nil || !passing(err) {
			r.notSent()
			return refusal(err)
		}
		h.opts.Logger.Info("edge: a message is not taken yet", "thread", t.Spec.ThreadID, "error", err)
		if !pause.Wait(ctx) {
			r.notSent()
			return context.Cause(ctx)
		}
	}
}

// Answer implements agent.ThreadHost.
func (h *host) Answer(ctx context.Context, t *agent.Thread, a protocol.ThreadAnswer) error {
	r := (*Edge)(h).run(t)
	if r == nil {
		return agent.ErrThreadOver
	}
	return h.try(ctx, func() error {
		return h.opts.Runtime.Answer(ctx, r.agentID, runtime.Answer(a))
	})
}

// Type implements agent.ThreadTyper.
func (h *host) Type(ctx context.Context, t *agent.Thread, id, raw string, keys []string) error {
	r := (*Edge)(h).run(t)
	if r == nil {
		return agent.ErrThreadOver
	}
	return h.try(ctx, func() error {
		_, err := h.opts.Runtime.Send(ctx, r.agentID, runtime.Input{Raw: raw, Keys: keys, ID: id})
		return err
	})
}

// try calls the runtime until it is there.
func (h *host) try(ctx context.Context, do func() error) error {
	pause := newRetry()
	for {
		err := do()
		if err == nil || runtime.ErrorCode(err) != runtime.CodeUnavailable || !pause.Wait(ctx) {
			return refusal(err)
		}
	}
}

// Stop implements agent.ThreadHost.
func (h *host) Stop(ctx context.Context, t *agent.Thread, s protocol.ThreadStop) error {
	e := (*Edge)(h)
	var err error
	if r := e.run(t); r != nil {
		err = e.stop(ctx, r.agentID, s.Force)
	} else { // it has no follower any more
		err = e.stopAll(ctx, e.ofThread(t.Spec.ThreadID), s.Force)
	}
	if err != nil {
		if t.Context().Err() != nil { // the server does not ask again
			e.clear(t.Spec.ThreadID)
		}
		return err
	}
	select { // the runtime's own words are better than ours
	case <-t.Context().Done():
	case <-time.After(stopWait):
	case <-ctx.Done():
	}
	return nil
}

// ofThread are the labels of the agents that were started for a thread.
func (e *Edge) ofThread(id string) map[string]string {
	return map[string]string{LabelEdge: e.opts.Name, LabelThread: id}
}

// stopAll stops every agent that has the labels, but for those that a thread has by now: the server may have asked for it again.
// One that cannot be stopped does not keep it from the others.
func (e *Edge) stopAll(ctx context.Context, labels map[string]string, force bool) error {
	list, err := e.opts.Runtime.List(ctx, runtime.ListFilter{Labels: labels})
	for _, a := range list {
		if a.Status == runtime.StatusStopped || e.known(a) {
			continue
		}
		e.opts.Logger.Info("edge: stopping an agent without a thread", "runtimeAgent", a.ID, "thread", a.Labels[LabelThread])
		err = errors.Join(err, e.stop(ctx, a.ID, force))
	}
	return err
}

// clear has every agent of a thread stopped that is given up, as soon as the runtime does it.
func (e *Edge) clear(threadID string) {
	e.mu.Lock()
	ctx := e.ctx
	e.mu.Unlock()
	e.work.Go(func() {
		e.insist(ctx, "edge: cannot stop the agents of a thread that is given up; it is tried again", threadID, func() error {
			return e.stopAll(ctx, e.ofThread(threadID), true)
		})
	})
}

// stop stops an agent; one that is gone is no error.
func (e *Edge) stop(ctx context.Context, agentID string, force bool) error {
	err := e.opts.Runtime.Stop(ctx, agentID, runtime.StopOptions{Force: force})
	if runtime.ErrorCode(err) == runtime.CodeNotFound {
		return nil
	}
	return err
}

// run returns the run of a thread, or nil.
func (e *Edge) run(t *agent.Thread) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.runs[t.Spec.ThreadID]; r != nil && r.thread == t {
		return r
	}
	return nil
}

// passing reports whether the same call may succeed later.
func passing(err error) bool {
	switch runtime.ErrorCode(err) {
	case runtime.CodeBlocked, runtime.CodeTimeout, runtime.CodeNotDelivered, runtime.CodeDeliveryUnknown,
		runtime.CodeUnavailable, runtime.CodeCanceled, runtime.CodeAuthRequired, runtime.CodeLagged, runtime.CodeInternal:
		return true
	}
	return false
}

// refusal makes an error that the server may get of one of the runtime. refusal(nil) is nil.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	e := runtime.AsError(err)
	text := e.Message
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return &agent.Error{Code: string(e.Code), Message: text}
}

// A mark is the place in the runtime's log up to which a thread was reported: the id of its agent and a sequence.
func makeMark(agentID string, seq uint64) string { return fmt.Sprintf("%s %d", agentID, seq) }

func readMark(mark string) (agentID string, seq uint64) {
	agentID, number, _ := strings.Cut(mark, " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return agentID, 0
	}
	return agentID, seq
}
