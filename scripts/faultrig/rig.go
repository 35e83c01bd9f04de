package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// options are the flags.
type options struct {
	rounds        int
	shells        int
	threads       int
	runtime       string // of managed agents: local, or docker
	seed          uint64
	binary        string
	keep, verbose bool
}

// errBroken says that a promise was broken; the report says which.
var errBroken = errors.New("a promise of the product is broken, see above")

// rig is one run: a core and its agents over all rounds, on one data folder.
type rig struct {
	options
	out    io.Writer
	dir    string
	disk   *disk  // the small file system that the store lies on, or nil
	name   string // of the run, in nonces
	random *rand.Rand
	server *server
	crew   *crew
	caller *caller
	shells *shells         // managed agents, or nil
	engine *testbed.Engine // of the docker runtime, or nil
	hosts  *hosts          // connected agents that host threads, or nil
	hooks  *hooks          // receiver of webhooks
	horde  *horde          // hostile agents
	clock  *testbed.Clock  // of the core, or nil when the binary has none that can be moved
	repo   string          // URL of the repository that threads work in

	diskCounts diskCounts // of all rounds
	poisoned   int        // records

	resends []resend // some of earlier rounds
	ids     []string // executions of earlier rounds, and how they read
	bodies  map[string][sha256.Size]byte
}

// run makes a rig, runs its rounds and reports.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "faultrig-")
	if err != nil {
		return err
	}
	r := &rig{
		options: o, out: out, dir: dir, name: strconv.FormatInt(time.Now().Unix(), 36),
		random: rand.New(rand.NewPCG(o.seed, 0)), bodies: map[string][sha256.Size]byte{},
	}
	fmt.Fprintf(out, "faultrig: %d rounds, seed %d\n", o.rounds, o.seed)
	defer func() {
		if err == nil && !o.keep {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintf(out, "data, logs and records: %s\n", dir)
	}()
	if r.binary, err = r.build(ctx); err != nil {
		return err
	}
	defer r.end()
	if err := r.begin(ctx); err != nil {
		return err
	}
	sum := &summary{began: time.Now()}
	for number := 1; number <= o.rounds; number++ {
		if r.shells != nil && r.ofShells(number) {
			result, err := r.shellRound(ctx, number)
			if err != nil {
				return err
			}
			sum.addShells(result)
			result.print(out)
			if len(result.problems) > 0 {
				result.explain(out, dir)
				return errBroken
			}
			continue
		}
		if r.hosts != nil && (number%shellEvery == threadRound || r.engine != nil) {
			result, err := r.threadRound(ctx, number)
			if err != nil {
				return err
			}
			sum.addThreads(result)
			result.print(out)
			if len(result.problems) > 0 {
				result.explain(out, dir)
				return errBroken
			}
			continue
		}
		play := r.round
		switch number % specialEvery {
		case diskRound:
			play = r.diskRound
		case poisonRound:
			play = r.poisonRound
		}
		result, err := play(ctx, number)
		if err != nil {
			return err
		}
		if number%specialEvery == poisonRound {
			sum.rounds++
		} else {
			sum.add(result)
		}
		result.print(out)
		if result.broken() {
			result.explain(out, dir)
			return errBroken
		}
	}
	if err := r.close(ctx); err != nil {
		return err
	}
	sum.print(out, r)
	events, again := r.hooks.counts()
	fmt.Fprintf(out, "webhooks: %d events, %d deliveries more than once\n", events, again)
	return r.hooks.some()
}

// ofShells reports whether a round is one of managed agents. With an engine those that are not are of threads.
func (r *rig) ofShells(number int) bool {
	if r.engine != nil {
		return number%2 != 0 || r.hosts == nil
	}
	return number%shellEvery == 0
}

// data returns the folder of the store.
func (r *rig) data() string {
	if r.disk != nil {
		return filepath.Join(r.disk.dir, "data")
	}
	return filepath.Join(r.dir, "data")
}

func (r *rig) say(format string, args ...any) {
	if r.verbose {
		fmt.Fprintf(r.out, "  "+format+"\n", args...)
	}
}

// build returns the binary to test.
func (r *rig) build(ctx context.Context) (string, error) {
	if r.binary == "" {
		r.say("building the product")
		r.clock = testbed.NewClock(filepath.Join(r.dir, "clock"))
	}
	return testbed.Product(ctx, r.binary, r.dir, testbed.ClockTag)
}

