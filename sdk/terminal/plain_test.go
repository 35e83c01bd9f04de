package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// readText reads text messages until what they hold together is want.
func readText(t *testing.T, conn *websocket.Conn, want string) {
	t.Helper()
	got := ""
	for got != want {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		if kind != websocket.TextMessage {
			t.Fatalf("a message of kind %d", kind)
		}
		if strings.ToValidUTF8(string(data), "?") != string(data) {
			t.Fatalf("%q is not valid UTF-8", data)
		}
		if got += string(data); !strings.HasPrefix(want, got) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestPlainOutputIsText(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	conn := r.plain(t, "")
	if conn.Subprotocol() != "" {
		t.Errorf("the subprotocol is %q", conn.Subprotocol())
	}
	s.frames <- runtime.Frame{Data: []byte("screen "), Repaint: true, Offset: 7, Cols: 80, Rows: 24}
	readText(t, conn, "screen ")
	s.frames <- runtime.Frame{Data: []byte("a\xffb\xe2\x82"), Offset: 12}
	s.frames <- runtime.Frame{Data: []byte("\xac!\xe2"), Offset: 15}
	s.frames <- runtime.Frame{Data: []byte("x"), Offset: 16}
	readText(t, conn, "a\uFFFDb€!\uFFFDx")
	// A character that is never finished is written at the end.
	s.frames <- runtime.Frame{Data: []byte("\xf0\x9f"), Offset: 18}
	s.frames <- runtime.Frame{Offset: 18, Exit: &runtime.Exit{Code: 3, Reason: "exited"}}
	close(s.frames)
	readText(t, conn, "\uFFFD\uFFFD")
	_, _, err := conn.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.CloseNormalClosure || closed.Text != "agent stopped: exited, exit code 3" {
		t.Errorf("the end is %v", err)
	}
	if err := r.wait(t); err != nil {
		t.Errorf("Handle: %v", err)
	}
}

func TestPlainInput(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	conn := r.plain(t, "")
	for _, typed := range []string{"ls\r", "{", `{"type":"resize","cols":"80","rows":24}`, `{"type":"resize","cols":80}`, `{"type":"other","cols":80,"rows":24}`,
		`{"type":"resize","cols":80,"rows":24} `, `{"type":"resize","cols":80,"rows":24,"more":1}`, `{"type":"resize","cols":80,"rows":24}{}`, "\x1b[A"} {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(typed)); err != nil {
			t.Fatal(err)
		}
		if typed == `{"type":"resize","cols":80,"rows":24} ` { // white space around an object is no key
			if got := take(t, s.sizes); got != [2]int{80, 24} {
				t.Errorf("%q made the size %v", typed, got)
			}
			continue
		}
		if got := take(t, s.inputs); got != typed {
			t.Errorf("typed %q, got %q", typed, got)
		}
	}
	if err := conn.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"resize","cols":1,"rows":1}`)); err != nil {
		t.Fatal(err)
	}
	if got := take(t, s.inputs); !strings.HasPrefix(got, "{") {
		t.Errorf("binary input came as %q", got)
	}
	for text, want := range map[string][2]int{
		`{"rows": 31, "cols": 101, "type": "resize"}`: {101, 31}, `{"type":"resize","cols":0,"rows":1e5}`: {0, 100_000}, `{"type":"resize","cols":1.5,"rows":2}`: {-1, 2},
	} {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := take(t, s.sizes); got != want {
			t.Errorf("%s made the size %v, want %v", text, got, want)
		}
	}
	// Leaving in good order is no error.
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	if err := r.wait(t); err != nil {
		t.Errorf("Handle: %v", err)
	}
	take(t, s.closed)
}

func TestUnknownAgentCloses4404(t *testing.T) {
	r := newRig(t, nil, runtime.NotFound("nobody"), terminal.Limits{})
	_, _, err := r.plain(t, "").ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != terminal.CloseUnknownAgent || !strings.Contains(closed.Text, "nobody") {
		t.Errorf("the end is %v", err)
	}
	code(t, "Handle", r.wait(t), runtime.CodeNotFound)
}

// A server that goes down is no fault of the terminal, also for a viewer that is being attached.
func TestServerGoesDown(t *testing.T) {
	for _, failed := range []error{nil, context.Canceled} {
		s := newScript(io.EOF)
		r := newRig(t, s, failed, terminal.Limits{})
		conn := r.plain(t, "")
		take(t, r.options)
		r.stop()
		_, _, err := conn.ReadMessage()
		if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("the end is %v", err)
		}
		if err := r.wait(t); !errors.Is(err, context.Canceled) {
			t.Errorf("Handle: %v", err)
		}
	}
}

// A viewer that never reads is cut, after the terminal was left unread and not queued without end.
func TestStalledViewerIsCut(t *testing.T) {
	t.Run("ByTheTerminal", func(t *testing.T) {
		s := newScript(io.EOF)
		stalledViewer(t, s, newRig(t, s, nil, terminal.Limits{Write: 100 * time.Millisecond}))
	})
	t.Run("ByTheConnection", func(t *testing.T) {
		s := newScript(io.EOF)
		stalledViewer(t, s, newRig(t, s, nil, terminal.Limits{Write: time.Hour}, limited(100*time.Millisecond)))
	})
}

func stalledViewer(t *testing.T, s *script, r *rig) {
	t.Helper()
	r.plain(t, "") // and never read
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = 'x'
	}
	queued := 0
	for alive := true; alive; {
		select {
		case s.frames <- runtime.Frame{Data: data, Offset: uint64(queued + len(data))}:
			queued += len(data)
		case <-s.closed:
			alive = false
		case <-time.After(patience):
			t.Fatal("the viewer is not cut")
		}
	}
	if queued > 64<<20 {
		t.Errorf("%d bytes were taken from the terminal for a viewer that does not read", queued)
	}
	if err := r.wait(t); err == nil || !strings.Contains(err.Error(), "writing to the viewer") {
		t.Errorf("Handle: %v", err)
	}
}

// A viewer that is slow, but reads, is not cut by the deadline of a message where the connection knows better.
func TestSlowViewerStays(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{Write: time.Millisecond}, limited(time.Minute))
	conn := r.plain(t, "")
	data := bytes.Repeat([]byte("x"), 64<<10)
	const frames = 256 // more than systems buffer
	go func() {
		defer close(s.frames)
		for i := range frames {
			select {
			case s.frames <- runtime.Frame{Data: data, Offset: uint64((i + 1) * len(data))}:
			case <-s.closed:
				return
			}
		}
	}()
	<-time.After(100 * time.Millisecond) // the writer waits by now, or will
	got := 0
	for got < frames*len(data) {
		_, text, err := conn.ReadMessage()
		if err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		got += len(text)
	}
}

// A viewer that is gone without a word does not answer pings.
func TestSilentViewerIsCut(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{Ping: 20 * time.Millisecond})
	conn := r.plain(t, "") // a client answers pings while it reads, and this one does not
	if err := r.wait(t); err == nil {
		t.Error("Handle ends without an error")
	}
	take(t, s.closed)
	_ = conn.Close()
}

func TestRequestsThatAreRefused(t *testing.T) {
	r := newRig(t, newScript(io.EOF), nil, terminal.Limits{})
	for query, status := range map[string]int{
		"?offset=-1": 400, "?offset=x": 400, "?tail=-1": 400, "?tail=1000000": 400, "?cols=1001": 400, "?rows=x": 400, "?readonly=perhaps": 400, "": 400,
	} {
		response, err := http.Get(r.URL + "/" + query)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != status || !strings.Contains(string(body), "INVALID_ARGUMENT") || !strings.Contains(string(body), `"field"`) ||
			strings.Contains(string(body), "token not found") { // in our words
			t.Errorf("%q: %d %s", query, response.StatusCode, body)
		}
	}
	header := http.Header{"Origin": {"http://elsewhere.example"}}
	_, response, err := websocket.DefaultDialer.Dial(r.ws(""), header)
	if err == nil || response == nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign origin: %v", err)
	}
}

func TestQueryReachesTheRuntime(t *testing.T) {
	r := newRig(t, newScript(io.EOF), nil, terminal.Limits{})
	r.plain(t, "?offset=123&tail=50&cols=100&rows=30&readonly=1&other=x")
	got := take(t, r.options)
	if got.From == nil || *got.From != 123 || got.Tail != 50 || got.Cols != 100 || got.Rows != 30 || !got.ReadOnly {
		t.Errorf("the options are %+v", got)
	}
}
