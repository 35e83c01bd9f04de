package threads

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// mailbox is what the host of a thread told, and was not looked at yet. The thread's mu guards it.
type mailbox struct {
	events []core.RemoteThreadEvent
	heard  bool // the host was here in this life of ours
	away   bool // the host is not connected
	back   bool // it was away, or we were, and is here: what it may not have is sent again
	gone   bool // it is gone for good
	holds  bool // of back: it says that it hosts the thread
	backs  int  // how often it came back with the thread
	// refused are the inputs that the host did not take, and why, by their ids.
	refused map[string]core.InputRefusal
	// typed is what its terminal was given and the host did not answer yet, by the ids of the inputs.
	typed map[string]*typed
	over  bool // the thread is: nothing reads it any more
}

// RemoteThreadEvented implements core.ThreadHostSink.
func (s *Service) RemoteThreadEvented(e core.RemoteThreadEvent) {
	t := s.find(e.ThreadID)
	if t == nil || t.record().AgentID != e.AgentID {
		settle(e) // the thread is over, or another's: nobody waits for it
		return
	}
	t.mu.Lock()
	over := t.remote.over
	if !over {
		t.remote.events = append(t.remote.events, e)
		t.remote.heard, t.remote.away = true, false
	}
	t.mu.Unlock()
	if over {
		settle(e)
		return
	}
	t.touch()
}

// RemoteInputRefused implements core.ThreadHostSink.
func (s *Service) RemoteInputRefused(agentID, threadID, inputID string, why core.InputRefusal) {
	t := s.find(threadID)
	if t == nil {
		return
	}
	r := t.record()
	if r.AgentID != agentID || t.typed(inputID, &why) || !answeredWith(r, inputID) && !handedOver(r, inputID) {
		return
	}
	t.mu.Lock()
	if t.remote.refused == nil {
		t.remote.refused = map[string]core.InputRefusal{}
	}
	t.remote.refused[inputID] = why
	t.mu.Unlock()
	t.touch()
}

// RemoteInputTaken implements core.ThreadHostSink.
func (s *Service) RemoteInputTaken(agentID, threadID, inputID string) {
	if t := s.find(threadID); t != nil && t.record().AgentID == agentID {
		t.typed(inputID, nil)
	}
}

// handedOver reports whether the host was given a message under a key, and did not take it yet.
func handedOver(r *core.ThreadRecord, key string) bool { return unsent(r) && workKey(r.Work) == key }

// closeMailbox settles what came too late to matter, now and from now on.
func (t *thread) closeMailbox() {
	t.mu.Lock()
	late := t.remote.events
	t.remote.events, t.remote.over = nil, true
	t.remote.untype()
	t.mu.Unlock()
	for _, e := range late {
		settle(e)
	}
}

func settle(e core.RemoteThreadEvent) {
	if e.Settled != nil {
		e.Settled()
	}
}

// HostAway implements core.ThreadHostSink.
func (s *Service) HostAway(agentID string) {
	s.hosted(agentID, func(_ string, m *mailbox) {
		m.away, m.back = true, false
		m.untype()
	})
}

// HostBack implements core.ThreadHostSink. Threads of it that are over here are ended there.
func (s *Service) HostBack(agentID string, threadIDs []string) {
	s.hosted(agentID, func(id string, m *mailbox) {
		m.heard, m.away, m.back, m.gone, m.holds = true, false, true, false, slices.Contains(threadIDs, id)
		if m.holds {
			m.backs++
		}
	})
	for _, id := range threadIDs {
		if s.find(id) == nil && s.opts.Hosts != nil {
			s.tasks.Go(func() {
				if r, err := s.opts.Store.FindThread(s.ctx, id); core.ErrorCode(err) == core.CodeNotFound || err == nil && r.Status.Terminal() {
					s.opts.Hosts.StopThread(agentID, id, "the thread is over", true)
				}
			})
		}
	}
}

// HostGone implements core.ThreadHostSink.
func (s *Service) HostGone(agentID string) {
	s.hosted(agentID, func(_ string, m *mailbox) {
		m.gone, m.back = true, false
		m.untype()
	})
}

