package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

var _ core.ThreadHosts = (*Service)(nil)

// maxSpawnBytes is the largest payload of a frame to a host; the envelope comes on top of it.
const maxSpawnBytes = protocol.MaxServerFrame - 4096

// Reasons of threads that end without a word of the agent that they ran.
const (
	reasonRefused = "refused" // the host did not take the thread
	reasonLost    = "lost"    // the host does not know it
	reasonStopped = "stopped" // it was stopped before its host heard of it
)

// SetThreadSink sets who receives the events of hosted threads. Without one, agents cannot host any. Call it before Open.
func (s *Service) SetThreadSink(sink core.ThreadHostSink) { s.threads = sink }

// Hosts implements core.ThreadHosts. Agents that do not answer, or drain, are left out.
func (s *Service) Hosts() []core.RemoteHost {
	var hosts []core.RemoteHost
	for _, a := range s.all() {
		a.mu.Lock()
		if offer := a.threads.offer; offer != nil && a.healthy() && !a.draining {
			hosts = append(hosts, core.RemoteHost{
				AgentID: a.id, Name: a.name, Types: offer.Types, MaxThreads: offer.Max, Threads: a.threads.active(),
			})
		}
		a.mu.Unlock()
	}
	slices.SortStableFunc(hosts, func(a, b core.RemoteHost) int {
		return cmp.Compare(b.MaxThreads-b.Threads, a.MaxThreads-a.Threads)
	})
	return hosts
}

// HostAway implements core.ThreadHosts.
func (s *Service) HostAway(agentType string) bool {
	for _, a := range s.all() {
		a.mu.Lock()
		offer := a.threads.offer
		away := a.presence == lost && a.restored && offer == nil
		if offer != nil && slices.Contains(offer.Types, agentType) {
			away = a.presence != gone && (!a.healthy() || a.draining)
		}
		a.mu.Unlock()
		if away {
			return true
		}
	}
	return false
}

// SpawnThread implements core.ThreadHosts.
func (s *Service) SpawnThread(agentID string, t core.RemoteThread) bool {
	return s.withHost(agentID, func(a *agent) {
		h := a.threads.take(t.ThreadID)
		if h.over {
			a.threads.finished(h.id, h.last)
			a.threads.remove(h)
			h = a.threads.take(t.ThreadID)
		}
		payload := encodeSpawn(&t, max(t.After, a.threads.ended[t.ThreadID]))
		if a.presence == live && a.threads.offer == nil {
			s.endLocked(a, h, reasonRefused, "the agent hosts no threads", s.postEvent)
			return
		}
		if len(payload) > maxSpawnBytes {
			s.endLocked(a, h, reasonRefused, "the thread with its context files is larger than a host takes", s.postEvent)
			return
		}
		h.spawn = &order{kind: protocol.TypeThreadSpawn, id: t.ThreadID, payload: payload}
		s.order(a, h.spawn)
	})
}

// InputThread implements core.ThreadHosts. What is typed is refused when too much waits.
func (s *Service) InputThread(agentID string, in core.RemoteInput) bool {
	if in.InputID == "" { // the host needs one to confirm it
		in.InputID = s.ids.New(core.PrefixInput)
	}
	payload := encodeInput(&in)
	typed := in.Raw != "" || len(in.Keys) > 0
	refused := false
	there := s.withHost(agentID, func(a *agent) {
		h := a.threads.take(in.ThreadID)
		known := slices.ContainsFunc(h.orders, func(o *order) bool { return o.id == in.InputID })
		if refused = !h.over && !known && typed && a.threads.full(len(payload)); h.over || known || refused {
			return
		}
		o := &order{kind: protocol.TypeThreadInput, id: in.InputID, payload: payload}
		a.threads.add(h, o)
		s.order(a, o)
	})
	if refused {
		s.threads.RemoteInputRefused(agentID, in.ThreadID, in.InputID, core.InputRefusal{
			Code: string(core.CodeRateLimited), Reason: "too much waits for the host",
		})
	}
	return there
}

// StopThread implements core.ThreadHosts.
func (s *Service) StopThread(agentID, threadID, reason string, force bool) bool {
	payload := encodePayload(protocol.ThreadStop{ThreadID: threadID, Reason: reason, Force: force})
	return s.withHost(agentID, func(a *agent) {
		h := a.threads.take(threadID)
		if h.over {
			return
		}
		if h.spawn != nil && h.spawn.on == nil {
			s.endLocked(a, h, reasonStopped, "", s.postEvent)
			return
		}
		a.threads.confirm(h, func(o *order) bool { return o.kind == protocol.TypeThreadStop })
		o := &order{kind: protocol.TypeThreadStop, payload: payload}
		a.threads.add(h, o)
		s.order(a, o)
	})
}

