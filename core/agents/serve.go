package agents

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// writeBuffers serve gorilla's own control frames only; see outbox.
var writeBuffers sync.Pool

// ServeWS upgrades an authenticated request to a session. It returns as soon as the connection is taken
// over, so that the HTTP server's goroutine and buffers are freed. Refusals are JSON errors.
func (s *Service) ServeWS(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(websocket.Subprotocols(r), protocol.Subprotocol) {
		w.Header().Set("Sec-WebSocket-Protocol", protocol.Subprotocol)
		refuse(w, http.StatusBadRequest, invalid("Sec-WebSocket-Protocol", "must offer "+protocol.Subprotocol))
		return
	}
	if !sameOrigin(r) {
		refuse(w, http.StatusForbidden, &core.Error{
			Code:    core.CodeForbidden,
			Message: "connections from web pages of other origins are refused",
			Details: map[string]any{"action": "agents:connect"},
		})
		return
	}
	p := core.PrincipalFrom(r.Context())
	if err := s.admit(p); err != nil {
		status, wait := http.StatusServiceUnavailable, "1"
		if err.Code == core.CodeRateLimited {
			status, wait = http.StatusTooManyRequests, "5"
		}
		w.Header().Set("Retry-After", wait)
		refuse(w, status, err)
		return
	}
	upgrader := websocket.Upgrader{
		Subprotocols:    []string{protocol.Subprotocol},
		WriteBufferSize: 256,
		WriteBufferPool: &writeBuffers,
		CheckOrigin:     func(*http.Request) bool { return true }, // checked above
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			if status >= http.StatusInternalServerError {
				s.log.Error("cannot take over an agent's connection", "error", reason)
				refuse(w, status, core.Errorf(core.CodeInternal, "internal error"))
				return
			}
			refuse(w, status, invalid("Upgrade", "must be websocket, in a GET with Connection: Upgrade, Sec-WebSocket-Version: 13 and "+
				"a Sec-WebSocket-Key of 16 bytes"))
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.dismiss(p)
		return
	}
	s.start(conn, p)
}

// admit counts a session in, or says why none can be taken. It counts before the upgrade, so that many
// upgrades at once stay within the limit.
func (s *Service) admit(p core.Principal) *core.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.closing {
		return core.Unavailable("stopping", "the server is stopping")
	}
	if s.admitted >= s.config.Load().MaxSessions {
		return core.Unavailable("sessions", "too many agents are connected")
	}
	if most := s.config.Load().MaxPerPrincipal; most > 0 && !core.IsReserved(p.ID) && s.admittedOf[makerOf(p)] >= most {
		e := core.RateLimited(int64(most), 0, 5*time.Second, "%d agents are connected with this credential; security.rateLimit.open.agents allows no more", most)
		e.Details["by"] = "client"
		return e
	}
	s.admitted++
	s.admittedOf[makerOf(p)]++
	s.readers.Add(1)
	return nil
}

// dismiss undoes admit.
func (s *Service) dismiss(p core.Principal) {
	s.mu.Lock()
	s.admitted--
	if s.admittedOf[makerOf(p)]--; s.admittedOf[makerOf(p)] <= 0 {
		delete(s.admittedOf, makerOf(p))
	}
	s.mu.Unlock()
	s.readers.Done()
}

// start runs the session on a goroutine of its own, which Close joins.
func (s *Service) start(conn *websocket.Conn, p core.Principal) {
	session := &session{svc: s, conn: conn, principal: p, opened: s.clock.Now(), dead: make(chan struct{})}
	session.out.conn, session.out.broken = conn.NetConn(), session.kill
	session.out.clock, session.out.watch = s.clock, s.watch
	conn.SetPingHandler(session.pinged)
	conn.SetCloseHandler(func(int, string) error { return nil }) // run answers it
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	closing := s.closing
	s.mu.Unlock()
	if closing { // Close did not see the session
		session.shut(closeRestart, "the server stops; come back and resume", false)
	}
	s.counters.sessions.Add(1)
	go func() {
		defer s.dismiss(p)
		session.run()
		s.counters.sessions.Add(-1)
		s.mu.Lock()
		delete(s.sessions, session)
		s.mu.Unlock()
	}()
}

// sameOrigin refuses browsers on pages of other hosts. Agents send no Origin.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Values("Origin")
	if len(origin) == 0 {
		return true
	}
	u, err := url.Parse(origin[0])
	return err == nil && len(origin) == 1 && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// invalid is the error of a request whose header is wrong.
func invalid(header, reason string) error {
	return core.InvalidAll(header, []core.Problem{{Path: header, Reason: reason}})
}

// refuse answers with the product's error body; the HTTP layer in front adds nothing to a refused upgrade.
func refuse(w http.ResponseWriter, status int, err error) {
	e := core.AsError(err)
	body := struct {
		Error struct {
			Code    core.Code      `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
		RequestID string `json:"requestId,omitempty"`
	}{RequestID: w.Header().Get("X-Request-Id")}
	body.Error.Code, body.Error.Message, body.Error.Details = e.Code, e.Message, e.Details
	if body.Error.Details == nil {
		body.Error.Details = map[string]any{}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone then
}
