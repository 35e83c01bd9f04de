package terminal

import (
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// CloseUnknownAgent is the close code for an agent that does not exist.
const CloseUnknownAgent = 4404

// endedHere is the reason where the server ends a terminal that could go on.
const endedHere = "the server goes down, or the right to the terminal was lost"

// maxReason bounds the reason in a close message, in bytes.
const maxReason = 123

// CloseCode returns the close code for an error of a runtime.
func CloseCode(err error) int { return 4000 + runtime.ErrorCode(err).HTTPStatus() }

// Refuse closes a connection because of an error of the runtime, and waits for nothing. It sends the error
// itself first where the protocol has room for it.
func Refuse(conn *websocket.Conn, err error) {
	e := runtime.AsError(err)
	if conn.Subprotocol() == Subprotocol {
		if conn.SetWriteDeadline(time.Now().Add(closeGrace)) != nil ||
			conn.WriteMessage(websocket.TextMessage, control{Type: controlError, Error: e}.encode()) != nil {
			_ = conn.Close()
			return
		}
	}
	leave(conn, CloseCode(e), e.Message)
}

// leave closes a connection that nothing else reads.
func leave(conn *websocket.Conn, code int, reason string) {
	defer func() { _ = conn.Close() }()
	if SendClose(conn, code, reason) != nil {
		return
	}
	// Reading until the client's answer keeps the close message from being lost with the connection.
	conn.SetReadLimit(maxInput)
	if conn.SetReadDeadline(time.Now().Add(closeGrace)) != nil {
		return
	}
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

// SendClose sends a close message; a reason that is too long for one is cut. It waits no longer than two seconds.
func SendClose(conn *websocket.Conn, code int, reason string) error {
	return conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, clip.Text(reason, maxReason)), time.Now().Add(closeGrace))
}
