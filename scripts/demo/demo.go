package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/scripts/testbed"
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
	opts   options
	out    io.Writer
	server *testbed.Server
	items  []classifier.Example
	agents []*testbed.Process
	step   int
	extra  int // executions besides the batch

	tools   []tool   // that are installed
	absent  []string // names of those that are not
	managed []*managed
	charts  []*chart
	hired   int // agents that were spawned for an org chart
	threads int // that were supervised to their end
}

func newDemo(o options, out io.Writer) *demo { return &demo{opts: o, out: out} }

// run plays the whole demo. Whatever happens, the processes it started are ended, unless it went well and they
// are to be kept.
func (d *demo) run(ctx context.Context) (err error) {
	if err := d.prepare(); err != nil {
		return err
	}
	defer d.server.Client.Close()
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
	if err := d.contain(ctx); err != nil {
		return err
	}
	d.say("")
	if d.opts.keep {
		if err := d.farewell(); err != nil {
			return err
		}
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
	var err error
	if d.opts.wardroom, err = testbed.Product(context.Background(), d.opts.wardroom, ""); err != nil {
		return err
	}
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
	if err := os.Mkdir(d.path("data"), 0o700); err != nil {
		return err
	}
	if d.server, err = testbed.NewDevServer(d.opts.wardroom, d.path("data")); err != nil {
		return err
	}
	d.kept()
	return nil
}

// kept makes the server live on after the demo, if it is to be kept, and find on its PATH what it starts.
func (d *demo) kept() {
	d.server.Command.Outlives = d.opts.keep
	d.server.Command.Env = []string{"PATH=" + d.path("bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// up starts the server and the agents, and stores the pattern.
func (d *demo) up(ctx context.Context) error {
	d.title("Start the server: embedded store, %s", d.server.Host)
	if err := d.startServer(ctx); err != nil {
		return err
	}
	d.title("Start three agents, each with a method of its own")
	for _, method := range classifier.Methods {
		if err := d.startAgent(method, "-method", method, "-capability", "support-triage", "-think", d.opts.think.String()); err != nil {
			return err
		}
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

// startAgent starts an agent, whose files have its name.
func (d *demo) startAgent(name string, args ...string) error {
	p, err := testbed.Command{
		Args: append([]string{d.opts.agent, "-server", d.server.URL, "-name", name, "-tasklog", d.path("tasks-" + name + ".jsonl")}, args...),
		Log:  d.path("agent-" + name + ".log"), Outlives: d.opts.keep,
	}.Start()
	if err == nil {
		d.agents = append(d.agents, p)
	}
	return err
}

// startServer starts the server and waits until it takes traffic.
func (d *demo) startServer(ctx context.Context) (err error) {
	from := time.Now()
	if d.server.Process, err = d.server.Command.Start(); err != nil {
		return err
	}
	err = d.until(ctx, "the server is ready", func(ctx context.Context) (bool, error) {
		return d.server.Client.Ready(ctx) == nil, d.server.Check()
	})
	if err == nil {
		d.say("ready after %d ms, pid %d", time.Since(from).Milliseconds(), d.server.PID())
	}
	return err
}

// waitAgents waits until all agents are connected.
func (d *demo) waitAgents(ctx context.Context) error {
	from := time.Now()
	err := d.until(ctx, "all agents are connected", func(ctx context.Context) (bool, error) {
		for _, p := range d.agents {
			if err := p.Check(); err != nil {
				return false, err
			}
		}
		list, err := d.server.Client.ListAgents(ctx, client.AgentFilter{Status: "connected"})
		return err == nil && list.Connected == len(d.agents), nil
	})
	if err == nil {
		d.say("%d agents connected after %d ms", len(d.agents), time.Since(from).Milliseconds())
	}
	return err
}

// until waits for a condition for as long as a start may take.
func (d *demo) until(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	return testbed.Until(ctx, startLimit, what, holds)
}

// kill ends the server as a crash does, and returns which process it was.
func (d *demo) kill() (pid int, err error) {
	if err := d.server.Check(); err != nil {
		return 0, err
	}
	d.server.Kill()
	return d.server.PID(), nil
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
	cmd.Env = append(os.Environ(), "WARDROOM_SERVER="+d.server.URL)
	cmd.Stdout, cmd.Stderr = d.out, os.Stderr
	return cmd
}

// stop ends all processes: the agents first, so that they take leave of the server.
func (d *demo) stop() error {
	var errs []error
	for _, p := range d.agents {
		errs = append(errs, p.Stop(stopGrace))
	}
	if d.server.Process != nil {
		errs = append(errs, d.server.Stop(stopGrace))
	}
	return errors.Join(errs...)
}

// farewell reports how to go on with what was left running, and how to end it: agents that are started meanwhile outlive the server,
// which therefore ends them first.
func (d *demo) farewell() error {
	pids := []string{fmt.Sprint(d.server.PID())}
	for _, p := range d.agents {
		pids = append(pids, fmt.Sprint(p.PID()))
	}
	const stop = `# Ends what the demo left running, and the agents that were started since, and removes its files.
export WARDROOM_SERVER=%[1]s
%[2]s agent list --managed --all -q | xargs -r -n 1 %[2]s agent stop
kill %[3]s
for pid in %[3]s; do
	rounds=0
	while kill -0 $pid 2>/dev/null; do
		if [ $rounds -eq 300 ]; then
			kill -9 $pid
			break
		fi
		rounds=$((rounds + 1))
		sleep 0.1
	done
done
rm -r %[4]s
`
	script := fmt.Sprintf(stop, word(d.server.URL), word(d.opts.wardroom), strings.Join(pids, " "), word(d.opts.dir))
	if err := os.WriteFile(d.path("stop.sh"), []byte(script), 0o600); err != nil {
		return err
	}
	d.say("left running: %s", d.server.URL)
	d.say("  try:   WARDROOM_SERVER=%s %s execution list", d.server.URL, d.opts.wardroom)
	d.say("  data:  %s", d.opts.dir)
	d.say("  stop:  sh %s", word(d.path("stop.sh")))
	return nil
}

// word returns a text as one word of a shell.
func word(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (d *demo) path(name string) string { return filepath.Join(d.opts.dir, name) }

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) title(format string, args ...any) {
	d.step++
	d.say("\n== %d. "+format, slices.Concat([]any{d.step}, args)...)
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