// ForgetThread implements core.ThreadHosts.
func (s *Service) ForgetThread(agentID, threadID string) {
	s.withHost(agentID, func(a *agent) {
		if h := a.threads.hosted[threadID]; h != nil {
			if h.spawn != nil && h.spawn.on == nil {
				a.threads.remove(h)
				return
			}
			h.spawn = nil
			a.threads.confirm(h, func(*order) bool { return true })
		}
	})
}

// withHost runs do with the lock of an agent that is not gone, and returns false when it is.
func (s *Service) withHost(agentID string, do func(a *agent)) bool {
	a := s.find(agentID)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	do(a)
	return true
}

// order sends an order on the present session, if there is one. Orders do not count against the limit of the queue:
// the threads bound them, and a large one would only make the agent resume. a.mu is held.
func (s *Service) order(a *agent, o *order) {
	if a.session != nil && a.session.out.putBeyond(appendOrder(o, s.clock.Now())) {
		o.on = a.session
		s.counters.framesSent.Add(1)
	}
}

// postEvent has an event handed to the threads, in its turn.
func (s *Service) postEvent(a *agent, e core.RemoteThreadEvent) {
	s.hostNotices.post(notice{kind: hostSaid, agent: a, event: &e})
}

// endLocked ends a thread that its host will tell nothing of, and hands its last event to tell. a.mu is held.
func (s *Service) endLocked(a *agent, h *hosted, reason, text string, tell func(*agent, core.RemoteThreadEvent)) {
	a.threads.end(h)
	h.last++
	now, status := s.clock.Now(), core.ManagedError
	if reason == reasonStopped {
		status = core.ManagedStopped
	}
	if text != "" {
		reason += ": " + text
	}
	tell(a, core.RemoteThreadEvent{
		AgentID: a.id, ThreadID: h.id, Seq: h.last, Type: core.EventManagedStopped, Time: now,
		Signal: core.AgentSignal{
			AgentID: h.id, Status: status, Source: "host", Reason: reason, OccurredAt: now,
		},
		Settled: func() { s.departed(a, h) },
	})
}

// departed forgets a thread whose end is durable.
func (s *Service) departed(a *agent, h *hosted) {
	a.mu.Lock()
	if a.threads.hosted[h.id] == h {
		a.threads.finished(h.id, h.last)
	}
	a.threads.remove(h)
	a.mu.Unlock()
	s.hostNotices.post(notice{kind: hostsChanged})
}

// offered takes over what a registration says of threads, sends again what the host did not confirm, and tells the
// threads. a.mu is held; the session is the agent's present one.
func (s *Service) offered(a *agent, reg *registration) {
	if s.threads == nil {
		return
	}
	a.threads.offer = reg.threads
	var listed []string
	if reg.resume != nil && reg.threads != nil {
		listed = reg.resume.Threads
	}
	hosted := a.hosts()
	if reg.threads == nil { // it did once
		for _, id := range a.threads.ids() {
			s.endLocked(a, a.threads.hosted[id], reasonLost, "the agent hosts no threads any more", s.postEvent)
		}
	}
	for _, o := range a.threads.resumed(listed) {
		s.order(a, o)
	}
	if hosted || a.hosts() {
		s.hostNotices.post(notice{kind: hostBack, agent: a})
		s.hostNotices.post(notice{kind: hostsChanged})
	}
}

func encodeSpawn(t *core.RemoteThread, after uint64) []byte {
	p := protocol.ThreadSpawn{
		ThreadID: t.ThreadID, ExecutionID: t.ExecutionID, Name: t.Name, AgentType: t.AgentType, Role: t.Role,
		Objective: t.Objective, ApprovalPreset: t.Approval, Env: t.Env, SessionID: t.SessionID, After: after,
	}
	if w := t.Workspace; w != nil {
		p.Workspace = &protocol.ThreadWorkspace{
			Repo: w.Repo, Branch: w.Branch, WorkBranch: w.WorkBranch, Depth: w.Depth, Filter: w.Filter, Submodules: w.Submodules,
		}
	}
	for _, f := range t.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, protocol.ThreadFile{Path: f.Path, Content: f.Content})
	}
	return encodePayload(p)
}

func encodeInput(in *core.RemoteInput) []byte {
	p := protocol.ThreadInput{ThreadID: in.ThreadID, InputID: in.InputID, Message: in.Message, Raw: in.Raw, Keys: in.Keys}
	if in.Message == "" && in.Raw == "" && len(in.Keys) == 0 {
		p.Answer = &protocol.ThreadAnswer{PromptID: in.PromptID, Choice: in.Choice, Text: in.Text}
	}
	return encodePayload(p)
}

// encodePayload encodes one of the protocol's structs of plain fields, which always encode. Nothing is escaped for
// the sake of HTML: files would grow.
func encodePayload(payload any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(payload); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// roomChanged tells the threads that a host may take threads now, or does not any more. a.mu is held.
func (s *Service) roomChanged(a *agent) {
	if a.threads.offer != nil {
		s.hostNotices.post(notice{kind: hostsChanged})
	}
}