// HostsChanged implements core.ThreadHostSink. Nothing waits for a host: a thread has one from its spawn on.
func (s *Service) HostsChanged() {}

func (s *Service) hosted(agentID string, fn func(thread string, m *mailbox)) {
	s.mu.Lock()
	var list []*thread
	for _, t := range s.live {
		if r := t.record(); r.AgentID == agentID && r.Runtime == core.RuntimeConnected {
			list = append(list, t)
		}
	}
	s.mu.Unlock()
	for _, t := range list {
		t.mu.Lock()
		fn(t.id, &t.remote)
		t.mu.Unlock()
		t.touch()
	}
}

// runRemote takes a thread that a connected agent hosts through its life, until its end was decided on or the
// service closes.
func (t *thread) runRemote() {
	ctx, cancel := context.WithCancel(t.work)
	defer cancel()
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		if !t.s.guard("a part of the supervision of a thread", t.id, func() { t.answerPrompts(ctx) }) {
			t.s.pause(ctx, maxRetry)
			cancel() // all parts begin anew
		}
	}()
	defer func() { cancel(); <-answers }()
	h := &hosting{t: t}
	for ctx.Err() == nil && t.record().Ending == nil {
		if !h.step(ctx) {
			return
		}
		due, stop := t.s.after(min(t.nextTimer(), lookInterval))
		select {
		case <-ctx.Done():
		case <-t.wake:
		case <-due:
		}
		stop()
		t.checkTimers(ctx)
	}
}

// hosting is a thread at its host, in this life of ours.
type hosting struct {
	t     *thread
	asked bool   // the host was asked for the thread
	out   string // key of the message that was handed over and may not be taken yet
	away  bool   // that was told
}

// step does what is to be done now. It returns false when ctx ended.
func (h *hosting) step(ctx context.Context) bool {
	t := h.t
	t.mu.Lock()
	m := t.remote
	t.remote.events, t.remote.back, t.remote.refused = nil, false, nil
	t.mu.Unlock()
	for events := m.events; len(events) > 0; {
		done, ok := h.apply(ctx, events[:min(len(events), eventBatch)])
		events = events[done:]
		if !ok {
			// The end was decided on: endRemote settles the others, or the host would wait for them for ever. When the
			// service closes it tells them again.
			t.mu.Lock()
			t.remote.events = append(events[:len(events):len(events)], t.remote.events...)
			t.mu.Unlock()
			return false
		}
	}
	if t.record().Ending != nil {
		return true
	}
	for input, why := range m.refused {
		if !t.reopen(ctx, input, "the host did not take the answer: "+why.Reason) || !t.refuse(ctx, input, why) {
			return false
		}
	}
	if m.gone {
		return t.must(ctx, func(c *change) error {
			c.fail(core.ThreadReasonLost, &core.ThreadError{Code: core.CodeAgentError, Message: "the agent that hosts the thread is gone"})
			return nil
		})
	}
	if m.away != h.away && !h.tell(ctx, m.away) {
		return false
	}
	if m.back {
		h.out = "" // is handed over again: the host drops what it knows
		if !m.holds {
			h.asked = false
			if t.record().StartedAt != nil && t.record().Status != core.ThreadStarting && !t.lose(ctx) {
				return false
			}
		}
	}
	return h.work(ctx)
}

// tell notes that the host went away or came back.
func (h *hosting) tell(ctx context.Context, away bool) bool {
	ok := h.t.must(ctx, func(c *change) error {
		switch {
		case c.rec.Ending != nil:
			return errUnchanged
		case away:
			c.rec.StatusReason = core.ThreadReasonHostAway
			c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonHostAway})
		case c.rec.StatusReason == core.ThreadReasonHostAway:
			c.rec.StatusReason = ""
			c.event(core.EventThreadStatus, statusData{Status: statusHostBack})
		default:
			return errUnchanged
		}
		return nil
	})
	h.away = away
	return ok
}

// lose notes that the host does not know the thread any more.
func (t *thread) lose(ctx context.Context) bool {
	return t.must(ctx, func(c *change) error {
		if c.rec.Ending != nil {
			return errUnchanged
		}
		c.lost("")
		return nil
	})
}

