package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// fairConfig has callers prove who they are, and lets few executions run at once, so that the others wait in line.
const fairConfig = "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nengine: {maxActive: 16, maxQueued: 10000}\n" +
	"security: {authentication: {apiKeys: {enabled: true}}}\n"

// fairShares measures what a flood of one caller does to the executions of another.
func (b *bench) fairShares(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.dir, "fair-")
	if err != nil {
		return err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, fairConfig) })
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
	// Two callers of the same size are what one of them may expect beside another.
	alone, err := beside(ctx, s.Host, b.span(10*time.Second), ann, few, flood, few)
	if err != nil {
		return err
	}
	crowded, err := beside(ctx, s.Host, b.span(10*time.Second), ann, few, flood, many)
	if err != nil {
		return err
	}
	ratio := crowded.quantile(.99) / alone.quantile(.99)
	b.add("fair", fmt.Sprintf("%d clients beside %d of another caller, p99", few, few), alone.quantile(.99), "%.2f ms", 0, true, "")
	b.add("fair", fmt.Sprintf("%d clients beside %d of another caller, p99", few, many), crowded.quantile(.99), "%.2f ms", 0, true, "")
	b.add("fair", "what a flood of another caller does to p99", ratio, "%.2f times", 2, true, "")
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
