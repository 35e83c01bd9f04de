package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"pgregory.net/rapid"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

func TestRichFramesComeAsTheyWere(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	term := r.rich(t, runtime.AttachOptions{})
	frames := []runtime.Frame{
		{Data: []byte("whole screen"), Repaint: true, Offset: 1000, Cols: 80, Rows: 24},
		{Data: []byte("raw \xff\xfe"), Offset: 1006},
		{Cols: 100, Rows: 30, Offset: 1006},
		{Data: []byte("after a loss"), Offset: 2012, Lost: 994},
		{Data: []byte("again"), Offset: 5000, Repaint: true, Lost: 2000},
		{Data: []byte("sized"), Offset: 5005, Cols: 10, Rows: 5},
		{Offset: 5005, Exit: &runtime.Exit{Code: 137, Reason: "killed"}},
	}
	for i, want := range frames {
		s.frames <- want
		got, err := term.Recv()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if !bytes.Equal(got.Data, want.Data) || got.Offset != want.Offset || got.Repaint != want.Repaint || got.Lost != want.Lost || got.Cols != want.Cols || got.Rows != want.Rows {
			t.Errorf("frame %d is %+v and was %+v", i, got, want)
		}
		if (got.Exit == nil) != (want.Exit == nil) || want.Exit != nil && *got.Exit != *want.Exit {
			t.Errorf("frame %d has exit %+v, want %+v", i, got.Exit, want.Exit)
		}
	}
	close(s.frames)
	for range 2 {
		if _, err := term.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("after the exit: %v", err)
		}
	}
	_ = term.Close()
	if err := r.wait(t); err != nil {
		t.Errorf("Handle: %v", err)
	}
}

// Whatever frames there are, and however they are joined on the way: the same bytes arrive at the same offsets.
func TestRichKeepsOffsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(io.EOF)
		r := newRig(t, s, nil, terminal.Limits{})
		defer r.Close()
		term, err := terminal.Dial(t.Context(), r.URL, runtime.AttachOptions{}, terminal.DialOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = term.Close() }()
		want, offset, lost := map[uint64]byte{}, uint64(0), uint64(0)
		repaints := ""
		for range rapid.IntRange(1, 40).Draw(rt, "frames") {
			f := runtime.Frame{Data: rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(rt, "data")}
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0:
				f.Repaint = true
				offset += uint64(rapid.IntRange(0, 100).Draw(rt, "skip"))
				f.Offset = offset
				repaints += string(f.Data)
			case 1:
				f.Lost = uint64(rapid.IntRange(1, 100).Draw(rt, "lost"))
				lost += f.Lost
				offset += f.Lost
				fallthrough
			default:
				for i, b := range f.Data {
					want[offset+uint64(i)] = b
				}
				offset += uint64(len(f.Data))
				f.Offset = offset
			}
			s.frames <- f
		}
		close(s.frames)
		for {
			f, err := term.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				rt.Fatal(err)
			}
			lost -= f.Lost
			if f.Repaint {
				if !strings.HasPrefix(repaints, string(f.Data)) {
					rt.Fatalf("a repaint with %q, want %q", f.Data, repaints)
				}
				repaints = repaints[len(f.Data):]
				continue
			}
			for i, b := range f.Data {
				at := f.Offset - uint64(len(f.Data)) + uint64(i)
				if w, ok := want[at]; !ok || w != b {
					rt.Fatalf("byte %q at offset %d, want %q", b, at, w)
				}
				delete(want, at)
			}
		}
		if len(want) > 0 || lost != 0 || repaints != "" {
			rt.Fatalf("%d bytes, a loss of %d and repaints %q did not come", len(want), lost, repaints)
		}
	})
}

