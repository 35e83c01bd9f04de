package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/client"
)

//go:embed triage.yaml
var patternSource []byte

//go:embed corpus.jsonl
var corpusSource []byte

const (
	pattern    = "triage"
	startLimit = 30 * time.Second // for the server and the agents to come up
	stopGrace  = 15 * time.Second
)

type options struct {
	wardroom, agent, dir string
	concurrency          int
	think, teamThink     time.Duration
	keep                 bool
}

// demo is one run of the demo. run is called once.
type demo struct {
	opts    options
	out     io.Writer
	address string // host:port of the server, the same after its restart
	api     *client.Client
	items   []classifier.Example
	server  *process
	agents  []*process
	step    int
	extra   int // executions besides the batch

	tools   []tool   // that are installed
	absent  []string // names of those that are not
	managed []*managed
	charts  []*chart
	hired   int      // agents that were spawned for an org chart
	threads int      // that were supervised to their end
	serve   []string // arguments of a server with a configuration of its own; nil: a development server
}

func newDemo(o options, out io.Writer) *demo { return &demo{opts: o, out: out} }

// run plays the whole demo. Whatever happens, the processes it started are ended, unless it went well and they
// are to be kept.
func (d *demo) run(ctx context.Context) (err error) {
	if err := d.prepare(); err != nil {
		return err
	}
	defer d.api.Close()
	defer func() {
		if err != nil || !d.opts.keep {
			err = errors.Join(err, d.stop())
		}
		if err == nil && !d.opts.keep {
			err = os.RemoveAll(d.opts.dir)
		}
	}()
	if err := d.up(ctx); err != nil {
		return err
	}
	if err := d.single(ctx); err != nil {
		return err
	}
	o, err := d.batch(ctx)
	if err != nil {
		return err
	}
	d.title("What the agents said and what the vote made of it")
	o.print(d.out)
	d.title("Proof")
	if err := d.prove(ctx, o); err != nil {
		return err
	}
	if err := d.teams(ctx); err != nil {
		return err
	}
	if err := d.drive(ctx); err != nil {
		return err
	}
	if err := d.hire(ctx); err != nil {
		return err
	}
	if err := d.supervise(ctx); err != nil {
		return err
	}
	d.say("")
	if d.opts.keep {
		d.farewell()
	}
	d.say("demo: ok, %d messages decided by three agents, %d org charts run by a team and %d command-line agents driven, each "+
		"through a kill -9 of the server; %d agents spawned for an org chart, and %d managed threads", len(o.rows), len(d.charts),
		len(d.managed), d.hired, d.threads)
	return nil
}

// prepare checks what is given and writes the files that the command line reads.
func (d *demo) prepare() error {
	if d.opts.agent == "" || d.opts.dir == "" {
		return errors.New("-agent and -dir are required; scripts/demo/run.sh gives them")
	}
	for _, binary := range []string{d.opts.wardroom, d.opts.agent} {
		if _, err := exec.LookPath(binary); err != nil {
			return fmt.Errorf("%w; `make build` builds the product", err)
		}
	}
	var err error
	if d.items, err = classifier.ParseExamples(corpusSource); err != nil {
		return fmt.Errorf("corpus: %w", err)
	}
	inputs, err := batchInputs(d.items)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"triage.yaml": patternSource, "inputs.jsonl": inputs} {
		if err := os.WriteFile(d.path(name), data, 0o644); err != nil {
			return err
		}
	}
	if d.tools, err = d.installed(); err != nil {
		return err
	}
	if d.address, err = freeAddress(); err != nil {
		return err
	}
	d.api, err = client.New("http://"+d.address, client.Options{})
	return err
}

// up starts the server and the agents, and stores the pattern.
func (d *demo) up(ctx context.Context) error {
	d.title("Start the server: embedded store, %s", d.address)
	if err := d.startServer(ctx); err != nil {
		return err
	}
	d.title("Start three agents, each with a method of its own")
	for _, method := range classifier.Methods {
		p, err := startProcess("agent "+method, d.path("agent-"+method+".log"), nil, d.opts.agent,
			"-server", "http://"+d.address, "-name", method, "-method", method, "-capability", "support-triage",
			"-think", d.opts.think.String(), "-tasklog", d.path("tasks-"+method+".jsonl"))
		if err != nil {
			return err
		}
		d.agents = append(d.agents, p)
	}
	if err := d.waitAgents(ctx); err != nil {
		return err
	}
	if err := d.wardroom(ctx, "agent", "list"); err != nil {
		return err
	}
	d.title("Store the pattern")
	return d.wardroom(ctx, "pattern", "put", d.path("triage.yaml"))
}

