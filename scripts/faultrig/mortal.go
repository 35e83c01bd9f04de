package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// mortal is one more managed agent, of which a process is killed in its round: the one that holds its terminal, or its command.
// That it has ended must be known, whatever else is away at that moment; nothing of it may be left; and it must start again.
type mortal struct {
	shells *shells
	agent  *shellAgent
	holder bool // else the command
	after  time.Duration
	key    string
}

func newMortal(s *shells, key string, random *rand.Rand) *mortal {
	return &mortal{shells: s, key: key, holder: random.IntN(2) == 0, after: time.Duration(random.Int64N(int64(killWithin)))}
}

func (m *mortal) what() string {
	if m.holder {
		return "holder"
	}
	return "command"
}

// begin spawns the agent.
func (m *mortal) begin(ctx context.Context) error {
	r, err := m.shells.caller.call(ctx, http.MethodPost, managedAgents, m.key, fmt.Appendf(nil, `{"type":"shell","name":%q}`, m.key))
	if err != nil {
		return err
	}
	if r.status != http.StatusCreated {
		return &unexpectedError{"POST " + managedAgents, r}
	}
	var a agentRecord
	if err := r.into(&a); err != nil {
		return err
	}
	m.agent = &shellAgent{id: a.ID, pid: a.PID}
	return (&shells{caller: m.shells.caller, all: []*shellAgent{m.agent}}).settle(ctx)
}

// die kills the process and proves what comes of it. An error is a broken promise.
func (m *mortal) die(ctx context.Context) error {
	if !pause(ctx, m.after) {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	pid := m.agent.pid
	if m.holder {
		pid = testbed.Parent(pid)
	}
	if pid <= 1 {
		return fmt.Errorf("lost: the %s of agent %s, process %d, ended by itself", m.what(), m.agent.id, m.agent.pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	a, err := m.await(ctx, "end", func(a agentRecord) bool { return a.Status == "stopped" || a.Status == "error" })
	if err != nil {
		return err
	}
	if want := map[bool]string{true: "lost", false: "exited"}[m.holder]; a.StatusReason != want {
		return fmt.Errorf("told wrongly: the %s of agent %s was killed, and it has ended as %q, not as %q", m.what(), m.agent.id, a.StatusReason, want)
	}
	if err := m.gone(ctx); err != nil {
		return err
	}
	for _, step := range []struct{ method, path, body string }{
		{http.MethodPost, "/restart", "{}"}, {http.MethodPost, "/send", `{"message":"echo back","expectResponse":true}`}, {http.MethodDelete, "", ""},
	} {
		if err := m.ask(ctx, step.method, step.path, step.body); err != nil {
			return err
		}
	}
	return m.gone(ctx)
}

// ask sends a request until it is neither refused for something that is away, nor lost.
func (m *mortal) ask(ctx context.Context, method, path, body string) error {
	path = managedAgents + "/" + m.agent.id + path
	for {
		r, err := m.shells.caller.call(ctx, method, path, "", []byte(body))
		switch {
		case errors.Is(err, errLost):
		case err != nil:
			return err
		case r.status < http.StatusBadRequest:
			return nil
		case path == managedAgents+"/"+m.agent.id+"/restart" && r.status == http.StatusConflict: // an answer was lost: it runs
			return nil
		case r.status < http.StatusInternalServerError && r.status != http.StatusConflict:
			return &unexpectedError{method + " " + path, r}
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%s %s: no answer in time: %.300s", method, path, r.body)
		}
	}
}

// await waits until the agent is as it should be.
func (m *mortal) await(ctx context.Context, what string, holds func(agentRecord) bool) (a agentRecord, err error) {
	for {
		r, found, err := m.shells.caller.get(ctx, managedAgents+"/"+m.agent.id, &a)
		switch {
		case err != nil:
			return a, err
		case !found:
			return a, fmt.Errorf("lost: the agent %s is not known any more", m.agent.id)
		case holds(a):
			return a, nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return a, fmt.Errorf("the %s of agent %s, whose %s was killed, is not known: %.500s", what, m.agent.id, m.what(), r.body)
		}
	}
}

// gone waits until no process of the agent is left.
func (m *mortal) gone(ctx context.Context) error {
	for {
		left, err := testbed.OfAgents(m.agent.id)
		if err != nil || len(left) == 0 {
			return err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("orphans: the agent %s is stopped, and has the processes %v", m.agent.id, left)
		}
	}
}
