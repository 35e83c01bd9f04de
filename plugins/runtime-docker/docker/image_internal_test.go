package docker

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// archiveEngine is the part of an engine that loads archives: one takes as long as a test holds it.
type archiveEngine struct {
	began chan struct{} // gets one for each load
	held  chan struct{} // closed to let loads end
	there atomic.Bool   // the image is
	loads atomic.Int64
}

func (e *archiveEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/_ping"):
		w.Header().Set("Api-Version", "1.44")
	case strings.HasSuffix(r.URL.Path, "/images/load"):
		e.loads.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // its end is seen only then
		e.began <- struct{}{}
		select {
		case <-e.held:
			e.there.Store(true)
		case <-r.Context().Done():
		}
	case e.there.Load():
		_, _ = io.WriteString(w, `{"Id": "sha256:1", "Os": "linux"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message": "No such image"}`)
	}
}

// TestArchiveSlow has an archive that takes longer to load than a start waits: the load goes on, and the next starts find the image,
// all of them.
func TestArchiveSlow(t *testing.T) {
	e := &archiveEngine{began: make(chan struct{}, 8), held: make(chan struct{})}
	socket, archive := serveSocket(t, e), filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(archive, []byte("layers"), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := openEngine(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	i := newImages(engine, &Config{Pull: pullNever, Archives: []string{archive}}, hclog.NewNullLogger())
	defer i.close()

	short, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := i.find(short, "lab/base:1"); first <- err }()
	<-e.began
	cancel()
	if err := <-first; runtime.ErrorCode(err) != runtime.CodeImageNotFound || !runtime.AsError(err).Retry {
		t.Errorf("who did not wait got %v", err)
	}
	var next sync.WaitGroup
	for range 4 {
		next.Go(func() {
			if found, err := i.find(t.Context(), "lab/base:1"); err != nil || found.id != "sha256:1" {
				t.Errorf("the next one got %+v, %v", found, err)
			}
		})
	}
	close(e.held)
	next.Wait()
	if n := e.loads.Load(); n != 1 {
		t.Errorf("the archive was loaded %d times", n)
	}
}

// serveSocket serves a handler on a socket, as an engine, until the test ends, and returns the socket.
func serveSocket(t *testing.T, h http.Handler) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return socket
}
