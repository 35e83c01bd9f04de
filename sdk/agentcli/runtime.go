package agentcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/journal"
	"github.com/wardroom/wardroom/sdk/internal/filelock"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Runtime is a runtime.Runtime over a Launcher. Between Open and Close all methods may be called concurrently.
type Runtime struct {
	o        Options
	adapters map[string]Adapter
	types    []string // names of the adapters, sorted

	ctx    context.Context // of everything that runs
	cancel context.CancelFunc
	group  sync.WaitGroup // of the sessions' loops and of calls that outlive their callers
	events *journal.Journal
	lock   *os.File      // held as long as the runtime is open
	by     *sealer       // of what is stored; set by Open
	sought chan struct{} // has an element when an agent got out of reach; capacity 1

	mu      sync.Mutex // guards all below
	agents  map[string]*agent
	left    map[string]bool // ids of agents that did not start, and whose rooms could not be removed yet
	running int             // agents that run or are about to
	open    bool
}

var _ runtime.Runtime = (*Runtime)(nil)

// NewRuntime returns a runtime that is not open yet; it touches nothing. INVALID_ARGUMENT names the option
// that is wrong; INVALID_SPEC the field of a declared type.
func NewRuntime(o Options) (*Runtime, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Runtime{o: o, adapters: map[string]Adapter{}, agents: map[string]*agent{}, left: map[string]bool{}, sought: make(chan struct{}, 1)}
	for _, a := range o.Adapters {
		if r.adapters[a.Type()] != nil {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "the agent type %q has two adapters", a.Type())
		}
		r.adapters[a.Type()] = a
	}
	for name, t := range o.Types {
		if r.adapters[name] != nil {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "the agent type %q is known by itself and cannot be declared", name)
		}
		adapter, err := newDeclared(name, t)
		if err != nil {
			return nil, err
		}
		r.adapters[name] = adapter
	}
	r.types = slices.Sorted(maps.Keys(r.adapters))
	return r, nil
}

// Open reads what StateDir knows and finds the agents of an earlier process again. The context bounds that.
func (r *Runtime) Open(ctx context.Context) (err error) {
	root := r.root()
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("the state directory: %w", err)
	}
	if r.lock, err = filelock.Dir(ctx, r.o.StateDir); err != nil {
		return err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx)) // it lives until Close
	defer func() {
		if err != nil {
			r.cancel()
			r.group.Wait()
			if r.events != nil {
				_ = r.events.Close()
			}
			_ = r.lock.Close()
		}
	}()
	if r.by, err = r.o.openSealer(); err != nil {
		return err
	}
	if r.events, err = journal.Open(filepath.Join(r.o.StateDir, "events.jsonl"), r.o.KeepEvents); err != nil {
		return fmt.Errorf("the events: %w", err)
	}
	if err := r.load(ctx, root); err != nil {
		return err
	}
	r.mu.Lock()
	r.open = true
	r.mu.Unlock()
	r.group.Go(r.tend)
	return nil
}

func (r *Runtime) root() string { return filepath.Join(r.o.StateDir, "agents") }

// Close lets go of all agents and leaves them running. It returns when every goroutine of the runtime has
// ended, or with an error when ctx ends before.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	was := r.open
	r.open = false
	r.mu.Unlock()
	if !was {
		return nil
	}
	r.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.group.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("letting go of the agents: %w", ctx.Err())
	}
	for _, a := range r.all() {
		_ = a.log.Close()
	}
	return errors.Join(r.events.Close(), r.lock.Close())
}

// errClosed is what calls get before Open and after Close.
func errClosed() error {
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the runtime is not open", Retry: true}
}

// enter counts a call that Close waits for; the caller calls leave if ok.
func (r *Runtime) enter() (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return nil, errClosed()
	}
	r.group.Add(1)
	return r.group.Done, nil
}