// work asks the host for the thread, and hands over the next message.
func (h *hosting) work(ctx context.Context) bool {
	t := h.t
	r := t.record()
	if r.Ending != nil {
		return true
	}
	switch r.Status {
	case core.ThreadPending, core.ThreadPreparing:
		return h.prepare(ctx)
	case core.ThreadStarting:
		if !h.asked {
			return h.ask(ctx)
		}
		return true
	}
	if !feedable(r) || unsent(r) && h.out == workKey(r.Work) {
		return true
	}
	var in *core.QueuedInput
	withdrawals := r.Withdrawals
	if next := nextNumber(r); next > 0 {
		page, err := t.s.opts.Store.QueuedInputs(ctx, t.id, next-1, 1)
		if err != nil || len(page) == 0 {
			return ctx.Err() == nil // the next look tries again
		}
		if in = page[0]; in.Withdrawn {
			t.touch() // the next step looks at the one behind it
			return t.skip(ctx, in)
		}
	}
	if !t.open(ctx, in, withdrawals) {
		return false
	}
	if r = t.record(); !unsent(r) || in != nil && r.Work.Number != in.Number {
		return true
	}
	h.out = workKey(r.Work)
	if !t.s.opts.Hosts.InputThread(r.AgentID, core.RemoteInput{ThreadID: t.id, InputID: h.out, Message: workText(r, in)}) {
		t.mu.Lock()
		t.remote.gone = true
		t.mu.Unlock()
		t.touch()
	}
	return true
}

// prepare gathers what the thread should know; its workspace is the host's matter.
func (h *hosting) prepare(ctx context.Context) bool {
	h.t.prepare(ctx)
	h.t.touch()
	return ctx.Err() == nil
}

// ask asks the host for the thread.
func (h *hosting) ask(ctx context.Context) bool {
	t := h.t
	r := t.record()
	env, err := t.s.openEnv(t.id, r.SealedEnv)
	if err == nil && t.s.opts.Secrets != nil {
		env, err = t.s.opts.Secrets.SecretEnv(ctx, env)
	}
	var space *core.WorkspaceSpec
	if err == nil {
		space, err = t.s.opts.Workspaces.ResolveWorkspace(r.Preparation.Workspace)
	}
	var memory *core.MemoryContext
	if err == nil {
		memory, err = t.s.recall(ctx, r, nil, nil)
	}
	if err != nil {
		if runtimecode.Passing(err) {
			return ctx.Err() == nil // the next look tries again
		}
		return t.must(ctx, func(c *change) error {
			c.fail("", threadError(err))
			return nil
		})
	}
	h.asked = true
	ok := t.s.opts.Hosts.SpawnThread(r.AgentID, core.RemoteThread{
		ThreadID: t.id, ExecutionID: r.ExecutionID, Name: r.Name, AgentType: r.AgentType, Role: r.Role, Objective: r.Objective,
		Workspace: space, ContextFiles: contextFiles(r, memory), Approval: r.Preparation.Approval, Env: traced(env, r),
		SessionID: r.SessionID, After: r.AgentSeq,
	})
	if !ok {
		t.mu.Lock()
		t.remote.gone = true
		t.mu.Unlock()
		t.touch()
	}
	return true
}

// apply applies events of the host, each once, as many in one transaction as the thread's state allows, at least one.
// It returns how many were settled, and false once ctx ended.
func (h *hosting) apply(ctx context.Context, events []core.RemoteThreadEvent) (done int, ok bool) {
	t := h.t
	ok = t.must(ctx, func(c *change) error {
		done = 0 // a change that could not be stored begins anew
		before := c.rec.AgentSeq
		for i := range events {
			if done > 0 && startsAgain(c.rec) {
				break
			}
			done++
			if err := c.applyHosted(ctx, &events[i]); err != nil {
				return err
			}
		}
		if c.rec.AgentSeq == before {
			return errUnchanged
		}
		return nil
	})
	if !ok {
		return 0, false
	}
	if startsAgain(t.record()) {
		h.asked = false
	}
	for _, e := range events[:done] {
		settle(e)
	}
	return done, true
}

