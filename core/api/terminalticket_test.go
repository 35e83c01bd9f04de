package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

const terminalProtocol = "wardroom.terminal.v1"

// attached is what came of an attempt at a terminal.
type attached struct {
	status   int // 101 if there is one
	who      string
	readOnly bool
}

// ticketRig is a server whose callers send their name in Authorization (a key) or in the cookie "session", with their terminals.
type ticketRig struct {
	*rig
	revoked map[string]bool
	audit   *fakeAudit
	was     chan attached
}

func newTicketRig(t *testing.T, change ...func(*api.Options)) *ticketRig {
	t.Helper()
	r := &ticketRig{revoked: map[string]bool{}, audit: &fakeAudit{}, was: make(chan attached, 1)}
	r.rig = newRig(t, append(change, func(o *api.Options) {
		o.Authenticate = func(req *http.Request) (core.Principal, error) {
			if key := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "); key != "" {
				return core.Principal{Kind: core.PrincipalAPIKey, ID: key, KeyID: key}, nil
			}
			if cookie, err := req.Cookie("session"); err == nil {
				user, _, _ := strings.Cut(cookie.Value, "-")
				return core.Principal{Kind: core.PrincipalUser, ID: user, SessionID: cookie.Value}, nil
			}
			return core.Principal{}, core.Errorf(core.CodeUnauthorized, "a credential is required")
		}
		o.Refresh = func(_ context.Context, p core.Principal) (core.Principal, error) {
			if r.revoked[p.KeyID] {
				return core.Principal{}, core.Errorf(core.CodeUnauthorized, "revoked")
			}
			return p, nil
		}
		o.Audit = r.audit
		o.Config.CORSOrigins = []string{"https://page.example"}
	})...)
	upgrader := websocket.Upgrader{Subprotocols: []string{terminalProtocol}}
	r.managed.terminal = func(w http.ResponseWriter, req *http.Request, _ string, readOnly bool) error {
		conn, err := upgrader.Upgrade(w, req, nil)
		if err != nil {
			t.Error(err)
			return nil
		}
		r.was <- attached{http.StatusSwitchingProtocols, core.PrincipalFrom(req.Context()).ID, readOnly}
		return conn.Close()
	}
	return r
}

// ask asks for a ticket as somebody.
func (r *ticketRig) ask(who http.Header, body string) reply {
	r.tb.Helper()
	req := r.request("POST", magentPath+"/terminal/tickets", body)
	maps.Copy(req.Header, who)
	return r.send(req)
}

// ticket returns one of somebody.
func (r *ticketRig) ticket(who http.Header, body string) string {
	r.tb.Helper()
	p := r.ask(who, body)
	p.wants(r.tb, http.StatusCreated, "")
	text, _ := p.at("ticket").(string)
	return text
}

// attach tries a terminal as somebody.
func (r *ticketRig) attach(path string, who http.Header, ticket string) attached {
	r.tb.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{terminalProtocol}}
	if ticket != "" {
		dialer.Subprotocols = append(dialer.Subprotocols, wire.TicketProtocol+ticket)
	}
	conn, response, err := dialer.Dial("ws"+strings.TrimPrefix(r.http.URL, "http")+path+"/terminal", who)
	switch {
	case err != nil && response != nil:
		return attached{status: response.StatusCode}
	case err != nil:
		r.tb.Fatal(err)
	}
	defer conn.Close()
	if conn.Subprotocol() != terminalProtocol {
		r.tb.Errorf("the server chose %q", conn.Subprotocol())
	}
	return <-r.was
}

