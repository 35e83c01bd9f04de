package terminal

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxOutput bounds one message of a server. A repaint with much scrollback is the largest.
const maxOutput = 64 << 20

// DialOptions say how to reach a terminal.
type DialOptions struct {
	Header  http.Header   // sent with the request, for example the credential
	TLS     *tls.Config   // for wss; nil: the system's roots
	Timeout time.Duration // to connect and to be attached; 0: 10 s
	// Dial opens the network connection; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Silence is how long nothing, not even a ping, may come before the connection is given up; 0: 60 s.
	Silence time.Duration
	// Viewers is called from Recv with who else is at the terminal, each time that it changes: how many there are, and the first
	// of them. It must not block. Nil: it is not wanted.
	Viewers func(total int, viewers []Viewer)
}

// Dial attaches to the terminal at a ws, wss, http or https address, with the protocol wardroom.terminal.v1.
// The terminal ends when ctx does. Errors are those of the runtime's Attach; UNAVAILABLE when the server cannot
// be reached, UNIMPLEMENTED when it does not speak the protocol.
func Dial(ctx context.Context, address string, attach runtime.AttachOptions, o DialOptions) (*Terminal, error) {
	target, err := dialURL(address, attach)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 10*time.Second)
	o.Silence = cmp.Or(max(o.Silence, 0), 60*time.Second)
	dialer := websocket.Dialer{
		NetDialContext: o.Dial, TLSClientConfig: o.TLS, HandshakeTimeout: o.Timeout, Proxy: http.ProxyFromEnvironment,
		ReadBufferSize: 32 << 10, WriteBufferSize: 4 << 10,
		Subprotocols: []string{Subprotocol, AckSubprotocol},
	}
	conn, response, err := dialer.DialContext(ctx, target, o.Header) //nolint:bodyclose // a dialer leaves nothing to close
	if err != nil {
		return nil, dialError(ctx, response, err)
	}
	if conn.Subprotocol() != Subprotocol {
		_ = conn.Close()
		return nil, runtime.Errorf(runtime.CodeUnimplemented, "the server does not speak %s", Subprotocol)
	}
	t := newTerminal(ctx, conn, attach.ReadOnly, o.Silence)
	t.viewers = o.Viewers
	t.stop = context.AfterFunc(ctx, t.cancel)
	if err := t.attached(time.Now().Add(o.Timeout)); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

func dialURL(address string, attach runtime.AttachOptions) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", invalid("url", "is not an address")
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return "", invalid("url", fmt.Sprintf("scheme %q is not ws, wss, http or https", u.Scheme))
	}
	q := u.Query()
	maps.Copy(q, query(attach))
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// dialError makes an error of a handshake that failed. The server's own error comes through, if it sent one.
func dialError(ctx context.Context, response *http.Response, err error) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	if response == nil {
		e := runtime.Errorf(runtime.CodeUnavailable, "the server cannot be reached")
		e.Retry = true
		if op, ok := errors.AsType[*net.OpError](err); ok {
			e.Message += ": " + op.Err.Error()
		}
		return e
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return ResponseError(response.StatusCode, body)
}

// ResponseError makes an error of the answer of a runtime server: the runtime's own error if the body holds it.
func ResponseError(status int, body []byte) *runtime.Error {
	var answer struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details *runtime.Error `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil {
		if answer.Error.Details != nil && answer.Error.Details.Code != "" {
			return answer.Error.Details
		}
		if answer.Error.Message != "" {
			return runtime.Errorf(statusCode(status), "%s", answer.Error.Message)
		}
	}
	e := runtime.Errorf(statusCode(status), "the server answered %d %s", status, http.StatusText(status))
	e.Retry = e.Code == runtime.CodeUnavailable
	return e
}

// statusCode is the code for an answer that is not a runtime server's, but of something before it.
func statusCode(status int) runtime.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return runtime.CodeForbidden
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return runtime.CodeTimeout
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return runtime.CodeUnavailable
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return runtime.CodeUnimplemented // an agent that is not there comes with the runtime's own error
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return runtime.CodeInvalidArgument
	}
	return runtime.CodeInternal
}