// get returns the agent with an id. NOT_FOUND.
func (r *Runtime) get(id string) (*agent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return nil, errClosed()
	}
	a := r.agents[id]
	if a == nil {
		return nil, runtime.NotFound(id)
	}
	return a, nil
}

// all returns the agents, oldest first.
func (r *Runtime) all() []*agent {
	r.mu.Lock()
	agents := slices.Collect(maps.Values(r.agents))
	r.mu.Unlock()
	created := map[*agent]time.Time{}
	for _, a := range agents {
		a.mu.Lock()
		created[a] = a.rec.Agent.CreatedAt
		a.mu.Unlock()
	}
	slices.SortFunc(agents, func(a, b *agent) int {
		return cmp.Or(created[a].Compare(created[b]), cmp.Compare(a.id, b.id))
	})
	return agents
}

// Capabilities implements runtime.Runtime.
func (r *Runtime) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{
		Name: r.o.Name, Types: slices.Clone(r.types), Attach: true, Resize: true, Recover: !r.o.Ephemeral, Limits: r.o.EnforcesLimits,
		Images: r.o.Images, MaxAgents: r.o.MaxAgents, Isolation: r.o.Isolation, MissingTypes: r.missing(ctx),
	}, nil
}

// missing returns the types whose command the launcher does not find, sorted; nil where that cannot be told.
func (r *Runtime) missing(ctx context.Context) []string {
	finder, ok := r.o.Launcher.(Finder)
	if !ok {
		return nil
	}
	missing := []string{}
	for _, kind := range r.types {
		c, ok := r.adapters[kind].(Commander)
		if !ok {
			continue
		}
		switch _, err := finder.LookPath(ctx, c.Command()); {
		case runtime.ErrorCode(err) == runtime.CodeCLINotFound:
			missing = append(missing, kind)
		case err != nil:
			r.o.Logger.Debug("it cannot be told whether a command is there", "type", kind, "error", err)
			return nil
		}
	}
	return missing
}

// Inspect implements runtime.Runtime.
func (r *Runtime) Inspect(_ context.Context, id string) (runtime.Agent, error) {
	a, err := r.get(id)
	if err != nil {
		return runtime.Agent{}, err
	}
	a.mu.Lock()
	started := a.rec.Life > 0
	a.mu.Unlock()
	if !started {
		return runtime.Agent{}, runtime.NotFound(id) // its first start is under way
	}
	return a.view(), nil
}

// List implements runtime.Runtime.
func (r *Runtime) List(_ context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	r.mu.Lock()
	open := r.open
	r.mu.Unlock()
	if !open {
		return nil, errClosed()
	}
	list := []runtime.Agent{}
	for _, a := range r.all() {
		a.mu.Lock()
		match := (filter.Installation == "" || filter.Installation == a.rec.Spec.Installation) && a.rec.Life > 0
		for name, value := range filter.Labels {
			match = match && a.rec.Spec.Labels[name] == value
		}
		a.mu.Unlock()
		if match {
			list = append(list, a.view())
		}
	}
	return list, nil
}

// Events implements runtime.Runtime.
func (r *Runtime) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	leave, err := r.enter() // without the lock, which Prune takes while it holds the journal's
	if err != nil {
		return nil, err
	}
	defer leave()
	return r.events.Read(ctx, opts), nil
}

// Logs implements runtime.Runtime.
func (r *Runtime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	a, err := r.get(id)
	if err != nil {
		return nil, err
	}
	if opts.Tail < 0 {
		e := runtime.Errorf(runtime.CodeInvalidArgument, "%d is negative", opts.Tail)
		e.Field = "tail"
		return nil, e
	}
	stream, err := a.log.Read(ctx, opts)
	if err != nil {
		r.o.Logger.Error("the log of an agent cannot be read", "agent", id, "error", err)
		return nil, runtime.Errorf(runtime.CodeInternal, "the log of agent %q cannot be read", id)
	}
	return stream, nil
}