func bearerOf(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// pageOf returns the headers that a browser sends for a page whose user is signed in to a session.
func pageOf(session, origin string) http.Header {
	return http.Header{"Cookie": {"session=" + session}, "Origin": {origin}}
}

// A page attaches by a ticket beside its session, whoever has a key by that alone.
func TestTerminalTicket(t *testing.T) {
	r := newTicketRig(t)
	own := r.http.URL
	page := pageOf("ann-1", own)
	elsewhere := http.Header{"Origin": {"https://page.example"}}
	yes := func(who string) attached { return attached{http.StatusSwitchingProtocols, who, false} }
	look := attached{http.StatusSwitchingProtocols, "ann", true}
	for name, tt := range map[string]struct {
		got, want attached
	}{
		"Key":              {r.attach(magentPath, bearerOf("bob"), ""), yes("bob")},
		"KeyWithTicket":    {r.attach(magentPath, bearerOf("bob"), r.ticket(bearerOf("bob"), "")), yes("bob")},
		"OtherKey":         {r.attach(magentPath, bearerOf("eve"), r.ticket(bearerOf("bob"), "")), attached{status: 401}},
		"Nothing":          {r.attach(magentPath, nil, ""), attached{status: 401}},
		"Page":             {r.attach(magentPath, page, r.ticket(page, "")), yes("ann")},
		"PageWithout":      {r.attach(magentPath, page, ""), attached{status: 403}},
		"PageWithWrong":    {r.attach(magentPath, page, "AAAA"), attached{status: 401}},
		"ReadOnly":         {r.attach(magentPath, page, r.ticket(page, `{"readOnly":true}`)), look},
		"OtherSession":     {r.attach(magentPath, pageOf("ann-2", own), r.ticket(page, "")), attached{status: 401}},
		"OtherPerson":      {r.attach(magentPath, pageOf("eve-1", own), r.ticket(page, "")), attached{status: 401}},
		"WithoutCookie":    {r.attach(magentPath, nil, r.ticket(page, "")), attached{status: 401}},
		"OtherAgent":       {r.attach(magentPath+"x", page, r.ticket(page, "")), attached{status: 401}},
		"ForeignPage":      {r.attach(magentPath, pageOf("ann-1", "https://evil.example"), r.ticket(page, "")), attached{status: 403}},
		"ListedWithout":    {r.attach(magentPath, pageOf("ann-1", "https://page.example"), ""), attached{status: 403}},
		"KeyForListedPage": {r.attach(magentPath, elsewhere, r.ticket(bearerOf("bob"), "")), yes("bob")},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, tt.got, tt.want)
		}
	}
	twice := r.ticket(page, "")
	if first, second := r.attach(magentPath, page, twice), r.attach(magentPath, page, twice); first.status != 101 || second.status != 401 {
		t.Errorf("used twice: %+v, %+v", first, second)
	}
	tried := r.ticket(page, "")
	if first, second := r.attach(magentPath, pageOf("eve-1", own), tried), r.attach(magentPath, page, tried); first.status != 401 || second.status != 401 {
		t.Errorf("after somebody else tried it: %+v, %+v", first, second)
	}
	of := r.ticket(bearerOf("bob"), "")
	r.revoked["bob"] = true
	if got := r.attach(magentPath, nil, of); got.status != 401 {
		t.Errorf("after its key was revoked: %+v", got)
	}
	if strings.Contains(r.log.String(), of) || strings.Contains(r.log.String(), twice) {
		t.Error("the log has a ticket")
	}
}

// A ticket is over after 30 seconds.
// A client may offer its subprotocols on several lines.
func TestTerminalTicketOnALineOfItsOwn(t *testing.T) {
	r := newTicketRig(t)
	header := http.Header{"Sec-Websocket-Protocol": {terminalProtocol, wire.TicketProtocol + r.ticket(bearerOf("ann"), "")}}
	conn, response, err := new(websocket.Dialer).Dial("ws"+strings.TrimPrefix(r.http.URL, "http")+magentPath+"/terminal", header)
	if err != nil {
		t.Fatal(err, response)
	}
	defer conn.Close()
	if was := <-r.was; was.who != "ann" || conn.Subprotocol() != terminalProtocol {
		t.Errorf("%+v by %q", was, conn.Subprotocol())
	}
}

