package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
)

// box is the server with all that is around it: agents, and a receiver of webhooks.
type box struct {
	*testbed.Server
	clock     *testbed.Clock
	hooks     *testbed.Receiver
	delivered atomic.Int64
	agents    *testbed.Agents
}

const settings = `server: {listen: $LISTEN, environment: development}
store: {path: $DIR/data, minFree: 64MiB}
metrics: {public: true}
webhooks: {endpoints: [{url: %q, events: [execution.completed], secret: whsec_soak-is-told-all}]}
`

// newBox starts a server in a folder. What it returns is to be ended also after an error.
func newBox(ctx context.Context, dir, binary string) (b *box, err error) {
	b = &box{clock: testbed.NewClock(filepath.Join(dir, "clock"))}
	if binary, err = testbed.Product(ctx, binary, dir, testbed.ClockTag); err != nil {
		return b, err
	}
	b.hooks, err = testbed.Receive(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.delivered.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	if err != nil {
		return b, err
	}
	if b.Server, err = testbed.NewServer(binary, dir, fmt.Sprintf(settings, b.hooks.URL+"/")); err != nil {
		return b, err
	}
	b.Command.Env = []string{b.clock.Env()}
	if err := b.Bear(); err != nil {
		return b, err
	}
	if err := b.Start(ctx); err != nil {
		return b, err
	}
	return b, b.work(ctx)
}

// end ends everything.
func (b *box) end() {
	if b.agents != nil {
		_ = b.agents.End() // whoever missed them has said so
	}
	if b.hooks != nil {
		b.hooks.Close()
	}
	if b.Server != nil {
		b.Close()
	}
}

// work starts the agents. They answer at once, with a result of the size that the input asks for.
func (b *box) work(ctx context.Context) (err error) {
	b.agents, err = testbed.RunAgents(ctx, 3, func(i int) agent.Options {
		return agent.Options{
			URL: b.URL, Name: "soak-" + strconv.Itoa(i), Capabilities: []string{"work"}, MaxConcurrentTasks: 32, Handler: answer,
			ReconnectMin: 10 * time.Millisecond, ReconnectMax: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		}
	})
	return err
}

// disk returns what the files of the store take, but for the reserve, which has always the same size.
func (b *box) disk() (int64, error) {
	return testbed.DiskUse(filepath.Join(b.Dir, "data"), func(name string) bool { return name == "reserve" })
}
