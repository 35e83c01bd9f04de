package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/backoff"
	"github.com/wardroom/wardroom/sdk/internal/filelock"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Labels that agents of an Edge carry at the runtime.
const (
	LabelEdge      = "wardroom.edge" // Options.Name
	LabelThread    = "wardroom.thread"
	LabelExecution = "wardroom.execution"
)

// Defaults of Options.
const (
	DefaultMax          = 4
	DefaultCloneTimeout = 10 * time.Minute
)

// Options make an Edge. URL, Name, Runtime and Root are required.
type Options struct {
	// URL is the base address of the server.
	URL string
	// Token is sent as the bearer credential, when not empty.
	Token string
	// Name is what people see in the list of agents, and what tells the agents of this Edge at the runtime from others.
	Name string
	// Region is free text, shown in the list of agents.
	Region string
	// TLS configures https and wss. nil: the system's roots.
	TLS *tls.Config

	// Runtime runs the agents, for example that of sdk/runtime/client. Its agents must work on the file system
	// that Root is on.
	Runtime runtime.Runtime
	// RuntimeHint, when not empty, is logged where Runtime does not answer: how to start or name it.
	RuntimeHint string
	// Types are the agent types that are offered. Empty: all that the runtime knows.
	Types []string
	// Max is how many threads run at once. 0: 4.
	Max int

	// Root is a directory for the state and the threads' directories, made with mode 0700 if it is missing. Only one
	// process at a time can use it.
	Root string
	// Git is the program that clones repositories. "": git.
	Git string
	// CloneTimeout bounds a clone. 0: 10 minutes.
	CloneTimeout time.Duration
	// AllowFile lets repositories be local paths (file://), which any caller of the server could name then.
	AllowFile bool

	// Logger gets what is worth a line. nil: nothing is logged.
	Logger *slog.Logger
}

// Edge hosts threads. Make it with New, serve with Run.
type Edge struct {
	opts Options
	work sync.WaitGroup // of followers

	mu   sync.Mutex      // guards all below
	runs map[string]*run // by thread id
	made map[string]bool // ids of the threads whose agents are being spawned
	ctx  context.Context // of Run
	host *agent.Agent    // once Run has made it
	once sync.Once       // of the look for agents without a thread
}

// New checks the options. It touches nothing.
func New(opts Options) (*Edge, error) {
	var problems []error
	if opts.Name == "" {
		problems = append(problems, errors.New("name is empty"))
	}
	if opts.Runtime == nil {
		problems = append(problems, errors.New("runtime is nil"))
	}
	if !filepath.IsAbs(opts.Root) {
		problems = append(problems, fmt.Errorf("root %q is not an absolute path", opts.Root))
	}
	if opts.Max < 0 {
		problems = append(problems, fmt.Errorf("max is %d, must not be negative", opts.Max))
	}
	if opts.CloneTimeout < 0 {
		problems = append(problems, fmt.Errorf("clone timeout %s is negative", opts.CloneTimeout))
	}
	opts.Max = cmp.Or(opts.Max, DefaultMax)
	opts.CloneTimeout = cmp.Or(opts.CloneTimeout, DefaultCloneTimeout)
	opts.Git = cmp.Or(opts.Git, "git")
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	e := &Edge{opts: opts, runs: map[string]*run{}, made: map[string]bool{}}
	// The types may be known only by the runtime; whatever else is wrong is found now.
	types := opts.Types
	if len(types) == 0 {
		types = []string{"any"}
	}
	if _, err := agent.New(e.agentOptions(types)); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("edge: bad options: %w", errors.Join(problems...))
	}
	return e, nil
}