func TestTerminalTicketExpires(t *testing.T) {
	r := newTicketRig(t)
	var made wire.TerminalTicket
	if err := json.Unmarshal([]byte(r.ask(bearerOf("bob"), "").text), &made); err != nil {
		t.Fatal(err)
	}
	if made.AgentID != magentID || made.ReadOnly || !made.ExpiresAt.Equal(r.clock.Now().Add(30*time.Second)) {
		t.Errorf("%+v", made)
	}
	for name, step := range map[string]time.Duration{"Last": 30*time.Second - 1, "Over": 30 * time.Second} {
		ticket, want := r.ticket(bearerOf("bob"), ""), http.StatusUnauthorized
		if name == "Last" {
			want = http.StatusSwitchingProtocols
		}
		r.clock.Advance(step)
		if got := r.attach(magentPath, nil, ticket); got.status != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTerminalTicketRefusals(t *testing.T) {
	r := newTicketRig(t)
	r.ask(bearerOf("bob"), `{"readonly":true}`).wants(t, 400, core.CodeValidation)
	r.ask(nil, "").wants(t, 401, core.CodeUnauthorized)
	r.managed.find = func(id string) (*core.ManagedAgent, error) { return nil, core.NotFound("agent", id) }
	r.ask(bearerOf("bob"), "").wants(t, 404, core.CodeNotFound)
}

// A caller who asks for many tickets loses their own oldest one; those of other callers stay valid.
func TestManyTerminalTickets(t *testing.T) {
	r := newTicketRig(t)
	other, first := r.ticket(bearerOf("ann"), ""), r.ticket(bearerOf("bob"), "")
	second := ""
	for i := range 100 {
		r.clock.Advance(time.Millisecond)
		if made := r.ticket(bearerOf("bob"), ""); i == 0 {
			second = made
		}
	}
	for i, tt := range []struct {
		ticket string
		want   int
	}{{first, 401}, {second, 101}, {other, 101}} {
		if got := r.attach(magentPath, nil, tt.ticket); got.status != tt.want {
			t.Errorf("ticket %d: %+v, want %d", i, got, tt.want)
		}
	}
}

// A refused terminal is recorded as that of whoever the credential speaks for, also where what they lack is a ticket.
func TestRefusedTerminalIsRecorded(t *testing.T) {
	r := newTicketRig(t)
	page := pageOf("ann-1", r.http.URL)
	ticket := func(who http.Header) string { return r.ticket(who, "") }
	for _, tt := range []struct {
		name         string
		who          http.Header
		ticket       string
		status       int
		category, by string
	}{
		{"PageWithout", page, "", 403, wire.AuditAuthorization, "ann"},
		{"OtherSession", pageOf("ann-2", r.http.URL), ticket(page), 401, wire.AuditAuthentication, "ann"},
		{"OtherPerson", pageOf("eve-1", r.http.URL), ticket(page), 401, wire.AuditAuthentication, "eve"},
		{"OtherKey", bearerOf("eve"), ticket(bearerOf("bob")), 401, wire.AuditAuthentication, "eve"},
		{"Unknown", nil, "AAAA", 401, wire.AuditAuthentication, core.Anonymous.ID},
	} {
		r.audit.take()
		if got := r.attach(magentPath, tt.who, tt.ticket); got.status != tt.status {
			t.Errorf("%s: %+v", tt.name, got)
		}
		list := r.audit.take()
		if len(list) != 1 || list[0].Outcome != wire.AuditDenied || list[0].Category != tt.category || list[0].Actor.ID != tt.by {
			t.Errorf("%s: %+v, want one of %s", tt.name, list, tt.by)
		}
	}
}

// The ticket of somebody who may not type is read-only, and says so: a page must not have a person type for nothing.
func TestTerminalTicketOfReader(t *testing.T) {
	may := map[string]bool{}
	var broken error
	r := newTicketRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.Action == "agents.input" && broken != nil {
				return broken
			}
			if !may[a.Action] {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
	})
	may["agents.read"] = true
	for _, tt := range []struct {
		name, body string
		input      bool
		readOnly   bool
	}{
		{"Reader", "", false, true},
		{"ReaderWhoAsksToType", `{"readOnly":false}`, false, true},
		{"Writer", "", true, false},
		{"WriterWhoLooks", `{"readOnly":true}`, true, true},
	} {
		may["agents.input"] = tt.input
		p := r.ask(bearerOf("bob"), tt.body)
		p.wants(t, http.StatusCreated, "")
		if p.at("readOnly") != tt.readOnly {
			t.Errorf("%s: %s, want readOnly %v", tt.name, p.text, tt.readOnly)
		}
		if got := r.attach(magentPath, nil, p.at("ticket").(string)); got.status != 101 || got.readOnly != tt.readOnly {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	broken = core.Unavailable("policy", "the policy is not at hand")
	r.ask(bearerOf("bob"), "").wants(t, http.StatusServiceUnavailable, core.CodeInternal)
	r.ask(bearerOf("bob"), `{"readOnly":true}`).wants(t, http.StatusCreated, "")
}
