package docker

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// stuckEngine is an engine that has no containers, and on which one kind of call hangs.
type stuckEngine struct {
	on    string        // end of the path of calls that hang
	calls chan string   // gets the path of each
	over  chan struct{} // closed to let them fail
}

func (e *stuckEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/_ping"):
		w.Header().Set("Api-Version", "1.44")
	case strings.HasSuffix(r.URL.Path, e.on):
		e.calls <- r.URL.Path
		select {
		case <-e.over:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusInternalServerError)
	case strings.HasSuffix(r.URL.Path, "/info"), strings.HasSuffix(r.URL.Path, "/version"):
		_, _ = io.WriteString(w, `{"NCPU": 64}`)
	case strings.HasSuffix(r.URL.Path, "/containers/json"):
		_, _ = io.WriteString(w, `[]`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message": "No such thing"}`)
	}
}

// TestFoundWithoutTheEngine finds an agent again while its engine, or the registry of its image, hangs: it is prepared without them. A
// start waits for them.
func TestFoundWithoutTheEngine(t *testing.T) {
	for name, on := range map[string]string{"Registry": "/images/create", "Engine": "/info"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &stuckEngine{on: on, calls: make(chan string, 8), over: make(chan struct{})}
			dir := t.TempDir()
			socket := serveSocket(t, e)
			end := sync.OnceFunc(func() { close(e.over) })
			defer end()
			config, err := decode([]byte(`{"socket": "`+socket+`", "holder": "/bin/sh", "image": "lab/base:1", "pull": "always"}`), filepath.Join(dir, "state"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(Options{Config: config, Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			h := handle{Version: handleVersion, ID: "a", Nonce: holder.NewNonce(), Owner: l.owner, StartedAt: time.Now()}
			if err := os.MkdirAll(filepath.Join(l.room("a"), runDir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := l.save(h); err != nil {
				t.Fatal(err)
			}
			word := wire.FormatExitFile(wire.Exited{Nonce: h.Nonce, Code: 7, At: time.Now()})
			if err := os.WriteFile(filepath.Join(l.room("a"), runDir, exitFile), word, 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := l.Find(t.Context(), h.encode())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }()
			type result struct {
				room agentcli.Room
				err  error
			}
			prepare := func() chan result {
				done := make(chan result, 1)
				go func() {
					room, err := l.Prepare(t.Context(), &runtime.Spec{ID: "a", Type: "claude"})
					done <- result{room, err}
				}()
				return done
			}
			select {
			case r := <-prepare():
				if r.err != nil || slices.ContainsFunc(r.room.Env, isPath) {
					t.Errorf("it is prepared with %q, %v", r.room.Env, r.err)
				}
			case path := <-e.calls:
				t.Fatalf("%s is called for an agent that was found", path)
			}
			start := prepare()
			select {
			case r := <-start:
				t.Fatalf("a start did not wait: %v", r.err)
			case <-e.calls:
			}
			end()
			<-start
		})
	}
}
