package wire

import "time"

// TerminalTicketSpec asks for a ticket.
type TerminalTicketSpec struct {
	ReadOnly bool `json:"readOnly,omitempty" doc:"What is attached with it cannot type, whatever the caller may."`
}

// TicketProtocol is what goes before a ticket in Sec-WebSocket-Protocol, where browsers can put it.
const TicketProtocol = "ticket."

// TerminalTicket lets its bearer attach to the terminal of one agent, once.
type TerminalTicket struct {
	Ticket    string    `json:"ticket" doc:"Goes into Sec-WebSocket-Protocol as ticket.TICKET, beside wardroom.terminal.v1."`
	AgentID   string    `json:"agentId"`
	ReadOnly  bool      `json:"readOnly" doc:"Nothing can be typed with it: that was asked for, or the caller may not type."`
	ExpiresAt time.Time `json:"expiresAt"`
}