func TestRichInputAndItsErrors(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	term := r.rich(t, runtime.AttachOptions{})
	large := strings.Repeat("y", 700<<10)
	for _, text := range []string{"x", large} {
		if err := term.Input([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for got := ""; got != text; {
			if got += take(t, s.inputs); !strings.HasPrefix(text, got) {
				t.Fatalf("%d bytes came that were not sent", len(got))
			}
		}
	}
	if err := term.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	if got := take(t, s.sizes); got != [2]int{100, 30} {
		t.Errorf("the size is %v", got)
	}
	for _, size := range [][2]int{{0, 1}, {1, 0}, {1001, 1}, {1, 100_000}} {
		code(t, fmt.Sprint(size), term.Resize(size[0], size[1]), runtime.CodeInvalidArgument)
	}
	s.refuse = runtime.Errorf(runtime.CodeNotRunning, "it has stopped")
	if err := term.Input([]byte("z")); err != nil {
		t.Fatal(err)
	}
	// The answer comes with the output, and from the next call.
	frames := make(chan runtime.Frame, 1)
	go func() {
		f, _ := term.Recv()
		frames <- f
	}()
	var err error
	for deadline := time.Now().Add(patience); err == nil && time.Now().Before(deadline); {
		err = term.Input([]byte("z"))
	}
	code(t, "a later Input", err, runtime.CodeNotRunning)
	s.frames <- runtime.Frame{Data: []byte("still here"), Offset: 10}
	if f := take(t, frames); string(f.Data) != "still here" {
		t.Errorf("after a refused input came %+v", f)
	}
}

func TestRichReadOnly(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	term := r.rich(t, runtime.AttachOptions{ReadOnly: true})
	if o := take(t, r.options); !o.ReadOnly {
		t.Error("the runtime does not learn that the viewer only reads")
	}
	code(t, "Input", term.Input([]byte("x")), runtime.CodeForbidden)
}

func TestRichErrorsOfAttach(t *testing.T) {
	want := &runtime.Error{Code: runtime.CodeNotFound, Message: "gone", Field: "id", Hint: "look again", Retry: true}
	r := newRig(t, nil, want, terminal.Limits{})
	_, err := terminal.Dial(t.Context(), r.URL, runtime.AttachOptions{}, terminal.DialOptions{})
	var got *runtime.Error
	if !errors.As(err, &got) || *got != *want {
		t.Errorf("the error is %+v, want %+v", err, want)
	}
}

func TestRichErrorOfTheTerminal(t *testing.T) {
	want := &runtime.Error{Code: runtime.CodeUnavailable, Message: "the plugin died", Retry: true}
	s := newScript(want)
	r := newRig(t, s, nil, terminal.Limits{})
	term := r.rich(t, runtime.AttachOptions{})
	close(s.frames)
	_, err := term.Recv()
	var got *runtime.Error
	if !errors.As(err, &got) || *got != *want {
		t.Errorf("the error is %+v, want %+v", err, want)
	}
	_ = term.Close()
	code(t, "Handle", r.wait(t), runtime.CodeUnavailable)
}

func TestRichEnds(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	term, err := terminal.Dial(ctx, r.URL, runtime.AttachOptions{}, terminal.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = term.Recv()
	code(t, "after the end of the context", err, runtime.CodeCanceled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not the context's error", err)
	}
	for range 2 {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = r.wait(t)

	s2 := newScript(io.EOF)
	r2 := newRig(t, s2, nil, terminal.Limits{})
	closed := r2.rich(t, runtime.AttachOptions{})
	_ = closed.Close()
	if _, err := closed.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	code(t, "Input after Close", closed.Input([]byte("x")), runtime.CodeUnavailable)
	_ = r2.wait(t)
}

func TestRichConnectionLost(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{})
	var conn net.Conn
	term, err := terminal.Dial(t.Context(), r.URL, runtime.AttachOptions{}, terminal.DialOptions{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var err error
			conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return conn, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = term.Close() }()
	_ = conn.Close()
	_, err = term.Recv()
	code(t, "a lost connection", err, runtime.CodeUnavailable)
	if !runtime.AsError(err).Retry {
		t.Error("coming back is not offered")
	}
	_ = r.wait(t)
}

// A server that says nothing any more, not even a ping, is given up.
func TestSilentServerIsGivenUp(t *testing.T) {
	s := newScript(io.EOF)
	r := newRig(t, s, nil, terminal.Limits{Ping: time.Hour})
	term, err := terminal.Dial(t.Context(), r.URL, runtime.AttachOptions{}, terminal.DialOptions{Silence: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = term.Recv()
	code(t, "a silent server", err, runtime.CodeUnavailable)
	_ = term.Close()
	_ = r.wait(t)
}

func TestDialErrors(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:1", "ftp://x/", "ws://", ":"} {
		_, err := terminal.Dial(t.Context(), address, runtime.AttachOptions{}, terminal.DialOptions{})
		code(t, address, err, runtime.CodeInvalidArgument)
	}
	_, err := terminal.Dial(t.Context(), "ws://127.0.0.1:1/", runtime.AttachOptions{}, terminal.DialOptions{})
	code(t, "nobody listens", err, runtime.CodeUnavailable)
	if e := runtime.AsError(err); !e.Retry || !strings.Contains(e.Message, "refused") {
		t.Errorf("nobody listens: %+v", e)
	}

	for status, want := range map[int]runtime.Code{401: runtime.CodeForbidden, 404: runtime.CodeUnimplemented, 502: runtime.CodeUnavailable, 500: runtime.CodeInternal, 408: runtime.CodeTimeout, 400: runtime.CodeInvalidArgument} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := terminal.Dial(t.Context(), web.URL, runtime.AttachOptions{}, terminal.DialOptions{})
		code(t, fmt.Sprint(status), err, want)
		web.Close()
	}
	own := terminal.ResponseError(409, []byte(`{"error":{"code":"BLOCKED","message":"m","details":{"code":"BLOCKED","message":"m","hint":"h","retryable":true}}}`))
	if *own != (runtime.Error{Code: runtime.CodeBlocked, Message: "m", Hint: "h", Retry: true}) {
		t.Errorf("the runtime's own error is %+v", own)
	}
	if other := terminal.ResponseError(403, []byte(`{"error":{"code":"X","message":"told"}}`)); other.Code != runtime.CodeForbidden || other.Message != "told" {
		t.Errorf("the error of something else is %+v", other)
	}
}

func TestServerOfAnotherProtocol(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err == nil {
			_, _, _ = conn.ReadMessage()
			_ = conn.Close()
		}
	}))
	defer web.Close()
	_, err := terminal.Dial(t.Context(), web.URL, runtime.AttachOptions{}, terminal.DialOptions{})
	code(t, "no subprotocol", err, runtime.CodeUnimplemented)
}

func TestToken(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := terminal.Token(r); got != "" {
		t.Errorf("a token out of nothing: %q", got)
	}
	r.Header.Set("Sec-WebSocket-Protocol", "wardroom.terminal.plain, bearer.abc-123")
	if got := terminal.Token(r); got != "abc-123" {
		t.Errorf("the token is %q", got)
	}
}