// single runs the pattern on single messages.
func (d *demo) single(ctx context.Context) error {
	d.title("One message, waiting for the outcome")
	if err := d.wardroom(ctx, "run", pattern, "--input",
		`{"text":"You sent the wrong colour and charged me for express delivery. I want my money back."}`); err != nil {
		return err
	}
	d.title("One message, as a stream of events")
	err := d.wardroom(ctx, "run", pattern, "--stream", "--input",
		`{"text":"The login page stays white since the update and my password is not accepted."}`)
	d.extra = 2
	return err
}

// startServer starts the server and waits until it takes traffic.
func (d *demo) startServer(ctx context.Context) error {
	// What it starts is found on its PATH.
	path := "PATH=" + d.path("bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	args := d.serve
	if args == nil {
		args = []string{"dev", "--listen", d.address, "--data-dir", d.path("data")}
	}
	p, err := startProcess("server", d.path("server.log"), []string{path}, d.opts.wardroom, args...)
	if err != nil {
		return err
	}
	d.server = p
	from := time.Now()
	err = d.until(ctx, "the server is ready", func(ctx context.Context) (bool, error) {
		return d.api.Ready(ctx) == nil, p.running()
	})
	if err == nil {
		d.say("ready after %d ms, pid %d", time.Since(from).Milliseconds(), p.pid())
	}
	return err
}

// waitAgents waits until all agents are connected.
func (d *demo) waitAgents(ctx context.Context) error {
	from := time.Now()
	err := d.until(ctx, "all agents are connected", func(ctx context.Context) (bool, error) {
		for _, p := range d.agents {
			if err := p.running(); err != nil {
				return false, err
			}
		}
		list, err := d.api.ListAgents(ctx, client.AgentFilter{Status: "connected"})
		return err == nil && list.Connected == len(d.agents), nil
	})
	if err == nil {
		d.say("%d agents connected after %d ms", len(d.agents), time.Since(from).Milliseconds())
	}
	return err
}

// until polls a condition for as long as a start may take. An error of the condition ends it.
func (d *demo) until(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	return d.within(ctx, startLimit, what, holds)
}

// within is until with another limit.
func (d *demo) within(ctx context.Context, limit time.Duration, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds(ctx)
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// wardroom runs the product's command line in the foreground, on this terminal.
func (d *demo) wardroom(ctx context.Context, args ...string) error {
	d.say("$ wardroom %s", strings.Join(quoted(args), " "))
	cmd := d.command(ctx, args...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("wardroom %s: %w", args[0], err)
	}
	return nil
}

func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.opts.wardroom, args...)
	cmd.Env = append(os.Environ(), "WARDROOM_SERVER=http://"+d.address)
	cmd.Stdout, cmd.Stderr = d.out, os.Stderr
	return cmd
}

// stop ends all processes: the agents first, so that they take leave of the server.
func (d *demo) stop() error {
	var errs []error
	for _, p := range d.agents {
		errs = append(errs, p.stop(stopGrace))
	}
	if d.server != nil {
		errs = append(errs, d.server.stop(stopGrace))
	}
	return errors.Join(errs...)
}

// farewell tells how to go on with what was left running, and how to end it.
func (d *demo) farewell() {
	pids := []string{fmt.Sprint(d.server.pid())}
	for _, p := range d.agents {
		pids = append(pids, fmt.Sprint(p.pid()))
	}
	d.say("left running: http://%s", d.address)
	d.say("  try:   WARDROOM_SERVER=http://%s %s execution list", d.address, d.opts.wardroom)
	d.say("  data:  %s", d.opts.dir)
	d.say("  stop:  kill %s && rm -r %s", strings.Join(pids, " "), d.opts.dir)
}

func (d *demo) path(name string) string { return filepath.Join(d.opts.dir, name) }

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) title(format string, args ...any) {
	d.step++
	d.say("\n== %d. "+format, slices.Concat([]any{d.step}, args)...)
}

// freeAddress finds a loopback port that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// quoted puts arguments that a shell would split into quotes, for showing.
func quoted(args []string) []string {
	shown := slices.Clone(args)
	for i, a := range shown {
		if strings.ContainsAny(a, ` {}"$*`) {
			shown[i] = "'" + a + "'"
		}
	}
	return shown
}
