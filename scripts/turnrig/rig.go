package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// errBroken says that a promise was broken; what, is printed.
var errBroken = errors.New("a promise was broken")

// rig is one run.
type rig struct {
	options options
	out     io.Writer
	dir     string
	binary  string
	server  *testbed.Server
	actors  []*actor
	began   time.Time
	kills   map[string]int

	mu sync.Mutex // guards the output
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	r := &rig{options: o, out: out, began: time.Now(), kills: map[string]int{}}
	if r.dir, err = os.MkdirTemp("", "turnrig"); err != nil {
		return err
	}
	defer func() {
		if err == nil && !o.keep {
			_ = os.RemoveAll(r.dir)
			return
		}
		fmt.Fprintln(out, "data and logs:", r.dir)
	}()
	fmt.Fprintf(out, "seed %d\n", o.seed)
	random := rand.New(rand.NewPCG(o.seed, 0))
	if err := r.begin(ctx); err != nil {
		return errors.Join(err, r.end())
	}
	err = r.drive(ctx, random)
	if ctx.Err() != nil {
		fmt.Fprintln(out, "ended by hand: turns that were under way are not judged")
	}
	// Who ends it early gets the judgement of what was done as well.
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportLimit)
	defer cancel()
	return errors.Join(err, r.report(reporting), r.end())
}

// modelLife is how long the models are there, at most.
const modelLife = 7 * 24 * time.Hour

// reportLimit is how long the judgement of all turns may take.
const reportLimit = 10 * time.Minute

// begin builds and starts the server, the models and the agents.
func (r *rig) begin(ctx context.Context) (err error) {
	if r.binary, err = testbed.Product(ctx, r.options.binary, r.dir); err != nil {
		return err
	}
	path := filepath.Join(r.dir, "path")
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	r.options.tools = slices.DeleteFunc(r.options.tools, func(name string) bool {
		found, ok := clis.Find(name)
		if ok {
			err = errors.Join(err, os.Symlink(found, filepath.Join(path, name)))
		} else {
			fmt.Fprintf(r.out, "%s is not installed and is left out; make clis installs it\n", name)
		}
		return !ok
	})
	if err != nil {
		return err
	}
	if len(r.options.tools) == 0 {
		return errors.New("none of the command lines is installed; make clis installs them")
	}
	path += string(os.PathListSeparator) + os.Getenv("PATH")
	runtime, err := testbed.LocalRuntime(r.binary, fmt.Sprintf(", env: {PATH: %q}", path))
	if err != nil {
		return err
	}
	r.server, err = testbed.NewServer(r.binary, r.dir, "server: {listen: $LISTEN, shutdownTimeout: 2s}\nstore: {path: $DIR/store}\n"+runtime)
	if err != nil {
		return err
	}
	if err := r.server.Bear(); err != nil {
		return err
	}
	if err := r.server.Start(ctx); err != nil {
		return err
	}
	for _, tool := range r.options.tools {
		model := fakemodel.New(fakemodel.Options{Keep: 1 << 20, Lifetime: modelLife})
		if err := model.Start(); err != nil {
			return err
		}
		for n := range r.options.agents {
			r.actors = append(r.actors, &actor{
				rig: r, tool: tool, number: n, model: model, random: rand.New(rand.NewPCG(r.options.seed, uint64(len(r.actors)+1))),
			})
		}
	}
	for _, a := range r.actors {
		if err := a.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drive lets the actors play while things are killed and the machine is kept busy.
func (r *rig) drive(ctx context.Context, random *rand.Rand) error {
	faulty, calm := context.WithCancel(ctx)
	var noise, players sync.WaitGroup
	faults := make(chan error, 1)
	noise.Go(func() { faults <- r.faults(faulty, random) })
	for range r.options.burners {
		noise.Go(func() { burn(faulty) })
	}
	errs := make([]error, len(r.actors))
	for i, a := range r.actors {
		share := r.options.turns / r.options.agents
		if a.number < r.options.turns%r.options.agents {
			share++
		}
		players.Go(func() { errs[i] = a.run(ctx, share) })
	}
	players.Wait()
	calm()
	noise.Wait()
	return errors.Join(append(errs, <-faults)...)
}

// burn keeps a processor busy.
func burn(ctx context.Context) {
	for ctx.Err() == nil {
		_ = strings.Repeat("x", 1<<20)
	}
}

// over reports whether no new turn is to be begun.
func (r *rig) over() bool { return r.options.limit > 0 && time.Since(r.began) > r.options.limit }

func (r *rig) say(format string, args ...any) {
	if !r.options.verbose {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%7.1fs "+format+"\n", append([]any{time.Since(r.began).Seconds()}, args...)...)
}

// count reports a turn that is over.
func (r *rig) count(a *actor, t *turn) {
	t.took = time.Since(t.began)
	took := t.took.Seconds()
	if t.cut {
		return
	}
	if t.wrong == "" {
		r.say("%s: ok in %.1fs", t, took)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%7.1fs WRONG: %s at %s, in %.1fs: %s\n", time.Since(r.began).Seconds(), t, a.id, took, t.wrong)
}

// end stops the agents and the server.
func (r *rig) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	models := map[*fakemodel.Server]bool{}
	for _, a := range r.actors {
		if a.id != "" {
			err = errors.Join(err, r.server.Client.StopManagedAgent(ctx, a.id, true, 0))
		}
		models[a.model] = true
	}
	for model := range models {
		err = errors.Join(err, model.Close())
	}
	if r.server != nil && r.server.Process != nil {
		err = errors.Join(err, r.server.Stop(testbed.ReadyLimit))
	}
	return err
}
