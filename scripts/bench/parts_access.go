package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// Sizes that decisions are measured with.
const (
	accessRoles    = 200
	accessBindings = 2000
)

// access measures what security costs: CPU time, since how long something takes is the business of all that a machine does.
func (b *bench) access(ctx context.Context) error {
	for _, measure := range []func(context.Context) error{b.accessRequests, b.accessDecisions, b.accessKeys} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// securedConfig has everything on that a request goes through.
func securedConfig() string {
	var c strings.Builder
	c.WriteString("server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n" +
		"  rateLimit: {enabled: true, perClient: {requestsPerSecond: 1000000, burstSize: 1000000}}\n  rbac:\n    enabled: true\n    roles:\n")
	for i := range accessRoles {
		fmt.Fprintf(&c, "      - {name: role%d, permissions: [{resource: patterns, actions: [read]}, {resource: executions, actions: [create, read]}]}\n", i)
	}
	c.WriteString("    bindings:\n")
	for i := range accessBindings {
		fmt.Fprintf(&c, "      - {subject: {type: user, name: user%d}, role: role%d}\n", i, i%accessRoles)
	}
	return c.String()
}

// side is one of two servers that are compared.
type side struct {
	*server
	agents *testbed.Process
	token  string
}

func (s *side) end() {
	if s.agents != nil {
		stop(s.agents)
	}
	s.stop()
}

// openSide is a server without security, and securedSide one with all of it; agents answer on both.
func (b *bench) openSide(ctx context.Context) (*side, error) {
	s, err := b.serve(ctx, "")
	if err != nil {
		return nil, err
	}
	out := &side{server: s}
	if out.agents, err = b.withAgents(ctx, s); err != nil {
		s.stop()
		return nil, err
	}
	return out, nil
}

func (b *bench) securedSide(ctx context.Context) (out *side, err error) {
	dir, err := os.MkdirTemp(b.dir, "access-")
	if err != nil {
		return nil, err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, securedConfig()) })
	if err != nil {
		return nil, err
	}
	out = &side{server: s}
	defer func() {
		if err != nil {
			out.end()
		}
	}()
	first, err := os.ReadFile(filepath.Join(dir, "store", "admin.key"))
	if err != nil {
		return nil, err
	}
	admin, err := api.New(s.URL, api.Options{Token: strings.TrimSpace(string(first))})
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if _, err := admin.CreatePattern(ctx, api.PatternInput{Definition: echoPattern}); err != nil {
		return nil, err
	}
	key, err := admin.CreateKey(ctx, api.APIKeySpec{Name: "bench", Owner: "user77", Scopes: []string{"execute", "read"}}, "")
	if err != nil {
		return nil, err
	}
	out.token = key.Key
	token, err := admin.CreateAgentToken(ctx, api.AgentTokenSpec{Capabilities: []string{"echo"}}, "")
	if err != nil {
		return nil, err
	}
	command, err := testbed.Self(filepath.Join(dir, "agents.log"), "agents", "-server", s.URL, "-n", "3")
	if err != nil {
		return nil, err
	}
	command.Env = []string{"WARDROOM_TOKEN=" + token.Token}
	out.agents, err = command.Run(ctx)
	return out, err
}

// accessRequests measures requests with and without security, in turns.
func (b *bench) accessRequests(ctx context.Context) error {
	open, err := b.openSide(ctx)
	if err != nil {
		return err
	}
	defer open.end()
	secured, err := b.securedSide(ctx)
	if err != nil {
		return err
	}
	defer secured.end()
	const rounds = 5
	// each returns the CPU time of a request of each side, in microseconds, and how many there were a second: the medians.
	each := func(req request) (cpu, rate [2]float64, err error) {
		var cpus, rates [2][]float64
		for range rounds {
			for i, s := range []*side{open, secured} {
				req.token = s.token
				before := testbed.CPUTime(s.PID())
				l, err := fire(ctx, s.Host, 16, b.span(3*time.Second), req)
				if err != nil {
					return cpu, rate, err
				}
				cpus[i] = append(cpus[i], float64((testbed.CPUTime(s.PID())-before).Microseconds())/float64(l.requests))
				rates[i] = append(rates[i], l.perSecond())
			}
		}
		for i := range cpus {
			slices.Sort(cpus[i])
			slices.Sort(rates[i])
			cpu[i], rate[i] = cpus[i][rounds/2], rates[i][rounds/2]
		}
		return cpu, rate, nil
	}
	cpu, _, err := each(request{method: http.MethodGet, path: "/api/patterns/bench-echo", want: http.StatusOK})
	if err != nil {
		return err
	}
	b.add("access", "GET pattern without security, CPU", cpu[0], "%.1f µs", 0, true, "")
	b.add("access", "GET pattern, authenticated, authorized and limited, CPU more", cpu[1]-cpu[0], "%.1f µs", 60, true, "")
	cpu, rate, err := each(request{
		method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK,
	})
	if err != nil {
		return err
	}
	b.add("access", "sync execute with security, of what it is without, by CPU of the core", cpu[0]/cpu[1], "%.2f", 0.9, false,
		fmt.Sprintf("%.0f µs each, without %.0f", cpu[1], cpu[0]))
	b.add("access", "sync execute with security, of what it is without, by rate", rate[1]/rate[0], "%.2f", 0, false, "")
	return nil
}

