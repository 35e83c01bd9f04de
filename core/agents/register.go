package agents

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// register handles the first frame of a session.
func (s *session) register(f *frame, now time.Time) {
	var payload protocol.Register
	if err := f.into(&payload); err != nil {
		s.reject(f.id, err.Error())
		return
	}
	var free struct { // the metadata again, its numbers as they were written
		Metadata core.Metadata `json:"metadata"`
	}
	if err := f.into(&free); err != nil {
		s.reject(f.id, err.Error())
		return
	}
	payload.Metadata = free.Metadata
	reg, err := checkRegister(&payload)
	if err != nil {
		s.reject(f.id, allProblems(core.AsError(err)))
		return
	}
	if region := s.svc.config.Load().Region; region != "" && reg.region != "" && reg.region != region {
		s.reject(f.id, core.Invalid("region", "%s", elsewhereReason(reg.region, region)).Message)
		return
	}
	if err := s.mayOffer(core.AgentOffer{Name: reg.name, Capabilities: reg.capabilities, Threads: reg.threads != nil}); err != nil {
		s.refuse(f.id, reg.name, err)
		return
	}
	if reg.resume != nil {
		// Reports on tasks of before the break are not a flood.
		s.rate.credit(len(reg.resume.Tasks))
		if s.svc.resume(s, f.id, &reg, now) {
			return
		}
	}
	s.svc.join(s, f.id, &reg, now)
}

// mayOffer returns why the credential of the session does not let an agent offer something.
func (s *session) mayOffer(offer core.AgentOffer) error {
	if s.svc.gate == nil {
		return nil
	}
	return s.svc.gate.CheckAgent(s.svc.ctx, s.principal, offer)
}

// refuse ends a session whose registration was not taken up: for good when the credential does not allow it.
func (s *session) refuse(frameID []byte, name string, err error) {
	e := core.AsError(err)
	if e.Code == core.CodeUnauthorized || e.Code == core.CodeForbidden {
		s.svc.log.Info("agent refused", "name", name, "principal", s.principal.ID, "code", string(e.Code), "reason", e.Message)
		s.sendError(frameID, e.Code, e.Message, true)
		s.shut(closeRefused, e.Message, false)
		return
	}
	s.svc.log.Warn("cannot register an agent", "name", name, "error", err)
	s.sendError(frameID, core.CodeInternal, "the server cannot store anything at present; try again later", true)
	s.shut(closeTryAgain, "the server cannot store the registration", false)
}

// comesBack returns the agent that is gone and that a registration shows the resume token of, or nil. The token is used up
// by that: restore gives it back, for a registration that came to nothing.
func (s *Service) comesBack(session *session, reg *registration) (old *agent, restore func()) {
	if s.gate == nil || reg.resume == nil {
		return nil, nil
	}
	a, hash := s.find(reg.resume.AgentID), sha256.Sum256([]byte(reg.resume.Token))
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence != gone || a.by != makerOf(session.principal) || subtle.ConstantTimeCompare(hash[:], a.tokenHash[:]) != 1 {
		return nil, nil
	}
	a.tokenHash, a.changed = [sha256.Size]byte{}, true
	return a, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tokenHash = hash
	}
}

// join makes a new agent. It is durable, with its event, before anybody hears of it.
func (s *Service) join(session *session, frameID []byte, reg *registration, now time.Time) {
	token, hash := newToken()
	a := &agent{
		id: s.ids.New(core.PrefixAgent), connectedAt: now, by: makerOf(session.principal), tokenHash: hash, session: session,
		hostNotices: &s.hostNotices, watch: s.watch,
	}
	a.slots.pos = -1
	a.hearFrom(now)
	a.describe(reg)
	record := a.record()
	metadata := a.metadata
	if metadata == nil {
		metadata = map[string]any{} // the field is an object, always
	}
	connected := event(s.ids, core.EventAgentConnected, a.id, a.by.id, now, map[string]any{
		"agentId":      a.id,
		"name":         a.name,
		"capabilities": a.capabilities,
		"region":       a.region,
		"metadata":     metadata,
	})
	former, restore := s.comesBack(session, reg)
	// It can be found before its event is sent, and is held by who finds it until it was greeted.
	a.mu.Lock()
	err := doubt.Update(s.ctx, s.ctx, s.clock, s.store, func(tx core.Tx) error {
		if s.gate != nil {
			if err := s.gate.AdmitAgent(tx, session.principal, former != nil); err != nil {
				return err
			}
		}
		if err := tx.PutAgent(record); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.enter(a) })
		return tx.Append(connected)
	}, pause.For)
	if err != nil {
		a.mu.Unlock()
		if restore != nil {
			restore()
		}
		session.refuse(frameID, reg.name, err)
		return
	}
	a.changed = false
	session.agent.Store(a)
	s.index.place(a, a.profile())
	a.refresh(s.index) // a task that is dispatched now waits for a.mu, so registered is the first frame
	s.greet(a, frameID, token, false, now)
	s.offered(a, reg)
	a.mu.Unlock()
	s.capacity.changed()
	s.log.Info("agent connected", "agent", a.id, "name", reg.name, "capabilities", reg.capabilities, "principal", session.principal.ID)
}

