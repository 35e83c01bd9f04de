package client_test

import (
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

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

const patience = 10 * time.Second

func newClient(t *testing.T, o runtimeclient.Options) *runtimeclient.Client {
	t.Helper()
	c, err := runtimeclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// handle serves what a test wants instead of a runtime server.
func handle(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web.URL
}

func code(t *testing.T, what string, err error, want runtime.Code) {
	t.Helper()
	if got := runtime.ErrorCode(err); got != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// calls are all calls of a runtime, with what they return in common.
func calls(ctx context.Context, rt runtime.Runtime) map[string]error {
	out := map[string]error{
		"Stop":   rt.Stop(ctx, "a", runtime.StopOptions{Grace: time.Microsecond}),
		"Answer": rt.Answer(ctx, "a", runtime.Answer{Choice: "x"}),
	}
	_, out["Capabilities"] = rt.Capabilities(ctx)
	_, out["Spawn"] = rt.Spawn(ctx, runtime.Spec{ID: "a", Type: "x"})
	_, out["Restart"] = rt.Restart(ctx, "a", runtime.RestartOptions{})
	_, out["Inspect"] = rt.Inspect(ctx, "a")
	_, out["List"] = rt.List(ctx, runtime.ListFilter{})
	_, out["Send"] = rt.Send(ctx, "a", runtime.Input{Message: "x", Timeout: time.Second})
	_, out["Attach"] = rt.Attach(ctx, "a", runtime.AttachOptions{})
	_, out["Logs"] = rt.Logs(ctx, "a", runtime.LogOptions{})
	_, out["Metrics"] = rt.Metrics(ctx, "a")
	_, out["Events"] = rt.Events(ctx, runtime.EventOptions{})
	_, out["Recover"] = rt.Recover(ctx, []runtime.Handle{{ID: "a"}})
	_, out["Prune"] = rt.Prune(ctx, runtime.PruneOptions{})
	return out
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	c := newClient(t, runtimeclient.Options{URL: "http://" + listener.Addr().String()})
	for name, err := range calls(t.Context(), c) {
		code(t, name, err, runtime.CodeUnavailable)
		if e := runtime.AsError(err); e != nil && !e.Retry {
			t.Errorf("%s: calling again is not offered: %v", name, err)
		}
	}
}

func TestErrorsComeBackUnchanged(t *testing.T) {
	want := &runtime.Error{Code: runtime.CodeAuthRequired, Message: "log in", Field: "type", Hint: "claude auth login", Retry: true}
	c, _ := serve(t, failing{err: want}, runtimeserver.Options{})
	for name, err := range calls(t.Context(), c) {
		var got *runtime.Error
		if !errors.As(err, &got) || *got != *want {
			t.Errorf("%s: %+v, want %+v", name, err, want)
		}
	}
}

// failing fails at everything.
type failing struct{ err error }

func (f failing) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{}, f.err
}

func (f failing) Spawn(context.Context, runtime.Spec) (runtime.Agent, error) {
	return runtime.Agent{}, f.err
}
func (f failing) Stop(context.Context, string, runtime.StopOptions) error { return f.err }

func (f failing) Restart(context.Context, string, runtime.RestartOptions) (runtime.Agent, error) {
	return runtime.Agent{}, f.err
}

func (f failing) Inspect(context.Context, string) (runtime.Agent, error) {
	return runtime.Agent{}, f.err
}

func (f failing) List(context.Context, runtime.ListFilter) ([]runtime.Agent, error) {
	return nil, f.err
}

func (f failing) Send(context.Context, string, runtime.Input) (runtime.SendResult, error) {
	return runtime.SendResult{}, f.err
}
func (f failing) Answer(context.Context, string, runtime.Answer) error { return f.err }

func (f failing) Attach(context.Context, string, runtime.AttachOptions) (runtime.Terminal, error) {
	return nil, f.err
}

func (f failing) Logs(context.Context, string, runtime.LogOptions) (runtime.LogStream, error) {
	return nil, f.err
}

func (f failing) Metrics(context.Context, string) (runtime.Metrics, error) {
	return runtime.Metrics{}, f.err
}

func (f failing) Events(context.Context, runtime.EventOptions) (runtime.EventStream, error) {
	return nil, f.err
}

func (f failing) Recover(context.Context, []runtime.Handle) ([]runtime.Recovered, error) {
	return nil, f.err
}

func (f failing) Prune(context.Context, runtime.PruneOptions) (runtime.PruneReport, error) {
	return runtime.PruneReport{}, f.err
}

// A message that was sent, and whose answer did not come, may have been taken; a spawn may be asked again.
func TestConnectionThatEndsBeforeTheAnswer(t *testing.T) {
	url := handle(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	c := newClient(t, runtimeclient.Options{URL: url})
	_, err := c.Send(t.Context(), "a", runtime.Input{Message: "x"})
	code(t, "Send", err, runtime.CodeDeliveryUnknown)
	code(t, "Answer", c.Answer(t.Context(), "a", runtime.Answer{Choice: "x"}), runtime.CodeDeliveryUnknown)
	_, err = c.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "x"})
	code(t, "Spawn", err, runtime.CodeUnavailable)
}

func TestServerThatHangs(t *testing.T) {
	release := make(chan struct{})
	url := handle(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := newClient(t, runtimeclient.Options{URL: url, CallTimeout: 30 * time.Millisecond, DialTimeout: 30 * time.Millisecond})
	_, err := c.Inspect(t.Context(), "a")
	code(t, "Inspect", err, runtime.CodeTimeout)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not the deadline's error", err)
	}
	_, err = c.Events(t.Context(), runtime.EventOptions{})
	code(t, "Events", err, runtime.CodeTimeout)
	_, err = c.Attach(t.Context(), "a", runtime.AttachOptions{})
	code(t, "Attach", err, runtime.CodeUnavailable)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Inspect(ctx, "a")
	code(t, "Inspect with a context that has ended", err, runtime.CodeCanceled)
}

func TestTokenIsSentAndNeverTold(t *testing.T) {
	const token = "the-right-token-of-tests"
	_, web := serve(t, failing{err: runtime.NotFound("a")}, runtimeserver.Options{Token: token})
	for given, want := range map[string]runtime.Code{token: runtime.CodeNotFound, "": runtime.CodeForbidden, "wrong": runtime.CodeForbidden} {
		c := newClient(t, runtimeclient.Options{URL: web.URL, Token: given})
		for name, err := range calls(t.Context(), c) {
			code(t, name+" with token "+given, err, want)
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), token) {
				t.Errorf("%s tells the token", name)
			}
		}
	}
	// A redirect does not carry it elsewhere.
	elsewhere := handle(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called elsewhere with %v", r.Header) })
	c := newClient(t, runtimeclient.Options{URL: handle(t, http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect).ServeHTTP), Token: token})
	_, err := c.Inspect(t.Context(), "a")
	code(t, "a redirect", err, runtime.CodeInternal)
}

