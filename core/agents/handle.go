package agents

import (
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// handle runs one frame. data is valid during the call only.
func (s *session) handle(data []byte) {
	now := s.svc.clock.Now()
	s.svc.counters.framesRead.Add(1)
	a := s.agent.Load()
	if a != nil {
		a.hearFrom(now)
		if a.ailing.Load() {
			s.svc.recovered(a)
		}
	}
	f, err := decodeFrame(data)
	switch {
	case err == nil && a == nil && f.kind == protocol.TypeRegister:
		s.register(&f, now)
		return
	case err == nil && a == nil:
		s.reject(f.id, "the first frame must be register")
		return
	case a != nil && (f.kind == protocol.TypeTaskResult || f.kind == protocol.TypeTaskError):
		s.reported(a, &f, err, now) // decides itself whether the frame counts
		return
	}
	if !s.admit(f.id, now) {
		return
	}
	if err != nil {
		s.reject(f.id, err.Error())
		return
	}
	if err := s.control(a, &f, now); err != nil {
		s.reject(f.id, err.Error())
		return
	}
	s.bad = 0
}

// control runs a frame that is no report. The error's text is meant for the agent.
func (s *session) control(a *agent, f *frame, now time.Time) error {
	switch f.kind {
	case protocol.TypeHeartbeat:
		return s.heartbeat(a, f, now)
	case protocol.TypeTaskProgress:
		return s.progressed(a, f)
	case protocol.TypeStatusUpdate:
		return s.status(a, f)
	case protocol.TypeDisconnect:
		var p protocol.Disconnect
		if err := f.into(&p); err != nil {
			return err
		}
		s.svc.leftByItself(a, s, cleanReason(p.Reason, "the agent disconnected"), now)
		return nil
	case protocol.TypeRegister:
		return fmt.Errorf("this connection is registered already")
	case protocol.TypeMessage:
		return s.said(a, f, now)
	case protocol.TypeMessageReply:
		return s.replied(a, f)
	case protocol.TypeThreadEvent:
		return s.threadEvent(a, f, now)
	case protocol.TypeThreadStatus:
		return s.threadStatus(a, f)
	}
	return fmt.Errorf("unknown frame type %.64q", string(f.kind))
}

// reject answers a bad frame. The session ends when it is not registered, or with too many in a row.
func (s *session) reject(id []byte, reason string) {
	s.svc.counters.badFrames.Add(1)
	s.bad++
	fatal := s.agent.Load() == nil || s.bad >= maxBadFrames
	s.sendError(id, core.CodeValidation, reason, fatal)
	if fatal {
		s.shut(closeRefused, reason, false)
	}
}

// admit counts a frame against the rate limit, and returns false when it is to be dropped.
func (s *session) admit(id []byte, now time.Time) bool {
	c := s.svc.config.Load()
	v := s.rate.take(now, c.MessagesPerSecond, c.FloodTolerance)
	if v == admitted {
		return true
	}
	s.svc.counters.rateLimited.Add(1)
	switch v {
	case droppedTell:
		s.sendError(id, core.CodeRateLimited,
			fmt.Sprintf("more than %d messages a second: frames are dropped", c.MessagesPerSecond), false)
	case flooded:
		s.sendError(id, core.CodeRateLimited, "too many messages for too long", true)
		s.shut(closeFlood, "too many messages for too long", false)
	}
	return false
}

// pinged answers a WebSocket ping, within the rate limit. It runs on the reader.
func (s *session) pinged(payload string) error {
	now := s.svc.clock.Now()
	if a := s.agent.Load(); a != nil {
		a.hearFrom(now)
	}
	if s.admit(nil, now) {
		s.out.pong(payload, s.svc.config.Load().MaxSendBytes)
	}
	return nil
}

func (s *session) heartbeat(a *agent, f *frame, now time.Time) error {
	status, ok := scanStatus(f.payload)
	if !ok {
		var p protocol.Heartbeat
		if err := f.into(&p); err != nil {
			return err
		}
		status = p.Status
	}
	if err := checkStatus(status); err != nil {
		return err
	}
	s.svc.drain(a, s, status)
	id, next := string(f.id), s.svc.config.Load().HeartbeatInterval
	s.answer(func(b []byte) []byte { return appendHeartbeatAck(b, id, now, next) })
	return nil
}

func (s *session) status(a *agent, f *frame) error {
	var p protocol.StatusUpdate
	if err := f.into(&p); err != nil {
		return err
	}
	if err := checkStatus(p.Status); err != nil {
		return err
	}
	var capabilities []string
	if p.Capabilities != nil {
		sorted, reason := checkCapabilities(p.Capabilities)
		if reason != "" {
			return fmt.Errorf("capabilities: %s", reason)
		}
		capabilities = sorted
	}
	if p.MaxTasks != nil {
		if reason := checkMaxTasks(*p.MaxTasks); reason != "" {
			return fmt.Errorf("maxTasks: %s", reason)
		}
	}
	if capabilities != nil {
		a.mu.Lock()
		name := a.name
		a.mu.Unlock()
		if err := s.mayOffer(core.AgentOffer{Name: name, Capabilities: capabilities}); err != nil {
			e := core.AsError(err)
			s.sendError(f.id, e.Code, e.Message, false)
			return nil
		}
	}
	s.svc.redescribe(a, s, capabilities, p.MaxTasks)
	s.svc.drain(a, s, p.Status)
	return nil
}

func checkStatus(status string) error {
	switch status {
	case "", protocol.StatusHealthy, protocol.StatusBusy, protocol.StatusDraining:
		return nil
	}
	return fmt.Errorf("status: must be %s, %s or %s", protocol.StatusHealthy, protocol.StatusBusy, protocol.StatusDraining)
}

// drain takes over the status an agent reports; an empty one changes nothing. Frames of a replaced session
// are out of date.
func (s *Service) drain(a *agent, from *session, status string) {
	if status == "" {
		return
	}
	a.mu.Lock()
	opened := false
	if draining := status == protocol.StatusDraining; a.session == from && a.draining != draining {
		a.draining = draining
		// Those who wait for this agent alone must hear that it takes no more.
		opened = a.refresh(s.index) || draining
		s.roomChanged(a)
	}
	a.mu.Unlock()
	if opened {
		s.capacity.changed()
	}
}

// redescribe takes over what an agent offers now; nil values change nothing.
func (s *Service) redescribe(a *agent, from *session, capabilities []string, maxTasks *int) {
	if capabilities == nil && maxTasks == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session != from {
		return
	}
	if capabilities != nil {
		a.capabilities = capabilities
	}
	if maxTasks != nil {
		a.maxTasks = *maxTasks
	}
	a.changed = true
	s.index.place(a, a.profile())
	s.capacity.changed()
}

// recovered ends an episode of missed heartbeats.
func (s *Service) recovered(a *agent) {
	a.mu.Lock()
	opened := false
	if a.presence == live && a.ailing.CompareAndSwap(true, false) {
		opened = a.refresh(s.index)
		s.roomChanged(a)
	}
	a.mu.Unlock()
	if opened {
		s.capacity.changed()
	}
}