// Run serves until ctx ends, and then returns nil; the threads go on without it. It returns an *agent.ConnectError
// when the server refuses this agent for good, and another error when the root cannot be used. Call it once.
func (e *Edge) Run(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(e.opts.Root, "threads"), 0o700); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	// Two that share a root would take the session from each other for ever, and each run the other's threads.
	root, err := filelock.Dir(ctx, e.opts.Root)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("edge: %w", err)
	}
	defer root.Close()
	types := e.opts.Types
	if len(types) == 0 {
		if types = e.typesOfRuntime(ctx); len(types) == 0 {
			return nil // ctx ended
		}
	}
	a, err := agent.New(e.agentOptions(types))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.mu.Lock()
	e.ctx, e.host = ctx, a
	e.mu.Unlock()
	err = a.Run(ctx)
	cancel()
	e.work.Wait()
	return err
}

func (e *Edge) agentOptions(types []string) agent.Options {
	return agent.Options{
		URL: e.opts.URL, Token: e.opts.Token, Name: e.opts.Name, Region: e.opts.Region, TLS: e.opts.TLS, Logger: e.opts.Logger,
		StateFile:    filepath.Join(e.opts.Root, "session.json"),
		OnRegistered: e.registered,
		Threads: &agent.ThreadOptions{
			Max: e.opts.Max, Types: types, Host: (*host)(e), StateDir: filepath.Join(e.opts.Root, "state"),
		},
	}
}

// ID returns the id that the server gave to the agent, or "".
func (e *Edge) ID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.host == nil {
		return ""
	}
	return e.host.ID()
}

// typesOfRuntime asks the runtime for its agent types, until it answers with some or ctx ends.
func (e *Edge) typesOfRuntime(ctx context.Context) []string {
	pause, told := newRetry(), ""
	for {
		caps, err := e.opts.Runtime.Capabilities(ctx)
		if err == nil && len(caps.Types) > 0 {
			return caps.Types
		}
		if ctx.Err() != nil {
			return nil
		}
		if why := fmt.Sprint(err); why != told { // once for each reason: it may last
			told = why
			args := []any{"error", err}
			if e.opts.RuntimeHint != "" {
				args = append(args, "hint", e.opts.RuntimeHint)
			}
			e.opts.Logger.Warn("edge: the runtime tells no agent types; it is asked until it does", args...)
		}
		if !pause.Wait(ctx) {
			return nil
		}
	}
}

// registered has agents of an earlier session stopped: a server that begins anew knows nothing of them.
func (e *Edge) registered(r protocol.Registered) {
	if r.Resumed {
		e.once.Do(func() {})
		return
	}
	e.once.Do(func() {
		e.mu.Lock()
		ctx := e.ctx
		e.mu.Unlock()
		e.work.Go(func() { e.stopOrphans(ctx) })
	})
}

// stopOrphans stops agents of this Edge that belong to no thread. It tries until the runtime has done it.
func (e *Edge) stopOrphans(ctx context.Context) {
	e.insist(ctx, "edge: cannot stop all agents of earlier threads; it is tried again", "", func() error {
		return e.stopAll(ctx, map[string]string{LabelEdge: e.opts.Name}, false)
	})
}

// insist does something about a thread until it worked, or ctx ends.
func (e *Edge) insist(ctx context.Context, failed, threadID string, do func() error) {
	pause := newRetry()
	for err := do(); err != nil; err = do() {
		e.opts.Logger.Warn(failed, "thread", threadID, "error", err)
		if !pause.Wait(ctx) {
			return
		}
	}
}

// known reports whether an agent of the runtime belongs to a thread, or is being spawned for one.
func (e *Edge) known(a runtime.Agent) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.made[a.Labels[LabelThread]] {
		return true
	}
	for _, r := range e.runs {
		if r.agentID == a.ID && r.goesOn() {
			return true
		}
	}
	return false
}

// making notes whether an agent is being spawned for a thread.
func (e *Edge) making(threadID string, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if on {
		e.made[threadID] = true
	} else {
		delete(e.made, threadID)
	}
}

// newRetry makes the wait from try to try of what the runtime or the disk may take later.
func newRetry() *backoff.Backoff {
	return &backoff.Backoff{Min: 100 * time.Millisecond, Max: 10 * time.Second}
}
