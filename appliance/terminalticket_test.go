package appliance_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// ticketed attaches to the terminal of an agent by a ticket alone; a refusal is returned by its status.
func (s *secured) ticketed(agent, ticket string) (*websocket.Conn, int) {
	s.t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"wardroom.terminal.v1", wire.TicketProtocol + ticket}}
	conn, resp, err := dialer.DialContext(s.t.Context(), "ws://"+s.Addr()+"/api/managed-agents/"+agent+"/terminal", nil)
	if err != nil && resp == nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err == nil {
		s.t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, resp.StatusCode
}

// Who attaches by the ticket of a key is in the trail with that key, since its owner may have several; the ticket is in neither
// trail nor log. The terminal ends with the key, and so do tickets that were not used yet.
func TestTerminalTicketOfKey(t *testing.T) {
	s := openWithRuntime(t, "  audit: {enabled: true, level: verbose, mode: blocking}\n")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	ann, key := s.key("ann", "read", "agents:manage")
	agent, err := ann.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: runtimetest.Type, Name: "one"})
	s.wants(err, 0)
	ticket := func(readOnly bool) string {
		t.Helper()
		made, err := ann.CreateTerminalTicket(ctx, agent.ID, readOnly)
		s.wants(err, 0)
		return made.Ticket
	}
	used, left := ticket(false), ticket(true)
	conn, status := s.ticketed(agent.ID, used)
	if status != http.StatusSwitchingProtocols {
		t.Fatal(status)
	}
	if err := conn.WriteMessage(websocket.BinaryMessage, []byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"agents.attach", "agents.input"} {
		var list *client.AuditList
		coretest.WaitFor(t, "a record of "+action, func() bool {
			list, err = admin.ListAudit(ctx, client.AuditFilter{Action: action})
			s.wants(err, 0)
			return len(list.Records) == 1
		})
		var details struct{ KeyID string }
		record := list.Records[0]
		if err := json.Unmarshal(record.Details, &details); err != nil || record.Actor.ID != "ann" || details.KeyID != key.ID || record.Resource.ID != agent.ID {
			t.Errorf("%s: %+v of %+v, details %s; want the key %s", action, record.Actor, record.Resource, record.Details, key.ID)
		}
	}

	s.wants(admin.RevokeKey(ctx, key.ID), 0)
	if _, status := s.ticketed(agent.ID, left); status != http.StatusUnauthorized {
		t.Errorf("a ticket of a key that was revoked: %d", status)
	}
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	everything, err := admin.ListAudit(ctx, client.AuditFilter{})
	s.wants(err, 0)
	trail, err := json.Marshal(everything.Records)
	if err != nil || strings.Contains(string(trail), used) || strings.Contains(string(trail), left) {
		t.Errorf("a ticket is in the trail: %v", err)
	}
	if text := s.log.String(); strings.Contains(text, used) || strings.Contains(text, left) {
		t.Error("a ticket is in the log")
	}
}
