package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// spawnFlags are the flags of agent spawn.
type spawnFlags struct {
	spec    client.ManagedAgentSpec
	env     []string
	envFile string
	labels  []string
	wait    bool
}

func (c *cli) agentSpawn() *cobra.Command {
	var flags spawnFlags
	cmd := &cobra.Command{
		Use:   "spawn TYPE",
		Short: "Start a command-line agent on a runtime",
		Long: "Start a command-line agent (claude, codex, gemini, or a type of the server's configuration) on a\n" +
			"runtime. With --wait the command ends when the agent takes messages.",
		Example: "  wardroom agent spawn claude --workdir /srv/project --wait\n" +
			"  wardroom agent spawn codex --env-file keys.env --approval readonly",
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := c.spawnSpec(cmd, args[0], flags)
			if err != nil {
				return err
			}
			return c.spawn(cmd, spec, flags.wait)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.spec.Name, "name", "", "name of the agent (default its type)")
	f.StringVar(&flags.spec.Workdir, "workdir", "", "folder it works in, at the runtime (default a fresh one)")
	f.StringArrayVar(&flags.env, "env", nil, "K=V for its environment, or K to pass on this command's own; may be repeated")
	f.StringVar(&flags.envFile, "env-file", "", "file of K=V lines for its environment; - is stdin")
	f.StringVar(&flags.spec.Runtime, "runtime", "", "runtime to start it on (default the first that is ready)")
	f.StringVar(&flags.spec.ApprovalPreset, "approval", "", "readonly, standard, permissive or autonomous (default standard)")
	f.StringSliceVar(&flags.spec.Capabilities, "capabilities", nil, "what it can do, comma-separated")
	f.StringVar(&flags.spec.Resume, "resume", "", "session of an earlier agent to go on with")
	f.StringVar(&flags.spec.Image, "image", "", "image, on a runtime that has them")
	f.StringVar(&flags.spec.Network, "network", "", "network, on a runtime that has them")
	f.StringArrayVar(&flags.spec.Volumes, "volume", nil, "HOST_PATH:CONTAINER_PATH:MODE (ro or rw), on a runtime with images; may be repeated")
	f.StringVar(&flags.spec.Memory, "memory", "", "memory limit such as 512m")
	f.Float64Var(&flags.spec.CPU, "cpu", 0, "limit in cores")
	f.StringArrayVar(&flags.labels, "label", nil, "key=value kept with the agent; may be repeated")
	f.BoolVar(&flags.wait, "wait", false, "wait until the agent takes messages")
	return cmd
}

// spawnSpec makes the request of the flags, and checks what can be checked here.
func (c *cli) spawnSpec(cmd *cobra.Command, kind string, flags spawnFlags) (client.ManagedAgentSpec, error) {
	spec := flags.spec
	spec.Type, spec.IdempotencyKey = kind, client.NewIdempotencyKey()
	if err := checkWord(cmd, ofApproval, spec.ApprovalPreset); err != nil {
		return spec, err
	}
	if spec.CPU < 0 {
		return spec, usagef(cmd, "--cpu must not be negative")
	}
	var err error
	if spec.Env, err = c.environment(cmd, flags.envFile, flags.env); err != nil {
		return spec, err
	}
	spec.Labels, err = keyValues[string](cmd, "label", flags.labels)
	return spec, err
}

// environment joins --env-file and --env; the latter wins. No error shows a value.
func (c *cli) environment(cmd *cobra.Command, file string, pairs []string) (map[string]string, error) {
	env := map[string]string{}
	if file != "" {
		data, err := c.readFile(file)
		if err != nil {
			return nil, err
		}
		number := 0
		for line := range strings.Lines(string(data)) {
			number++
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
			if !ok || name == "" {
				return nil, &usageError{message: fmt.Sprintf("%s:%d: wants K=V", file, number)}
			}
			env[name] = unquote(value)
		}
	}
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case name == "":
			return nil, usagef(cmd, "--env wants K=V; number %d has no name", i+1)
		case !ok:
			value = c.deps.Getenv(name)
			if value == "" {
				return nil, usagef(cmd, "--env %s: this command's own environment has no %s", name, name)
			}
		}
		env[name] = value
	}
	return env, nil
}

// unquote takes one pair of quotes off a value of an environment file.
func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

func (c *cli) spawn(cmd *cobra.Command, spec client.ManagedAgentSpec, wait bool) error {
	var agent *client.ManagedAgent
	err := c.call(cmd, func(ctx context.Context, api *client.Client) error {
		var err error
		agent, err = api.SpawnManagedAgent(ctx, spec)
		return err
	})
	if err != nil {
		return err
	}
	if wait {
		if agent, err = c.waitReady(cmd, agent); err != nil {
			return err
		}
	}
	return c.showManaged(agent)
}

// Times of the wait for an agent to take messages.
const (
	askInterval  = 3 * time.Second  // between looks that no event asked for
	readyReserve = 30 * time.Second // on top of the time that the agent's type has to get ready
	readyTime    = time.Minute      // of a server that does not tell that time
)