// threadCPU returns the CPU time of the calling thread.
func threadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// accessDecisions measures the built-in policy with many roles and bindings.
func (b *bench) accessDecisions(ctx context.Context) error {
	c := policy.Config{RBAC: true, Roles: map[string][]string{}}
	for i := range accessRoles {
		c.Roles[fmt.Sprint("role", i)] = []string{"patterns:read", "executions:create", "executions:read"}
	}
	for i := range accessBindings {
		c.Bindings = append(c.Bindings, policy.Binding{Type: "user", Name: fmt.Sprint("user", i), Role: fmt.Sprint("role", i%accessRoles)})
	}
	e, err := policy.New(ctx, c)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	measure := func(fresh bool) (p50, p99 float64, err error) {
		n := 20_000
		if b.quick {
			n /= 10
		}
		took := make([]time.Duration, 0, n)
		for i := range n {
			p := core.Principal{Kind: core.PrincipalAPIKey, ID: "user77", Name: "bench", Scopes: []string{"execute"}}
			if fresh { // a question that was not asked before
				p.ID, p.KeyID = fmt.Sprint("user", i%accessBindings), fmt.Sprint(i)
			}
			began := threadCPU()
			ruling := e.Decide(ctx, p, core.Access{Action: "executions.create", Resource: "executions", Scope: core.ScopeExecutionsCreate})
			took = append(took, threadCPU()-began)
			if !ruling.Allowed {
				return 0, 0, fmt.Errorf("refused: %s", ruling.Reason)
			}
		}
		slices.Sort(took)
		micros := func(q float64) float64 { return float64(testbed.Quantile(took, q).Nanoseconds()) / 1000 }
		return micros(.5), micros(.99), nil
	}
	p50, p99, err := measure(true)
	if err != nil {
		return err
	}
	b.add("access", fmt.Sprintf("decision, %d roles, %d bindings, CPU, p99", accessRoles, accessBindings), p99, "%.1f µs", 200, true, fmt.Sprintf("p50 %.1f µs", p50))
	if p50, p99, err = measure(false); err != nil {
		return err
	}
	b.add("access", "decision that was made before, CPU, p99", p99, "%.1f µs", 5, true, fmt.Sprintf("p50 %.1f µs", p50))
	return nil
}

// accessKeys measures the first look-up of each of some keys since the start, among few and among many.
func (b *bench) accessKeys(ctx context.Context) error {
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(b.dir, "keys"), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	ids := core.NewIDs(core.SystemClock{})
	fresh := func() *access.Service {
		return access.New(access.Options{Store: s, Clock: core.SystemClock{}, IDs: ids, Pepper: [32]byte{1}})
	}
	const tried, more = 1000, 99_000
	maker := fresh()
	keys := make([]string, tried)
	for i := range keys {
		k, err := maker.CreateKey(ctx, core.APIKeySpec{Name: fmt.Sprint("key", i), Scopes: []string{"read"}, Never: true})
		if err != nil {
			return err
		}
		keys[i] = k.Key
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var opened time.Duration
	measure := func() (float64, error) {
		service := fresh()
		began := time.Now()
		if err := service.Open(ctx); err != nil {
			return 0, err
		}
		defer service.Close()
		opened = time.Since(began)
		took := make([]time.Duration, 0, len(keys))
		for _, key := range keys {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+key)
			began := threadCPU()
			_, err := service.Authenticate(r)
			took = append(took, threadCPU()-began)
			if err != nil {
				return 0, err
			}
		}
		slices.Sort(took)
		return float64(testbed.Quantile(took, .5).Nanoseconds()) / 1000, nil
	}
	few, err := measure()
	if err != nil {
		return err
	}
	for from := 0; from < more; from += 1000 {
		err := s.Update(ctx, func(tx core.Tx) error {
			for i := range 1000 {
				rec := &core.APIKeyRecord{
					APIKey: core.APIKey{ID: ids.New(core.PrefixAPIKey), Name: fmt.Sprint("other", from+i), Owner: "x", Scopes: []string{"read"}, CreatedAt: time.Now()},
					Hashes: []core.KeyHash{{MAC: make([]byte, 32)}},
				}
				if err := tx.PutAPIKey(rec); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	many, err := measure()
	if err != nil {
		return err
	}
	b.add("access", fmt.Sprintf("first look-up of a key, of %d, CPU", tried), few, "%.1f µs", 0, true, "")
	b.add("access", fmt.Sprintf("first look-up of a key, of %d, against that", more+tried), many/few, "%.2f times", 1.5, true, fmt.Sprintf("%.1f µs; they were read in %.1f s at the start", many, opened.Seconds()))
	return nil
}