func TestAnswersThatAreNone(t *testing.T) {
	for body, want := range map[string]runtime.Code{"not json": runtime.CodeInternal, `{"results":[]}`: runtime.CodeInternal, `{"agents":7}`: runtime.CodeInternal} {
		c := newClient(t, runtimeclient.Options{URL: handle(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })})
		_, err := c.Recover(t.Context(), []runtime.Handle{{ID: "a"}})
		code(t, "Recover with "+body, err, want)
		if body != `{"results":[]}` {
			_, err = c.List(t.Context(), runtime.ListFilter{})
			code(t, "List with "+body, err, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, url := range []string{"", "localhost:3100", "ftp://x", "http://", "http://user:pass@x", "http://x?q=1", "http://x#f", "://"} {
		if _, err := runtimeclient.New(runtimeclient.Options{URL: url}); err == nil {
			t.Errorf("%q is taken", url)
		} else if strings.Contains(err.Error(), "pass@") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestIDsAreEscaped(t *testing.T) {
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	c, _ := serve(t, world.Runtime(), runtimeserver.Options{})
	for _, id := range []string{"a/b", "..", "a b", "%2e", "ü?x=1#y", "../agents"} {
		_, err := c.Inspect(t.Context(), id)
		if got := runtime.ErrorCode(err); got != runtime.CodeNotFound && got != runtime.CodeUnimplemented {
			t.Errorf("%q: %v", id, err)
		}
	}
	_, err := c.Spawn(t.Context(), runtime.Spec{Type: runtimetest.Type})
	code(t, "Spawn without an id", err, runtime.CodeInvalidSpec)
}
