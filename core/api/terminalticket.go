package api

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds on tickets that were not used yet. Beyond them the oldest is dropped: the caller's own, or that of anyone.
const (
	ticketLife          = 30 * time.Second
	maxTickets          = 10_000
	maxTicketsPerCaller = 100
)

// tickets are the tickets to terminals that are valid. They live in memory: a browser asks for another one after a restart. The
// zero value is ready; it is safe for concurrent use.
type tickets struct {
	mu   sync.Mutex
	made uint64
	open map[[sha256.Size]byte]ticket // by the hash of what was handed out; guarded by mu, as made is
}

// ticket is what one ticket is good for.
type ticket struct {
	order     uint64 // in which they were made
	principal core.Principal
	// bound says that it was made by what a browser sends by itself, a cookie or a certificate: it is of use only beside that.
	bound    bool
	agent    string
	readOnly bool
	expires  time.Time // by the monotonic clock, which nothing steps
}

func (t *tickets) add(one ticket, now time.Time) string {
	text := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[[sha256.Size]byte]ticket{}
	}
	t.made++
	one.order = t.made
	var all, own oldest
	for key, other := range t.open {
		if !now.Before(other.expires) {
			delete(t.open, key)
			continue
		}
		all.look(key, other)
		if other.principal.ID == one.principal.ID && other.principal.Kind == one.principal.Kind {
			own.look(key, other)
		}
	}
	switch {
	case own.count >= maxTicketsPerCaller:
		delete(t.open, own.key)
	case all.count >= maxTickets:
		delete(t.open, all.key)
	}
	t.open[sha256.Sum256([]byte(text))] = one
	return text
}

// oldest finds the first made of some tickets, and counts them.
type oldest struct {
	count int
	order uint64
	key   [sha256.Size]byte
}

func (o *oldest) look(key [sha256.Size]byte, t ticket) {
	if o.count == 0 || t.order < o.order {
		o.order, o.key = t.order, key
	}
	o.count++
}

// take returns what a ticket is good for, and ends it.
func (t *tickets) take(text, agent string, now time.Time) (ticket, bool) {
	key := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.open[key]
	delete(t.open, key)
	return one, ok && one.agent == agent && now.Before(one.expires)
}

// terminalTicketRoute completes the route that makes tickets.
func (s *Server) terminalTicketRoute(r Route) Route {
	r.Method, r.OperationID, r.Secret = http.MethodPost, "createTerminalTicket", true
	r.Summary = "Get a ticket to the terminal of an agent, which is good once and for 30 seconds."
	r.Description = "It goes into Sec-WebSocket-Protocol as ticket.TICKET beside wardroom.terminal.v1, so that no credential has to be in an " +
		"address. A ticket that is made with a bearer credential stands for that credential at this one terminal: a page can be " +
		"given it in place of a key. One that is made by the cookie of a session, or by a certificate, is good beside that alone. " +
		"A caller may have 100; beyond, the oldest ends."
	r.Body = &Body{JSON: new(wire.TerminalTicketSpec), Optional: true}
	r.Responses = []Response{{Status: http.StatusCreated, Body: wire.TerminalTicket{}, Doc: "The ticket."}}
	r.Fails, r.Handle = []int{http.StatusNotFound}, decoded(s.createTerminalTicket)
	return r
}

func (s *Server) createTerminalTicket(c *call, req wire.TerminalTicketSpec) (answer, error) {
	id := c.param("agentId")
	if _, err := s.opts.ManagedAgents.FindManagedAgent(c.ctx, id); err != nil {
		return answer{}, err
	}
	readOnly, err := c.looksOnly(req.ReadOnly)
	if err != nil {
		return answer{}, err
	}
	now := s.opts.Clock.Now()
	one := ticket{principal: c.principal, bound: !c.hasBearer(), agent: id, readOnly: readOnly, expires: now.Add(ticketLife)}
	text := s.tickets.add(one, now)
	return answer{status: http.StatusCreated, body: wire.TerminalTicket{
		Ticket: text, AgentID: id, ReadOnly: readOnly, ExpiresAt: one.expires,
	}}, nil
}

// hasBearer reports whether a request has a credential that no browser sends by itself.
func (c *call) hasBearer() bool { return c.r.Header.Get("Authorization") != "" }

// authenticateTerminal finds out who attaches: by a ticket, or by the credential of the request. What a browser sends by itself
// is not enough, since any page can have it open a socket. Whoever is refused for their ticket is the principal of the call: a
// record of the refusal names them.
func authenticateTerminal(c *call) (core.Principal, error) {
	text := offeredTicket(c.r)
	if text == "" {
		p, err := c.authenticate()
		if err == nil && !c.hasBearer() && p.Kind != core.PrincipalAnonymous && c.r.Header.Get("Origin") != "" {
			c.principal, err = p, core.Errorf(core.CodeForbidden, "a page needs a ticket for a terminal: "+
				"POST /api/managed-agents/{agentId}/terminal/tickets, and offer ticket.TICKET as a subprotocol")
		}
		return p, err
	}
	s := c.s
	agent, _ := c.unescaped(c.route.paramNames[0])
	one, ok := s.tickets.take(text, agent, s.opts.Clock.Now())
	if !ok {
		return core.Principal{}, noTicket()
	}
	c.watching = one.readOnly
	if !one.bound && !c.hasBearer() {
		if s.opts.Refresh == nil {
			return one.principal, nil
		}
		return s.opts.Refresh(c.r.Context(), one.principal)
	}
	p, err := c.authenticate()
	if err == nil && (p.Kind != one.principal.Kind || p.ID != one.principal.ID || p.SessionID != one.principal.SessionID) {
		c.principal, err = p, noTicket()
	}
	return p, err
}

// offeredTicket returns the ticket of a request for a WebSocket, or nothing.
func offeredTicket(r *http.Request) string {
	for _, protocol := range websocket.Subprotocols(r) {
		if text, ok := strings.CutPrefix(protocol, wire.TicketProtocol); ok {
			return text
		}
	}
	return ""
}

func noTicket() error {
	e := core.Errorf(core.CodeUnauthorized, "the ticket is not valid: each is for one agent and one caller, once, within %s", ticketLife)
	e.Details = map[string]any{"reason": "invalid"}
	return e
}
