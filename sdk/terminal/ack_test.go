package terminal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

const window = 1 << 20

// torrent is a terminal that never stops writing.
type torrent struct {
	*script
	offset uint64
}

var piece = []byte(strings.Repeat("0123456789abcdef", 2<<10))

func (f *torrent) Recv() (runtime.Frame, error) {
	select {
	case <-f.closed:
		return runtime.Frame{}, io.EOF
	default:
	}
	f.offset += uint64(len(piece))
	return runtime.Frame{Data: piece, Offset: f.offset}, nil
}

// acking connects as a viewer that says that it acknowledges.
func (r *rig) acking(t testing.TB) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{terminal.Subprotocol, terminal.AckSubprotocol}}
	conn, response, err := dialer.Dial(r.ws(""), nil)
	if err != nil {
		t.Fatalf("%v: %v", err, response)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if conn.Subprotocol() != terminal.Subprotocol {
		t.Fatalf("the server chose %q", conn.Subprotocol())
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, data, err := conn.ReadMessage()
	var first struct {
		Type   string
		Window int
	}
	if err != nil || json.Unmarshal(data, &first) != nil || first.Type != "attached" || first.Window != window {
		t.Fatalf("the first message is %s, %v", data, err)
	}
	return conn
}

func acknowledge(t testing.TB, conn *websocket.Conn, bytes int) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"type":"ack","bytes":%d}`, bytes)); err != nil {
		t.Fatal(err)
	}
}

// A viewer that reads, and acknowledges nothing, gets one window and no more; each acknowledgement lets as much on.
func TestAckWindow(t *testing.T) {
	// The server ends who answers no ping for three times as long, which a busy machine may not do within a few milliseconds.
	r := newRig(t, &torrent{script: newScript(nil)}, nil, terminal.Limits{Ping: 250 * time.Millisecond})
	conn := r.acking(t)
	pinged := make(chan struct{}, 1)
	quiet := 0 // pings since the last message; of the reader
	conn.SetPingHandler(func(data string) error {
		if quiet++; quiet >= 2 {
			select {
			case pinged <- struct{}{}:
			default:
			}
		}
		return conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
	})
	got := 0
	messages := make(chan int)
	var ended error // once messages is closed
	go func() {
		defer close(messages)
		for {
			kind, data, err := conn.ReadMessage()
			if err != nil {
				ended = err
				return
			}
			quiet = 0
			if kind == websocket.TextMessage {
				continue
			}
			messages <- len(data)
		}
	}()
	// upTo takes messages until the bytes are there, and then two pings in a row with nothing between them.
	upTo := func(bytes int) {
		t.Helper()
		for {
			select {
			case n, ok := <-messages:
				if !ok {
					t.Fatalf("the connection ended after %d bytes: %v", got, ended)
				}
				if got += n; got > bytes {
					t.Fatalf("%d bytes came, of which at most %d may be under way", got, bytes)
				}
			case <-pinged:
				if got > bytes-(128<<10) {
					return
				}
			case <-time.After(patience):
				t.Fatalf("%d bytes came of a window of %d", got, bytes)
			}
		}
	}
	upTo(window)
	for range 5 {
		acknowledge(t, conn, got)
		upTo(got + window)
	}
	_ = conn.Close()
	for range messages { // until the reader ended
	}
	_ = r.wait(t)
}

// A viewer that has half a window to take gets small frames in one message: with its next acknowledgement, or after a while without.
func TestAckJoins(t *testing.T) {
	for name, limits := range map[string]terminal.Limits{"acknowledged": {Join: time.Hour}, "after a while": {}} {
		t.Run(name, func(t *testing.T) {
			s := newScript(nil)
			r := newRig(t, s, nil, limits)
			conn := r.acking(t)
			sent, got, messages := 0, 0, 0
			send := func(data []byte) {
				sent += len(data)
				s.frames <- runtime.Frame{Data: data, Offset: uint64(sent)}
			}
			upTo := func() {
				t.Helper()
				for got < sent {
					kind, data, err := conn.ReadMessage()
					if err != nil {
						t.Fatalf("after %d of %d bytes: %v", got, sent, err)
					}
					if kind == websocket.BinaryMessage {
						got += len(data)
						messages++
					}
				}
			}
			for sent < window/2 {
				send(piece)
			}
			upTo()
			messages = 0
			for range 50 {
				send([]byte("key"))
				if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"resize","cols":80,"rows":24}`)); err != nil {
					t.Fatal(err)
				}
				take(t, s.sizes) // the connection could have sent it by now
			}
			if limits.Join == 0 {
				upTo()
			} else {
				acknowledge(t, conn, len(piece))
				// The last frame may not have been queued before the acknowledgement came.
				if upTo(); messages > 2 {
					t.Errorf("what was gathered came in %d messages", messages)
				}
			}
			_ = conn.Close()
			_ = r.wait(t)
		})
	}
}

