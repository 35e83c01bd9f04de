package agent

import (
	"context"
	"maps"
	"math"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// inlineHold is how long an inline handler may take before its answer is written out at once rather than
// with those of the tasks that arrived together with it.
const inlineHold = time.Millisecond

// pump writes out what the outbox holds, sends heartbeats, and ends the session when the agent stops or the
// server is silent. It returns when the connection is closed.
func (s *session) pump(ctx context.Context) {
	interval := defaultHeartbeat
	if ms := s.registered.Config.HeartbeatInterval; ms > 0 {
		interval = millis(ms)
	}
	beat := time.NewTicker(interval)
	defer beat.Stop()
	silent := 0
	for {
		select {
		case <-s.dead:
			return
		case <-s.out.wake:
		case d := <-s.interval:
			beat.Reset(d)
		case <-beat.C:
			silent++
			if s.heard.Swap(false) {
				silent = 0
			}
			if silent >= silentHeartbeats {
				s.agent.opts.Logger.Warn("agent hears nothing from the server", "agent", s.registered.AgentID)
				_ = s.ws.Close()
				return
			}
			s.heartbeat()
		case <-ctx.Done():
			s.leave(beat.C)
			return
		case <-s.agent.leaving.Done():
			s.leave(beat.C)
			return
		}
		if err := s.flush(); err != nil {
			_ = s.ws.Close() // the reader ends with it
			return
		}
	}
}

// heartbeat reports how the agent is.
func (s *session) heartbeat() {
	a := s.agent
	stats := a.Stats()
	a.mu.Lock()
	h := protocol.Heartbeat{Status: a.offer.status, ActiveTasks: stats.Running + stats.Queued}
	if a.ledger.stopping() {
		h.Status = protocol.StatusDraining
	}
	busy := stats.Running >= a.offer.maxTasks
	a.mu.Unlock()
	switch {
	case h.Status != "":
	case busy:
		h.Status = protocol.StatusBusy
	default:
		h.Status = protocol.StatusHealthy
	}
	if a.opts.HeartbeatMetrics != nil {
		h.Metrics = finite(a.opts.HeartbeatMetrics())
	}
	pushFrame(s.out, protocol.TypeHeartbeat, "", h)
}

// finite returns the figures that JSON has numbers for: one that it has none for would cost the heartbeat.
func finite(figures map[string]float64) map[string]float64 {
	kept := maps.Clone(figures)
	maps.DeleteFunc(kept, func(_ string, f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
	return kept
}

// leave ends the session gracefully: cancelled handlers get some time to come back, then the server is notified,
// so that it gives their tasks to others at once, and the connection is closed in order. Meanwhile beats go on, or the server
// would take the agent for lost before it has what the handlers bring.
func (s *session) leave(beat <-chan time.Time) {
	a := s.agent
	a.halt()
	grace := time.After(a.opts.ShutdownGrace)
	idle, stopped := a.ledger.idle(), a.threads.stopped()
	for idle != nil || stopped != nil {
		select {
		case <-idle:
			idle = nil
		case <-stopped:
			stopped = nil
		case <-beat:
			s.heartbeat()
			if err := s.flush(); err != nil {
				_ = s.ws.Close()
				return
			}
		case <-grace:
			idle, stopped = nil, nil
		case <-s.dead:
			return
		}
	}
	a.threads.flush(s.out)
	reason := "stopped"
	if a.draining.Load() {
		reason = "drained"
	}
	if a.threads.stays() {
		reason = "the agent is started anew" // no good-bye: the server holds its threads for a resume
	} else {
		pushFrame(s.out, protocol.TypeDisconnect, "", protocol.Disconnect{Reason: reason})
	}
	if s.flush() == nil {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, reason)
		_ = s.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(closeTimeout))
		// Closing with input unread would reset the connection and could take the frames above with it.
		select {
		case <-s.dead:
		case <-time.After(closeTimeout):
		}
	}
	_ = s.ws.Close()
}

// flushAnswers writes out what inline handlers left behind, on the reading goroutine.
func (s *session) flushAnswers() {
	if s.out.size() == 0 {
		return
	}
	if err := s.flush(); err != nil {
		_ = s.ws.Close()
	}
}

// flush writes all frames of the outbox to the network, in as few system calls as can be.
func (s *session) flush() error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	buf, ends := s.out.take()
	if len(ends) == 0 {
		return nil
	}
	defer s.out.done(buf, ends)
	s.net.cork()
	begin := 0
	var err error
	for _, end := range ends {
		if err = s.ws.WriteMessage(websocket.TextMessage, buf[begin:end]); err != nil {
			break
		}
		begin = end
	}
	if e := s.net.uncork(); err == nil {
		err = e
	}
	return err
}
