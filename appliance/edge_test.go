package appliance_test

import (
	"context"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/edge"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// edgeSite is a place that the server does not reach: it has a runtime of its own, and connects out.
type edgeSite struct {
	t    *testing.T
	app  *atomic.Pointer[appliance.App] // that it connects to
	opts edge.Options
}

func newEdgeSite(t *testing.T, app *atomic.Pointer[appliance.App]) *edgeSite {
	t.Helper()
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	// The server has another port after each restart.
	gateway := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: app.Load().Addr()})
	}})
	t.Cleanup(gateway.Close)
	return &edgeSite{t: t, app: app, opts: edge.Options{
		URL: gateway.URL, Name: "far away", Runtime: world.Runtime(), Types: []string{runtimetest.Type}, Root: t.TempDir(),
		AllowFile: true,
	}}
}

// run runs the edge; end ends it, as the end of its process does.
func (e *edgeSite) run() (end func()) {
	e.t.Helper()
	host, err := edge.New(e.opts)
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := host.Run(ctx); err != nil {
			e.t.Errorf("edge: %v", err)
		}
	}()
	end = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	e.t.Cleanup(end)
	return end
}

// A thread at an edge site goes its whole way, though the server and the edge are started anew in the middle.
func TestThreadAtTheEdge(t *testing.T) {
	s := newSite(t, "{}")
	var app atomic.Pointer[appliance.App]
	app.Store(s.app)
	far := newEdgeSite(t, &app)
	end := far.run()
	coretest.WaitFor(t, "the host", func() bool {
		list, err := s.api.ListAgents(t.Context(), client.AgentFilter{})
		return err == nil && len(list.Agents) == 1
	})
	thread := s.spawn("ask shall we make it?", func(spec *client.ThreadSpec) {
		spec.Runtime = core.RuntimeConnected
		spec.Preparation.Env = map[string]string{"TOKEN": "hunter2"}
	})
	id := thread.ID
	s.await(id, "the question", func(thread *client.Thread) bool {
		return thread.Status == client.ThreadBlocked && thread.Prompt != nil
	})
	if _, err := s.api.AnswerThread(t.Context(), id, client.ThreadAnswer{Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	s.await(id, "the first turn", func(thread *client.Thread) bool { return thread.TurnCount == 1 })

	s.restart()
	app.Store(s.app)
	s.send(id, `test "$TOKEN" = hunter2 && test -f .wardroom/thread-memory.md && echo made > widget.txt && git add widget.txt && `+
		`git commit -q -m made && echo done`)
	s.await(id, "the second turn", func(thread *client.Thread) bool { return thread.TurnCount == 2 })

	end()
	s.await(id, "the loss of the edge", func(thread *client.Thread) bool { return thread.StatusReason == core.ThreadReasonHostAway })
	end = far.run()
	s.send(id, `test "$(git status --porcelain)" = "" && test "$(git log -1 --format=%s)" = made && `+
		`printf '\140\140\140wardroom\n{"state":"complete","summary":"Made far away."}\n\140\140\140\n'`)
	done := s.await(id, "the end", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	if done.Completion == nil || done.Completion.Summary != "Made far away." || done.AgentID == "" || done.Runtime != core.RuntimeConnected {
		t.Errorf("the thread is %s", done.Body)
	}
	list, err := s.api.ListThreadEvents(t.Context(), id, client.ThreadEventFilter{Limit: 100, Types: []string{
		client.EventThreadStarted, client.EventThreadBlocked, client.EventThreadTurnComplete, client.EventThreadCompleted, client.EventThreadFailed,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range list.Events {
		types = append(types, e.Type)
	}
	want := []string{
		client.EventThreadStarted, client.EventThreadBlocked, client.EventThreadTurnComplete, client.EventThreadTurnComplete,
		client.EventThreadTurnComplete, client.EventThreadCompleted,
	}
	if !slices.Equal(types, want) {
		t.Errorf("events %q, want %q", types, want)
	}
	coretest.WaitFor(t, "the end of its agent", func() bool {
		agents, err := far.opts.Runtime.List(t.Context(), runtime.ListFilter{Labels: map[string]string{edge.LabelThread: id}})
		return err == nil && len(agents) == 1 && agents[0].Status == runtime.StatusStopped
	})
	end()
}
