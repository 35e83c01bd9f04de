package browser_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// idleServer starts a server of its own, at which nothing works.
func idleServer(t *testing.T) *testbed.Server {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := testbed.NewDevServer(shared.binary, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// Two hundred consoles that are open while nothing happens cost the server little.
func TestManyIdleConsoles(t *testing.T) {
	const consoles, mostMemory, mostCPU = 200, 40 << 20, 0.05
	// The other one has no consoles: memory is compared with what it takes at the same time.
	server, other := idleServer(t), idleServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams, begun sync.WaitGroup
	defer func() { cancel(); streams.Wait() }()
	alive := make(chan struct{}, consoles) // a stream got a heartbeat
	failed := make(chan error, consoles)
	open := &http.Client{Transport: &http.Transport{}}
	for range consoles {
		begun.Add(1)
		var once sync.Once
		streams.Go(func() {
			began := func() { once.Do(begun.Done) }
			defer began()
			// As the page asks: see live/hub.ts.
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events?topics=executions,inbox,threads,agents,patterns,schedules,triggers,health,counts,batches,webhooks,plugins", nil)
			if err != nil {
				failed <- err
				return
			}
			answer, err := open.Do(r)
			if err != nil {
				failed <- err
				return
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				failed <- errors.New(answer.Status)
				return
			}
			began()
			lines := bufio.NewScanner(answer.Body)
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), ":") {
					select {
					case alive <- struct{}{}:
					default:
					}
				}
			}
			if ctx.Err() == nil {
				failed <- errors.New("the stream ended")
			}
		})
	}
	begun.Wait()
	began, used := time.Now(), testbed.CPUTime(server.PID())
	heartbeat := time.After(limit)
	for range consoles { // of each a heartbeat
		select {
		case <-alive:
		case err := <-failed:
			t.Fatal(err)
		case <-heartbeat:
			t.Fatal("heartbeats are missing")
		}
	}
	share := (testbed.CPUTime(server.PID()) - used).Seconds() / time.Since(began).Seconds()
	grown := testbed.Memory(server.PID(), "VmRSS") - testbed.Memory(other.PID(), "VmRSS")
	t.Logf("%d idle consoles: %.1f MiB more, %.1f %% of a core over %s", consoles, float64(grown)/(1<<20), 100*share, time.Since(began).Round(time.Second))
	if grown > mostMemory || share > mostCPU {
		t.Errorf("they may cost %d MiB and %.0f %%", mostMemory>>20, 100*mostCPU)
	}
}