// begin starts the core and the agents, and stores the patterns.
func (r *rig) begin(ctx context.Context) (err error) {
	extra := ""
	if r.options.shells > 0 {
		if extra, err = r.runtimes(ctx); err != nil {
			return fmt.Errorf("%w; -shells 0 does without managed agents", err)
		}
	}
	if r.hooks, err = newHooks(r.dir); err != nil {
		return err
	}
	if r.server, err = newServer(r.binary, r.dir, r.data(), extra, r.clock); err != nil {
		return err
	}
	r.caller = newCaller(r.server.URL)
	if r.crew, err = newCrew(r.dir, r.server.URL); err != nil {
		return err
	}
	if err := r.server.launch(); err != nil {
		return err
	}
	if err := r.server.ready(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for _, w := range append(allWorkloads(), hostilePatterns()...) {
		body := fmt.Appendf(nil, `{"definition":%s}`, quote(w.source))
		reply, err := r.caller.call(ctx, http.MethodPost, "/api/patterns", "", body)
		if err != nil {
			return err
		}
		if reply.status != http.StatusCreated {
			return &unexpectedError{"POST /api/patterns " + w.name, reply}
		}
	}
	if err := r.furnish(ctx); err != nil {
		return err
	}
	if r.options.shells > 0 {
		r.shells = &shells{caller: r.caller, plugin: "runtime-" + r.runtime, plugins: testbed.Plugins(r.binary), data: r.data(), engine: r.engine}
		if err := r.shells.start(ctx, r.options.shells, r.name); err != nil {
			return err
		}
	}
	if r.options.threads > 0 {
		if r.repo, err = newRepository(ctx, r.dir); err != nil {
			return err
		}
		if r.hosts, err = newHosts(r.dir, r.server.URL); err != nil {
			return err
		}
		if err := r.hosts.start(ctx); err != nil {
			return err
		}
	}
	r.horde = newHorde(r.server.URL, r.caller)
	return r.crew.start(ctx)
}

// runtimes returns the configuration of the runtime of managed agents and of their type. The docker runtime gets an engine whose
// containers outlive it.
func (r *rig) runtimes(ctx context.Context) (string, error) {
	if r.runtime == "local" {
		text, err := testbed.LocalRuntime(r.binary, "")
		return text + fmt.Sprintf(shellType, "bash", "--norc, --noprofile"), err
	}
	err := testbed.BuildPlugin(ctx, r.binary, "runtime-"+r.runtime)
	if err != nil {
		return "", err
	}
	if r.engine, err = testbed.NewEngine(ctx, "--live-restore"); err != nil {
		return "", err
	}
	text, err := testbed.Runtimes(r.binary, map[string]string{
		r.runtime: fmt.Sprintf(", config: {socket: %q, image: %q}", r.engine.Socket, testbed.EngineImage),
	})
	return text + fmt.Sprintf(shellType, "sh", ""), err
}

// furnish stores what starts by itself, two of each, so that rounds with poison find them. None of them ever starts anything.
func (r *rig) furnish(ctx context.Context) error {
	const target = `"target":{"execution":{"pattern":"` + silentPattern + `","input":{"text":"","delay":0,"flaky":false}}}`
	for i := range 2 {
		for path, body := range map[string]string{
			"/api/schedules": fmt.Sprintf(`{"name":"rig-%d","cron":"0 0 29 2 *","catchUp":"none",%s}`, i, target),
			"/api/triggers":  fmt.Sprintf(`{"name":"rig-%d",%s}`, i, target),
		} {
			reply, err := r.caller.call(ctx, http.MethodPost, path, "", []byte(body))
			if err != nil {
				return err
			}
			if reply.status != http.StatusCreated {
				return &unexpectedError{"POST " + path, reply}
			}
		}
	}
	return nil
}

// newRepository makes a git repository with one commit and returns its URL.
func newRepository(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "repo")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main", path},
		{"-C", path, "-c", "user.name=rig", "-c", "user.email=rig@localhost", "commit", "--quiet", "--allow-empty", "--message", "begin"},
	} {
		if text, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %v: %w; -threads 0 does without managed threads\n%s", args, err, text)
		}
	}
	return "file://" + path, nil
}

// close ends the run in order: everything still reads as it did, the core ends well on SIGTERM, and what it
// leaves can be dumped and verified.
func (r *rig) close(ctx context.Context) error {
	if problems := r.unchanged(ctx, 400); len(problems) > 0 {
		return errors.Join(problems...)
	}
	if r.shells != nil {
		bounded, done := context.WithTimeout(ctx, settleLimit)
		defer done()
		if err := r.shells.stop(bounded); err != nil {
			return err
		}
	}
	if err := r.server.Stop(readyLimit); err != nil {
		return err
	}
	dump := filepath.Join(r.dir, "dump")
	for _, args := range [][]string{
		{"store", "dump", dump, "--data-dir", r.data()},
		{"store", "verify", dump},
	} {
		if text, err := exec.CommandContext(ctx, r.binary, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("wardroom %v: %w\n%s", args, err, text)
		}
	}
	return nil
}

// end kills what still runs.
func (r *rig) end() {
	if r.horde != nil {
		r.horde.end()
	}
	if r.crew != nil {
		r.crew.kill()
	}
	if r.hosts != nil {
		r.hosts.kill()
	}
	if r.server != nil {
		r.server.Close()
	}
	if r.shells != nil {
		r.shells.kill()
	}
	if r.engine != nil {
		if err := r.engine.Close(); err != nil {
			fmt.Fprintf(r.out, "faultrig: %v\n", err)
		}
	}
	if r.hooks != nil {
		r.hooks.receiver.Close()
	}
}

// unchanged reads some executions of earlier rounds, which must read as they did.
func (r *rig) unchanged(ctx context.Context, n int) []error {
	col := &collector{caller: r.caller}
	each(sample(r.random, r.ids, n), func(id string) {
		reply, err := r.caller.call(ctx, http.MethodGet, "/api/executions/"+id, "", nil)
		if err != nil {
			col.problem(err)
			return
		}
		if sha256.Sum256(reply.body) != r.bodies[id] {
			col.problem(fmt.Errorf("backwards: %s, over in an earlier round, now reads as %d %.300s", id, reply.status, reply.body))
		}
	})
	return col.problems
}

// sample draws up to n items.
func sample[T any](random *rand.Rand, items []T, n int) []T {
	if len(items) <= n {
		return items
	}
	drawn := make([]T, n)
	for i, at := range random.Perm(len(items))[:n] {
		drawn[i] = items[at]
	}
	return drawn
}
