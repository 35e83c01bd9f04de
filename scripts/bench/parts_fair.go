package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// fairConfigs have callers prove who they are. One has as many executions run at once as there are by default, the other few,
// so that most wait in line.
var fairConfigs = []struct{ name, engine string }{
	{"default", ""},
	{"16 slots", "engine: {maxActive: 16, maxQueued: 10000}\n"},
}

const fairConfig = "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity: {authentication: {apiKeys: {enabled: true}}}\n"

// fairShares measures what a flood of one caller does to the executions of another.
func (b *bench) fairShares(ctx context.Context) error {
	for _, c := range fairConfigs {
		if err := b.fairShare(ctx, c.name, fairConfig+c.engine); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) fairShare(ctx context.Context, name, config string) error {
	dir, err := os.MkdirTemp(b.dir, "fair-")
	if err != nil {
		return err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, config) })
	if err != nil {
		return err
	}
	defer s.stop()
	first, err := os.ReadFile(filepath.Join(dir, "store", "admin.key"))
	if err != nil {
		return err
	}
	admin, err := api.New(s.URL, api.Options{Token: strings.TrimSpace(string(first))})
	if err != nil {
		return err
	}
	defer admin.Close()
	if _, err := admin.CreatePattern(ctx, api.PatternInput{Definition: echoPattern}); err != nil {
		return err
	}
	token, err := admin.CreateAgentToken(ctx, api.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
	if err != nil {
		return err
	}
	command, err := testbed.Self(filepath.Join(b.dir, "fair-agents.log"), "agents", "-server", s.URL, "-n", "3")
	if err != nil {
		return err
	}
	command.Env = []string{"WARDROOM_TOKEN=" + token.Token}
	agents, err := command.Run(ctx)
	if err != nil {
		return err
	}
	defer stop(agents)
	as := func(who string) (request, error) {
		k, err := admin.CreateKey(ctx, api.APIKeySpec{Name: who, Scopes: []string{"execute"}}, "")
		if err != nil {
			return request{}, err
		}
		return request{
			method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK, token: k.Key,
		}, nil
	}
	ann, err := as("ann")
	if err != nil {
		return err
	}
	flood, err := as("flood")
	if err != nil {
		return err
	}
	const few, many = 4, 128 // clients
	if _, err := fire(ctx, s.Host, few, b.span(2*time.Second), ann); err != nil {
		return err
	}
	// Two callers of the same size are what one of them may expect beside another. The two are measured in turns, so that what
	// else the machine does meets both.
	var alone, crowded load
	const rounds = 4
	for range rounds {
		for _, side := range []struct {
			to     *load
			others int
		}{{&alone, few}, {&crowded, many}} {
			got, err := beside(ctx, s.Host, b.span(5*time.Second), ann, few, flood, side.others)
			if err != nil {
				return err
			}
			side.to.latencies = append(side.to.latencies, got.latencies...)
		}
	}
	slices.Sort(alone.latencies)
	slices.Sort(crowded.latencies)
	for _, q := range []struct {
		name string
		of   float64
	}{{"p50", .5}, {"p99", .99}} {
		before, after := alone.quantile(q.of), crowded.quantile(q.of)
		b.add("fair", fmt.Sprintf("%s: %d clients beside %d of another caller, %s", name, few, few, q.name), before, "%.2f ms", 0, true, "")
		b.add("fair", fmt.Sprintf("%s: %d clients beside %d of another caller, %s", name, few, many, q.name), after, "%.2f ms", 0, true, "")
		b.add("fair", name+": what a flood of another caller does to "+q.name, after/before, "%.2f times", 2, true, "")
	}
	return nil
}

// beside measures a caller while another one is at work.
func beside(ctx context.Context, host string, d time.Duration, mine request, clients int, other request, others int) (load, error) {
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { _, failed = fire(ctx, host, others, d+time.Second, other) })
	got, err := fire(ctx, host, clients, d, mine)
	wg.Wait()
	if err == nil {
		err = failed
	}
	return got, err
}
