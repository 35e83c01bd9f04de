package terminal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Subprotocols.
const (
	Subprotocol      = "wardroom.terminal.v1"
	PlainSubprotocol = "wardroom.terminal.plain" // the protocol without a subprotocol, for clients that must name one
	// AckSubprotocol is offered beside Subprotocol by clients that acknowledge output. It is never chosen.
	AckSubprotocol = "wardroom.terminal.ack"
)

// tokenPrefix marks an entry of Sec-WebSocket-Protocol that is a credential: browsers cannot send headers.
const tokenPrefix = "bearer."

// Token returns the credential that a WebSocket request carries in its list of subprotocols as bearer.TOKEN,
// or nothing. A browser must then offer a real subprotocol as well, which the server can choose.
func Token(r *http.Request) string {
	for _, protocol := range websocket.Subprotocols(r) {
		if token, ok := strings.CutPrefix(protocol, tokenPrefix); ok {
			return token
		}
	}
	return ""
}

// Handler serves the terminals of one runtime, or of one agent. Its caller has checked the request's
// credential. Handler is a value without state.
type Handler struct {
	// Open attaches the viewer. The terminal must end when ctx does.
	Open func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error)
	// Refuse answers a request that is not one for a WebSocket, or that CheckOrigin or ParseQuery refuses.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err *runtime.Error)
	// CheckOrigin reports whether a request may come from the page it comes from. Nil: only from the same origin.
	CheckOrigin func(r *http.Request) bool
	ReadOnly    bool // whatever the viewer asks for
	Limits      Limits
	// Others returns who else is at the terminal, and a channel that is closed when that changes. Nil: viewers do not learn it.
	Others func() (others []Viewer, changed <-chan struct{})
}

// Handle upgrades the request, attaches the viewer and serves it until either side ends or the request's
// context does. The error tells why it ended, for a log; the client has got its answer.
func (h Handler) Handle(w http.ResponseWriter, r *http.Request) error {
	opts, err := ParseQuery(r.URL.Query())
	if err != nil {
		h.Refuse(w, r, http.StatusBadRequest, runtime.AsError(err))
		return err
	}
	opts.ReadOnly = opts.ReadOnly || h.ReadOnly
	conn, err := Upgrade(w, r, h.CheckOrigin, h.Refuse, Subprotocol, PlainSubprotocol)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	term, err := h.Open(ctx, opts)
	if err != nil && ctx.Err() != nil {
		leave(conn, websocket.CloseGoingAway, endedHere)
		return context.Cause(ctx)
	}
	if err != nil {
		Refuse(conn, err)
		return err
	}
	window := 0
	if conn.Subprotocol() == Subprotocol && slices.Contains(websocket.Subprotocols(r), AckSubprotocol) {
		window = ackWindow
	}
	return serve(ctx, conn, term, h.Limits, h.Others, window)
}

// Upgrade turns a request into a WebSocket with the buffers that terminals want, and without compression,
// which costs more than it saves here. refuse answers a request that cannot be upgraded.
func Upgrade(w http.ResponseWriter, r *http.Request, checkOrigin func(*http.Request) bool,
	refuse func(http.ResponseWriter, *http.Request, int, *runtime.Error), protocols ...string,
) (*websocket.Conn, error) {
	upgrader := websocket.Upgrader{
		ReadBufferSize:  4 << 10,
		WriteBufferSize: 4 << 10, // larger messages are written from where they are
		Subprotocols:    protocols,
		CheckOrigin:     checkOrigin,
		Error: func(w http.ResponseWriter, r *http.Request, status int, _ error) { // whose text is a library's
			refuse(w, r, status, refusal(status))
		},
	}
	return upgrader.Upgrade(w, r, nil)
}

// refusal is the error of a request that does not become a WebSocket.
func refusal(status int) *runtime.Error {
	switch {
	case status == http.StatusForbidden:
		return &runtime.Error{Code: runtime.CodeForbidden, Field: "Origin", Message: "web pages of this origin may not connect"}
	case status >= http.StatusInternalServerError:
		return runtime.Errorf(runtime.CodeInternal, "the connection cannot be taken over")
	}
	return &runtime.Error{
		Code: runtime.CodeInvalidArgument, Field: "Upgrade",
		Message: "must be websocket, in a GET with Connection: Upgrade, Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key of 16 bytes",
	}
}
