package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// RuntimeOptions say what is checked.
type RuntimeOptions struct {
	// Runtime is the runtime under test. The checks leave other agents in it alone, and remove their own.
	Runtime runtime.Runtime
	// Spec returns the spec of an agent that behaves as a shell: it takes a line, runs it as sh does, and writes
	// what comes out. Nil: a declared type with the command sh.
	Spec func(id string) runtime.Spec
	// Kill ends the runtime's process as SIGKILL does, and returns the runtime of a new process over the same
	// state. Nil: what a crash leaves is not checked.
	Kill func(ctx context.Context) (runtime.Runtime, error)
	// Lose does as Kill does, but over an empty state, when the agents of the checks have stopped. Nil: a loss of the state is not
	// checked.
	Lose func(ctx context.Context) (runtime.Runtime, error)
	// Sever cuts the connections between the runtime and the places where its agents run, and returns what mends them. Nil:
	// what a cut connection leaves is not checked.
	Sever func(ctx context.Context) (mend func(), err error)
	// State is the directory in which the runtime keeps what must survive it. Its files are searched for secrets, and for what
	// was said by agents that are gone. Empty: they are not.
	State string
	// Timeout bounds each check; 0: a minute.
	Timeout time.Duration
	// Only are names of checks, such as recover/busy, or of groups of them, such as recover; the others are left out. Empty:
	// all are run.
	Only []string
}

// Runtime checks a runtime as subtests of t.
func Runtime[T Tester[T]](ctx context.Context, t T, o RuntimeOptions) {
	t.Helper()
	s := newSuite(o)
	defer func() {
		if err := s.close(); err != nil {
			t.Errorf("the agents of the checks cannot be removed: %v", err)
		}
	}()
	checks := runtimeChecks()
	if len(o.Only) > 0 {
		checks = slices.DeleteFunc(checks, func(c check[*suite]) bool {
			group, _, _ := strings.Cut(c.name, "/")
			return !slices.Contains(o.Only, c.name) && !slices.Contains(o.Only, group)
		})
		if len(checks) == 0 {
			t.Errorf("there is no check %v", o.Only)
		}
	}
	runAll(ctx, t, checks, s, s.timeout)
}

// runtimeChecks returns every promise of runtime.Runtime that can be seen from outside.
func runtimeChecks() []check[*suite] {
	var all []check[*suite]
	for _, group := range [][]check[*suite]{
		spawnChecks, stopChecks, sendChecks, outputChecks, viewerChecks, eventChecks, logChecks, streamChecks, secretsChecks, recoverChecks,
	} {
		all = append(all, group...)
	}
	return all
}

// suite is the subject of the checks of a runtime.
type suite struct {
	spec         func(id string) runtime.Spec
	restart      func(ctx context.Context) (runtime.Runtime, error)
	lose         func(ctx context.Context) (runtime.Runtime, error)
	sever        func(ctx context.Context) (func(), error)
	timeout      time.Duration
	installation string // of all agents of the suite
	state        string // directory; empty: it is not known

	mu      sync.Mutex // guards all below
	runtime runtime.Runtime
	made    []string // ids of agents
}

func newSuite(o RuntimeOptions) *suite {
	s := &suite{spec: o.Spec, restart: o.Kill, lose: o.Lose, sever: o.Sever, timeout: o.Timeout, runtime: o.Runtime, state: o.State, installation: "conformance-" + rand.Text()}
	if s.spec == nil {
		s.spec = func(id string) runtime.Spec {
			return runtime.Spec{ID: id, Type: "sh", Declared: &runtime.DeclaredType{Command: "sh", Exit: "exit"}}
		}
	}
	if s.timeout <= 0 {
		s.timeout = time.Minute
	}
	return s
}

func (s *suite) rt() runtime.Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runtime
}

// newSpec returns the spec of an agent with a new id.
func (s *suite) newSpec() runtime.Spec {
	spec := s.spec("c-" + rand.Text())
	spec.Installation = s.installation
	s.mu.Lock()
	s.made = append(s.made, spec.ID)
	s.mu.Unlock()
	return spec
}

// agent starts an agent and waits until it is ready.
func (s *suite) agent(ctx context.Context) (runtime.Agent, error) { return s.agentOf(ctx, s.newSpec()) }

func (s *suite) agentOf(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	if _, err := s.rt().Spawn(ctx, spec); err != nil {
		return runtime.Agent{}, fmt.Errorf("Spawn: %w", err)
	}
	return s.await(ctx, spec.ID, runtime.StatusReady)
}

// withAgent is a check of an agent that is ready, and is stopped after it.
func withAgent(check func(ctx context.Context, s *suite, id string) error) func(context.Context, *suite) error {
	return func(ctx context.Context, s *suite) error {
		agent, err := s.agent(ctx)
		if err != nil {
			return err
		}
		defer s.drop(ctx, agent.ID)
		return check(ctx, s, agent.ID)
	}
}

// await waits until an agent has a status.
func (s *suite) await(ctx context.Context, id string, status runtime.Status) (runtime.Agent, error) {
	var agent runtime.Agent
	err := eventually(ctx, func() error {
		var err error
		if agent, err = s.rt().Inspect(ctx, id); err != nil {
			return fmt.Errorf("Inspect: %w", err)
		}
		if agent.Status != status {
			return fmt.Errorf("agent %s is %s (%s) and should become %s", id, agent.Status, agent.Reason, status)
		}
		return nil
	})
	return agent, err
}

// ask sends a line and returns the text of the response.
func (s *suite) ask(ctx context.Context, id, line string) (string, error) {
	result, err := s.rt().Send(ctx, id, runtime.Input{Message: line, ExpectResponse: true})
	if err != nil {
		return "", fmt.Errorf("Send(%q): %w", line, err)
	}
	if !result.Sent || result.Response == nil {
		return "", fmt.Errorf("Send(%q) with ExpectResponse returned sent %v and response %v", line, result.Sent, result.Response)
	}
	return result.Response.Text, nil
}

// drop stops an agent at once; the checks call it when they are done with one.
func (s *suite) drop(ctx context.Context, id string) {
	// What cannot be stopped is found by close, which reports it.
	_ = s.rt().Stop(ctx, id, runtime.StopOptions{Force: true})
}

// close removes every agent of the suite.
func (s *suite) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	s.mu.Lock()
	made := s.made
	s.mu.Unlock()
	var failed error
	for _, id := range made {
		if err := s.rt().Stop(ctx, id, runtime.StopOptions{Force: true}); err != nil && runtime.ErrorCode(err) != runtime.CodeNotFound {
			failed = errors.Join(failed, err)
		}
	}
	_, err := s.rt().Prune(ctx, runtime.PruneOptions{Installation: s.installation})
	if runtime.ErrorCode(err) == runtime.CodeUnimplemented {
		err = nil
	}
	return errors.Join(failed, err)
}

// eventually tries until f succeeds or ctx ends, and returns f's last error then.
func eventually(ctx context.Context, f func() error) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// wantCode checks the code of an error.
func wantCode(what string, err error, codes ...runtime.Code) error {
	if err == nil {
		return fmt.Errorf("%s returned no error and should be %v", what, codes)
	}
	var e *runtime.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s returned %w, which is no *runtime.Error", what, err)
	}
	if slices.Contains(codes, e.Code) {
		return nil
	}
	return fmt.Errorf("%s returned %w and should be %v", what, err, codes)
}