// resume takes up the session of a known agent, for who registered it. It returns false, and changes nothing, when agent
// id, token and principal do not name one that may be resumed; which of them was wrong is not told.
func (s *Service) resume(session *session, frameID []byte, reg *registration, now time.Time) bool {
	a := s.find(reg.resume.AgentID)
	hash := sha256.Sum256([]byte(reg.resume.Token))
	if a == nil {
		return false
	}
	by := makerOf(session.principal)
	a.mu.Lock()
	if a.presence == gone || a.by != (maker{}) && a.by != by || subtle.ConstantTimeCompare(hash[:], a.tokenHash[:]) != 1 {
		a.mu.Unlock()
		return false
	}
	older := a.session
	a.presence, a.session, a.draining, a.by = live, session, false, by
	a.ailing.Store(false)
	a.hearFrom(now)
	a.describe(reg)
	a.listed = make(map[string]struct{}, len(reg.resume.Tasks))
	for _, id := range reg.resume.Tasks {
		a.listed[id] = struct{}{}
	}
	session.agent.Store(a)
	s.index.place(a, a.profile())
	a.refresh(s.index)
	s.greet(a, frameID, reg.resume.Token, true, now)
	s.catchUp(a, reg.resume.Tasks == nil, now)
	s.offered(a, reg)
	a.mu.Unlock()

	if older != nil {
		older.shut(closeResumed, "resumed elsewhere", false)
	}
	s.counters.resumes.Add(1)
	s.capacity.changed()
	s.log.Info("agent resumed", "agent", a.id, "name", reg.name)
	return true
}

// greet sends registered. a.mu is held.
func (s *Service) greet(a *agent, frameID []byte, token string, resumed bool, now time.Time) {
	s.sendLocked(a, appendFrame(nil, protocol.TypeRegistered, string(frameID), now, protocol.Registered{
		AgentID:      a.id,
		ResumeToken:  token,
		Resumed:      resumed,
		Capabilities: a.capabilities,
		Config:       registeredConfig(s.config.Load(), a.taskTimeout),
	}))
}

// catchUp sends what a resumed agent missed: cancels of tasks it still works on (of all, when it sent no list), then
// tasks it may not have, messages that it did not answer, and replies that were never sent. One that was sent
// and got lost is sent again when the agent asks again. a.mu is held.
func (s *Service) catchUp(a *agent, silent bool, now time.Time) {
	missed := a.missed
	a.missed = nil
	if a.session == nil { // greet found the connection broken
		return
	}
	for _, c := range missed {
		if _, has := a.listed[c.taskID]; has || silent {
			a.session.out.putBeyond(appendCancelled(nil, c, now))
		}
	}
	for _, h := range a.tasks {
		if a.has(h) || h.settled {
			continue
		}
		if h.task.Secrets {
			s.sendSecret(a, h)
			continue
		}
		a.session.out.putBeyond(appendTask(nil, &h.task, now))
	}
	for _, l := range a.resend.list {
		if l.message != nil || !l.sent {
			l.sent = a.session.out.putBeyond(l.append(nil, now))
		}
	}
}

// describe takes over what the agent says about itself. a.mu is held, or a is not shared yet.
func (a *agent) describe(reg *registration) {
	a.name, a.capabilities, a.region = reg.name, reg.capabilities, reg.region
	a.metadata, a.maxTasks, a.taskTimeout = reg.metadata, reg.maxTasks, reg.taskTimeout
	a.changed = true
}

// registeredConfig is what agents get of the configuration.
func registeredConfig(c *Config, taskTimeout time.Duration) protocol.RegisteredConfig {
	taskTimeout = cmp.Or(taskTimeout, c.TaskTimeout)
	return protocol.RegisteredConfig{
		HeartbeatInterval: c.HeartbeatInterval.Milliseconds(),
		TaskTimeout:       taskTimeout.Milliseconds(),
		MaxMessageBytes:   c.MaxMessage,
		MessagesPerSecond: c.MessagesPerSecond,
	}
}

// newToken makes a resume token and the hash that is kept of it.
func newToken() (token string, hash [sha256.Size]byte) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: it ends the process rather
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	return token, sha256.Sum256([]byte(token))
}