// waitReady follows an agent until it takes messages, or the time of its type to get ready is over. It goes by the
// agent's events, and asks every few seconds whatever they tell.
func (c *cli) waitReady(cmd *cobra.Command, agent *client.ManagedAgent) (*client.ManagedAgent, error) {
	api, err := c.client()
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	stream, err := api.WatchManagedAgent(ctx, agent.ID, "")
	if err != nil {
		return nil, c.stillStarting(ctx, agent.ID, err)
	}
	said, failed := make(chan string), make(chan error, 1)
	done := make(chan struct{})
	defer func() {
		close(done)
		stream.Close()
		for range said { // until the reader is gone
		}
	}()
	go readStatuses(stream, said, failed, done)
	limit := readyTime
	if agent.ReadyTimeoutMs > 0 {
		limit = time.Duration(agent.ReadyTimeoutMs) * time.Millisecond
	}
	due := time.NewTimer(limit + readyReserve)
	defer due.Stop()
	ask := time.NewTicker(askInterval)
	defer ask.Stop()
	line := &waitLine{w: c.deps.Stderr, inPlace: c.knowsSequences(c.deps.Stderr), began: time.Now()}
	defer line.finish()
	for {
		line.update(agent)
		if over, err := settled(agent); over {
			return agent, err
		}
		status := ""
		select {
		case status = <-said:
		case <-ask.C:
		case err := <-failed:
			return nil, c.stillStarting(ctx, agent.ID, err)
		case <-due.C:
			return nil, &outcomeError{code: exitTimeout,
				message: fmt.Sprintf("agent %s is still %s after %s", clean(agent.ID), clean(managedStatus(agent).text), limit+readyReserve),
				hint:    fmt.Sprintf("see what it does with `wardroom agent screen %s`", clean(agent.ID))}
		}
		bounded, cancel := c.bounded(ctx)
		next, err := api.GetManagedAgent(bounded, agent.ID)
		cancel()
		if client.Unreachable(err) && ctx.Err() == nil {
			continue // it is asked again
		}
		if err != nil {
			return nil, c.stillStarting(ctx, agent.ID, err)
		}
		if status != "" && next.Status == client.ManagedStarting {
			next.Status = client.ManagedAgentStatus(status) // an event is never older than that
		}
		agent = next
	}
}

// readStatuses hands over the statuses that the events of an agent led to, until done is closed.
func readStatuses(stream *client.Stream, said chan<- string, failed chan<- error, done <-chan struct{}) {
	defer close(said)
	for {
		event, err := stream.Next()
		if err != nil {
			failed <- err
			return
		}
		var e client.ManagedAgentEvent
		var d client.ManagedEventData
		if json.Unmarshal(event.Data, &e) == nil {
			d, _ = e.Decode() // what cannot be read is asked for
		}
		select {
		case said <- d.Status:
		case <-done:
			return
		}
	}
}

// stillStarting names the agent to a caller whose waiting ended early.
func (c *cli) stillStarting(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		return &interruption{cause: err, hint: fmt.Sprintf("the agent goes on; look at it with `wardroom agent get %s`, "+
			"end it with `wardroom agent stop %s`", clean(id), clean(id))}
	}
	return err
}

// settled reports whether the waiting is over, and how it ended.
func settled(a *client.ManagedAgent) (bool, error) {
	id := clean(a.ID)
	switch a.Status {
	case client.ManagedReady:
		return true, nil
	case client.ManagedBusy:
		if a.Prompt != nil {
			return true, &outcomeError{code: exitConflict,
				message: "agent " + id + " asks something before it takes messages",
				hint:    fmt.Sprintf("see it with `wardroom agent get %s`, answer with `wardroom agent answer %s`", id, id)}
		}
	case client.ManagedError, client.ManagedStopped:
		hint := fmt.Sprintf("see why with `wardroom agent logs %s`", id)
		if a.LoginURL != "" || a.StatusReason == "login_required" {
			hint = loginHint(a)
		}
		return true, &outcomeError{code: exitFailed,
			message: fmt.Sprintf("agent %s is not ready: %s", id, managedStatus(a).text), hint: hint}
	}
	return false, nil
}

// waitLine shows how an agent starts: one line that changes on a terminal that can, a line for each state elsewhere.
type waitLine struct {
	w       io.Writer
	inPlace bool
	last    string
	began   time.Time
}

func (l *waitLine) update(a *client.ManagedAgent) {
	text := fmt.Sprintf("%s: %s", clean(a.ID), clean(managedStatus(a).text))
	if text == l.last {
		return
	}
	l.last = text
	if l.inPlace {
		fmt.Fprintf(l.w, "\r"+clearLine+"%s", text)
		return
	}
	fmt.Fprintln(l.w, text)
}

func (l *waitLine) finish() {
	if l.inPlace && l.last != "" {
		fmt.Fprintf(l.w, " after %s\n", span(time.Since(l.began)))
	}
}
