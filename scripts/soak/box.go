package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// readyLimit is how long the server may take to get ready, or to end.
const readyLimit = time.Minute

// box is the server with all that is around it: agents, and a receiver of webhooks.
type box struct {
	binary, config, data, log, url string
	clock                          *testbed.Clock
	process                        *testbed.Process
	client                         *client.Client

	hooks     *http.Server
	delivered atomic.Int64

	stop context.CancelFunc // ends agents and receiver
	wg   sync.WaitGroup
}

// newBox prepares a server in a folder.
func newBox(ctx context.Context, dir, binary string) (*box, error) {
	if binary == "" {
		var err error
		if binary, err = testbed.Build(ctx, dir, testbed.ClockTag); err != nil {
			return nil, err
		}
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	port, err := testbed.FreePort(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
	if err != nil {
		return nil, err
	}
	b := &box{
		binary: binary, config: filepath.Join(dir, "wardroom.yaml"), data: filepath.Join(dir, "data"), log: filepath.Join(dir, "wardroom.log"),
		url: fmt.Sprintf("http://127.0.0.1:%d", port), clock: testbed.NewClock(filepath.Join(dir, "clock")),
	}
	if b.client, err = client.New(b.url, client.Options{Retry: client.RetryPolicy{MaxElapsed: readyLimit}}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.hooks = &http.Server{ReadHeaderTimeout: readyLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.delivered.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})}
	running, stop := context.WithCancel(ctx)
	b.stop = func() {
		stop()
		_ = b.hooks.Close()
	}
	b.wg.Go(func() { _ = b.hooks.Serve(listener) }) // ends with stop
	text := fmt.Sprintf(`server: {listen: "127.0.0.1:%d", environment: development}
store: {path: %q, minFree: 64MiB}
metrics: {public: true}
webhooks: {endpoints: [{url: "http://%s/", events: [execution.completed], secret: whsec_soak-is-told-all}]}
`, port, b.data, listener.Addr())
	if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
		return b, err
	}
	if err := b.start(ctx); err != nil {
		return b, err
	}
	return b, b.work(running)
}

// start starts the server and waits for it.
func (b *box) start(ctx context.Context) (err error) {
	if b.process, err = testbed.LaunchWith([]string{b.clock.Env()}, b.log, b.binary, "serve", "--config", b.config); err != nil {
		return err
	}
	_, err = b.ready(ctx)
	return err
}

func (b *box) ready(ctx context.Context) (time.Duration, error) {
	timer := time.NewTimer(readyLimit)
	defer timer.Stop()
	select {
	case took := <-b.process.Ready:
		return took, nil
	case <-b.process.Done:
		return 0, fmt.Errorf("the server ended (%s), see %s", b.process.Outcome(), b.log)
	case <-timer.C:
		return 0, fmt.Errorf("the server was not ready after %s, see %s", readyLimit, b.log)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// restart ends the server in order, starts it again, and returns how long it took to be ready.
func (b *box) restart(ctx context.Context) (time.Duration, error) {
	err := b.process.Stop(readyLimit)
	if err != nil {
		return 0, fmt.Errorf("the server did not end well: %w, see %s", err, b.log)
	}
	if b.process, err = testbed.LaunchWith([]string{b.clock.Env()}, b.log, b.binary, "serve", "--config", b.config); err != nil {
		return 0, err
	}
	return b.ready(ctx)
}

// end ends everything.
func (b *box) end() {
	b.stop()
	b.wg.Wait()
	if b.process != nil {
		b.process.Kill()
	}
}

// work starts the agents. They answer at once, with a result of the size that the input asks for.
func (b *box) work(ctx context.Context) error {
	for i := range 3 {
		a, err := agent.New(agent.Options{
			URL: b.url, Name: "soak-" + strconv.Itoa(i), Capabilities: []string{"work"}, MaxConcurrentTasks: 32, Handler: answer,
			ReconnectMin: 10 * time.Millisecond, ReconnectMax: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		b.wg.Go(func() { _ = a.Run(ctx) }) // ends with stop
	}
	return nil
}

// memory returns the resident bytes of the server.
func (b *box) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.process.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, err := fmt.Sscanf(line, "RssAnon: %d kB", &kib); err == nil && n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc says nothing of the memory of the server")
}

// disk returns what the files of the store take, but for the reserve, which has always the same size.
func (b *box) disk() (total int64, err error) {
	err = filepath.WalkDir(b.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "reserve" {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			total += st.Blocks * 512
		}
		return nil
	})
	return total, err
}

// ignoreGone drops the error of a file that was removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
