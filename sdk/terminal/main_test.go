package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/netlimit"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// script is a terminal that shows what a test wants.
type script struct {
	frames chan runtime.Frame
	end    error // after frames is closed
	inputs chan string
	sizes  chan [2]int
	refuse error // of Input and Resize

	once   sync.Once
	closed chan struct{}
}

func newScript(end error) *script {
	return &script{frames: make(chan runtime.Frame, 64), end: end, inputs: make(chan string, 64), sizes: make(chan [2]int, 64), closed: make(chan struct{})}
}

func (s *script) Recv() (runtime.Frame, error) {
	select {
	case frame, ok := <-s.frames:
		if !ok {
			return runtime.Frame{}, s.end
		}
		return frame, nil
	case <-s.closed:
		return runtime.Frame{}, io.EOF
	}
}

func (s *script) Input(p []byte) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.inputs <- string(p)
	return nil
}

func (s *script) Resize(cols, rows int) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.sizes <- [2]int{cols, rows}
	return nil
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// rig is a server of one terminal.
type rig struct {
	*httptest.Server
	options chan runtime.AttachOptions
	ended   chan error // what Handle returned
	stop    context.CancelFunc
}

// newRig serves term, or refuses viewers with err.
func newRig(t testing.TB, term runtime.Terminal, err error, limits terminal.Limits, change ...func(*httptest.Server)) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &rig{options: make(chan runtime.AttachOptions, 64), ended: make(chan error, 64), stop: stop}
	handler := terminal.Handler{
		Open: func(ctx context.Context, o runtime.AttachOptions) (runtime.Terminal, error) {
			r.options <- o
			if errors.Is(err, context.Canceled) {
				<-ctx.Done()
			}
			if err != nil {
				return nil, err
			}
			return term, nil
		},
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, err *runtime.Error) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": err.Code, "message": err.Message, "details": err}})
		},
		Limits: limits,
	}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		inner, cancel := context.WithCancel(q.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		r.ended <- handler.Handle(w, q.WithContext(inner))
	}))
	for _, f := range change {
		f(r.Server)
	}
	r.Server.Start()
	t.Cleanup(func() { stop(); r.Server.Close() })
	return r
}

// limited lets connections end when their peer takes nothing for the given time.
func limited(stall time.Duration) func(*httptest.Server) {
	return func(s *httptest.Server) {
		s.Listener = netlimit.New(s.Listener, netlimit.Limits{Stall: stall})
		s.Config.ConnContext, s.Config.ConnState = netlimit.ConnContext, netlimit.ConnState
	}
}

func newRigOf(t testing.TB, term runtime.Terminal) *rig {
	t.Helper()
	return newRig(t, term, nil, terminal.Limits{})
}

func (r *rig) ws(query string) string { return "ws" + strings.TrimPrefix(r.URL, "http") + "/" + query }

// plain connects without a subprotocol.
func (r *rig) plain(t testing.TB, query string) *websocket.Conn {
	t.Helper()
	conn, response, err := websocket.DefaultDialer.Dial(r.ws(query), nil)
	if err != nil {
		t.Fatalf("%v: %v", err, response)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return conn
}

// rich connects with the subprotocol.
func (r *rig) rich(t testing.TB, o runtime.AttachOptions) *terminal.Terminal {
	t.Helper()
	term, err := terminal.Dial(t.Context(), r.URL, o, terminal.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Close() })
	return term
}

func (r *rig) wait(t testing.TB) error {
	t.Helper()
	return take(t, r.ended)
}

// take takes what comes out of a channel in time.
func take[V any](t testing.TB, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func code(t testing.TB, what string, err error, want runtime.Code) {
	t.Helper()
	if got := runtime.ErrorCode(err); got != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}
