package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// load is the clients of one round. They go on over kills until they are stopped, and then finish what they
// have begun.
type load struct {
	caller  *caller
	told    *told
	prefix  string // of nonces: names the run and the round
	made    atomic.Int64
	stopped chan struct{} // closed: begin nothing new
	wg      sync.WaitGroup
}

// begin starts the clients. ctx bounds everything they do.
func begin(ctx context.Context, c *caller, prefix string, random *rand.Rand) *load {
	l := &load{caller: c, told: &told{}, prefix: prefix, stopped: make(chan struct{})}
	for _, kind := range []struct {
		clients int
		act     func(*client, context.Context) error
	}{{3, (*client).sync}, {4, (*client).async}, {3, (*client).stream}, {1, (*client).batch}, {1, (*client).pattern}} {
		for range kind.clients {
			own := &client{load: l, random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
			l.wg.Go(func() { own.repeat(ctx, kind.act) })
		}
	}
	return l
}

// finish stops the clients and waits for them.
func (l *load) finish() {
	close(l.stopped)
	l.wg.Wait()
}

// client is one of them. Not safe for concurrent use.
type client struct {
	*load
	random *rand.Rand
}

// repeat acts until the load is stopped. A client that met something no fault explains says so and ends.
func (c *client) repeat(ctx context.Context, act func(*client, context.Context) error) {
	for {
		select {
		case <-c.stopped:
			return
		default:
		}
		if err := act(c, ctx); err != nil {
			c.told.problem(err)
			return
		}
		if !pause(ctx, time.Duration(c.random.IntN(15))*time.Millisecond) {
			return
		}
	}
}

func (c *client) chance(percent int) bool { return c.random.IntN(100) < percent }

// nonce names one request of the whole run.
func (c *client) nonce() string { return fmt.Sprintf("%s-%d", c.prefix, c.made.Add(1)) }

// job is one execution to be asked for.
type job struct {
	pattern, nonce, key string
	input               json.RawMessage
	body                []byte
}

// job draws an execution. Most have a key; one without is never sent again.
func (c *client) job() (job, error) {
	all := allWorkloads()
	w := all[c.random.IntN(len(all))]
	return c.jobOf(w.name, w.flaky && c.chance(20))
}

func (c *client) jobOf(pattern string, flaky bool) (job, error) {
	j := job{pattern: pattern, nonce: c.nonce()}
	if c.chance(80) {
		j.key = j.nonce
	}
	j.input = taskInput{Text: j.nonce, Delay: c.random.IntN(40), Flaky: flaky}.raw()
	var err error
	j.body, err = json.Marshal(map[string]any{"input": j.input, "options": c.options(j.nonce)})
	return j, err
}

var priorities = []string{"low", "normal", "high", "critical"}

func (c *client) options(nonce string) map[string]any {
	return map[string]any{
		"timeout": 120_000, "priority": priorities[c.random.IntN(len(priorities))],
		"metadata": map[string]string{"nonce": nonce},
	}
}

// started is the answer to whatever starts an execution.
type started struct {
	ExecutionID    string          `json:"executionId"`
	NewExecutionID string          `json:"newExecutionId"`
	BatchID        string          `json:"batchId"`
	Status         string          `json:"status"`
	Result         json.RawMessage `json:"result"`
}

func (s started) id() string {
	for _, id := range []string{s.ExecutionID, s.NewExecutionID} {
		if id != "" {
			return id
		}
	}
	return s.BatchID
}

// readStarted reads an answer that must have the status and name an id.
func readStarted(r reply, want int) (started, error) {
	var s started
	if r.status != want {
		return s, &unexpectedError{"a start", r}
	}
	if err := r.into(&s); err != nil {
		return s, err
	}
	if s.id() == "" {
		return s, &unexpectedError{"a start", r}
	}
	return s, nil
}

// start sends a request that creates work. ok is false when the core died over one without a key.
func (c *client) start(ctx context.Context, path, key string, body []byte, want int, p proof.Promise) (s started, ok bool, err error) {
	r, err := c.caller.call(ctx, http.MethodPost, path, key, body)
	if errors.Is(err, errLost) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if s, err = readStarted(r, want); err != nil {
		return s, false, err
	}
	p.Key = key
	p = s.fill(p, want)
	var again *resend
	if key != "" {
		again = &resend{path: path, key: key, body: body, want: want}
	}
	c.told.promise(p, again)
	return s, true, nil
}

// fill takes what the answer says into a promise.
func (s started) fill(p proof.Promise, status int) proof.Promise {
	p.ID = s.id()
	if p.Kind == proof.PromiseExecution && status == http.StatusOK {
		p.Status, p.Result = s.Status, s.Result
	}
	return p
}

// sync runs a pattern and waits for the outcome.
func (c *client) sync(ctx context.Context) error {
	j, err := c.job()
	if err != nil {
		return err
	}
	_, _, err = c.start(ctx, "/api/patterns/"+j.pattern+"/execute", j.key, j.body, http.StatusOK,
		proof.Promise{Kind: proof.PromiseExecution, Input: j.input})
	return err
}