// applyHosted makes of the record what an event of the host says that was not applied yet.
func (c *change) applyHosted(ctx context.Context, e *core.RemoteThreadEvent) error {
	r := c.rec
	if r.Ending != nil || e.Seq <= r.AgentSeq {
		return nil
	}
	r.AgentSeq = e.Seq
	if e.SessionID != "" {
		r.SessionID = e.SessionID
	}
	if e.InputTaken != "" && handedOver(r, e.InputTaken) {
		if err := c.handed(ctx, ""); err != nil {
			return err
		}
	}
	if e.Type == core.EventManagedStarted && r.Status == core.ThreadStarting {
		c.hosted()
	}
	if e.Type != "" {
		c.apply(e.Type, &e.Signal)
	}
	return nil
}

// refuse notes that the host did not take a message. It is given again after a while, a few times, unless the host can never
// take it. It returns false when ctx ended.
func (t *thread) refuse(ctx context.Context, key string, why core.InputRefusal) bool {
	return t.must(ctx, func(c *change) error {
		switch r := c.rec; {
		case r.Ending != nil || !handedOver(r, key):
			return errUnchanged
		case why.Code == runtimecode.InvalidArgument || why.Code == string(core.CodeValidation) || r.Work.Refusals+1 >= maxTries:
			return c.handed(ctx, "the host did not take it: "+clip.Text(why.Reason, maxSummary))
		}
		c.repeatLater(againRefused, c.rec.Work.Resume, c.rec.Work.Refusals)
		c.setWork(func(w *core.ThreadWork) { w.Refusals++ })
		return nil
	})
}

// handed notes that the host gave its agent the message that was handed over, or refused it for good.
func (c *change) handed(ctx context.Context, refused string) error {
	w := c.rec.Work
	var in *core.QueuedInput
	if w.Number > 0 {
		page, err := c.t.s.opts.Store.QueuedInputs(ctx, c.t.id, w.Number-1, 1)
		if err != nil {
			return err
		}
		if len(page) == 0 || page[0].Number != w.Number {
			return nil // a damaged queue
		}
		in = page[0]
	}
	_ = c.sent(in, w.Attempt, refused) // it may be counted already
	return nil
}

// hosted notes that the host runs the agent of the thread, for the first time or again.
func (c *change) hosted() {
	r := c.rec
	again := r.StatusReason == core.ThreadReasonRestarting
	if again {
		r.Restarts++
		r.StatusReason = ""
		c.note(core.DecisionFailureRecovery, "The agent of thread "+r.Name+" was lost and went on with its session.",
			map[string]any{"restart": r.Restarts, "agentId": r.AgentID})
		c.after = append(c.after, c.t.s.observer.ThreadRestarted)
	}
	if r.StartedAt == nil {
		at := c.now
		r.StartedAt = &at
	} else if !again {
		return
	}
	c.event(core.EventThreadStarted, startedData{AgentID: r.AgentID, Runtime: r.Runtime, AgentType: r.AgentType, Restart: r.Restarts})
}

// endRemote ends the thread at its host. It returns false when ctx ended.
func (t *thread) endRemote(ctx context.Context) bool {
	r := t.record()
	hosts := t.s.opts.Hosts
	if !r.Begun || hosts == nil {
		return true
	}
	defer hosts.ForgetThread(r.AgentID, t.id)
	due, stop := t.s.after(hostStopTime)
	defer stop()
	force := r.Ending.Force
	if !hosts.StopThread(r.AgentID, t.id, r.Ending.Reason, force) {
		return ctx.Err() == nil
	}
	for {
		t.mu.Lock()
		changed := t.changed
		events, back := t.remote.events, t.remote.back
		gone := t.remote.gone || back && !t.remote.holds
		t.remote.events, t.remote.back = nil, false
		t.mu.Unlock()
		for _, e := range events {
			settle(e)
			gone = gone || e.Type == core.EventManagedStopped
		}
		if gone {
			return true
		}
		if now := t.record().Ending.Force; back || now && !force {
			force = now
			if !hosts.StopThread(r.AgentID, t.id, r.Ending.Reason, force) {
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-due: // a host that comes back later gets it again, see HostBack
			return true
		case <-changed:
		}
	}
}