// Who acknowledges what was not sent hears of it, and the terminal goes on.
func TestAckOfNothing(t *testing.T) {
	s := newScript(nil)
	r := newRigOf(t, s)
	conn := r.acking(t)
	acknowledge(t, conn, 1)
	_, data, err := conn.ReadMessage()
	if err != nil || !strings.Contains(string(data), "acknowledges 1 bytes, of which 0 were sent") || !strings.Contains(string(data), `"field":"bytes"`) {
		t.Errorf("it hears %s, %v", data, err)
	}
	s.frames <- runtime.Frame{Data: []byte("on"), Offset: 2}
	for {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.BinaryMessage {
			if string(data) != "on" {
				t.Errorf("then comes %q", data)
			}
			break
		}
	}
	_ = conn.Close()
	_ = r.wait(t)
}

// A screen larger than the window comes once the viewer has taken the most of what came before.
func TestAckLargeRepaint(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	term := r.rich(t, runtime.AttachOptions{})
	want := strings.Repeat("x", 3*window)
	for i := range uint64(3) {
		s.frames <- runtime.Frame{Data: piece, Offset: (i + 1) * uint64(len(piece))}
		s.frames <- runtime.Frame{Data: []byte(want), Repaint: true, Offset: (i + 1) * uint64(len(piece))}
	}
	s.frames <- runtime.Frame{Exit: &runtime.Exit{}}
	close(s.frames)
	repaints := 0
	for {
		f, err := term.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Repaint {
			repaints++
			if string(f.Data) != want {
				t.Errorf("a repaint of %d bytes", len(f.Data))
			}
		}
	}
	if repaints != 3 {
		t.Errorf("%d repaints came", repaints)
	}
	_ = term.Close()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

// A viewer that ends its reading is not waited for when the agent ends, and gets the rest when it goes on.
func TestAckEnd(t *testing.T) {
	for _, goesOn := range []bool{true, false} {
		t.Run(fmt.Sprint(goesOn), func(t *testing.T) {
			s := newScript(io.EOF)
			r := newRig(t, s, nil, terminal.Limits{Write: 200 * time.Millisecond})
			conn := r.acking(t)
			sent := 0
			for range 40 {
				sent += len(piece)
				s.frames <- runtime.Frame{Data: piece, Offset: uint64(sent)}
			}
			s.frames <- runtime.Frame{Offset: uint64(sent), Exit: &runtime.Exit{Code: 3}}
			close(s.frames)
			got, exit := 0, false
			for !exit {
				kind, data, err := conn.ReadMessage()
				if err != nil {
					break
				}
				if kind == websocket.TextMessage {
					exit = strings.Contains(string(data), `"exit"`)
					continue
				}
				got += len(data)
				if goesOn {
					acknowledge(t, conn, got)
				}
			}
			if goesOn && (got != sent || !exit) {
				t.Errorf("%d of %d bytes came, exit %v", got, sent, exit)
			}
			if !goesOn && (got > window || exit) {
				t.Errorf("%d bytes came without an acknowledgement, exit %v", got, exit)
			}
			_ = conn.Close()
			if err := r.wait(t); goesOn != (err == nil) {
				t.Errorf("Handle: %v", err)
			}
		})
	}
}

// Of a viewer whose socket is not read the terminal is asked for no more than the window and two queues hold.
func TestAckSocketNotRead(t *testing.T) {
	s := newScript(nil)
	f := &counted{torrent: &torrent{script: s}, taken: make(chan uint64, 1)}
	r := newRig(t, f, nil, terminal.Limits{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s, %s\r\n\r\n", terminal.Subprotocol, terminal.AckSubprotocol)
	const bound = window + 3*(256<<10)
	var last uint64
	for still := 0; still < 10; { // ten looks in a row at which it has not moved
		select {
		case n := <-f.taken:
			if n > bound {
				t.Fatalf("%d bytes were taken of the terminal for a viewer that reads nothing; %d are the most", n, bound)
			}
			still, last = 0, n
		case <-time.After(20 * time.Millisecond):
			if last >= window-(128<<10) {
				still++
			}
		}
	}
	_ = conn.Close()
	_ = r.wait(t)
}

// counted says how much was taken of a torrent.
type counted struct {
	*torrent
	taken chan uint64
}

func (c *counted) Recv() (runtime.Frame, error) {
	f, err := c.torrent.Recv()
	if err == nil {
		select {
		case <-c.taken:
		default:
		}
		c.taken <- f.Offset
	}
	return f, err
}
