package cmd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// targetFlags say what a schedule or a trigger starts.
type targetFlags struct {
	pattern  string
	version  string
	input    string
	deadline time.Duration
	priority string
	metadata []string
	thread   string
	env      []string
	envFile  string
}

func (f *targetFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pattern, "pattern", "", "pattern to run")
	flags.StringVar(&f.version, "version", "", "its exact version or a range such as 1.x (default the latest at each start)")
	flags.StringVar(&f.input, "input", "{}", "its input as JSON, @FILE, or - for stdin")
	flags.DurationVar(&f.deadline, "deadline", 0, "deadline of an execution (default the pattern's or the server's)")
	flags.StringVar(&f.priority, "priority", "", "low, normal, high or critical")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "key=value kept with each execution or thread; may be repeated")
	flags.StringVar(&f.thread, "thread", "", "spawn a thread instead: its `JSON` as thread prepare -o json prints it, @FILE, or - for stdin")
	flags.StringArrayVar(&f.env, "env", nil, "of a thread: K=V for its environment, or K to take this command's own; may be repeated")
	flags.StringVar(&f.envFile, "env-file", "", "of a thread: file of K=V lines for its environment")
	exclusive(cmd, "pattern", "thread")
}

// given reports whether any of the flags is.
func (f *targetFlags) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"pattern", "version", "input", "deadline", "priority", "metadata", "thread", "env", "env-file"},
		func(name string) bool { return cmd.Flags().Changed(name) })
}

// target makes the target of the flags.
func (c *cli) target(cmd *cobra.Command, f *targetFlags) (client.Target, error) {
	var t client.Target
	switch {
	case f.pattern == "" && f.thread == "":
		return t, usagef(cmd, "--pattern is missing; or --thread, for a thread")
	case f.thread != "":
		for _, name := range []string{"version", "input", "deadline", "priority"} {
			if cmd.Flags().Changed(name) {
				return t, usagef(cmd, "--%s goes with --pattern", name)
			}
		}
		thread, err := c.threadTarget(cmd, f)
		t.Thread = thread
		return t, err
	case len(f.env) > 0 || f.envFile != "":
		return t, usagef(cmd, "--env goes with --thread: agents of patterns have environments of their own")
	}
	options, err := executeOptions(cmd, f.deadline, f.priority, f.metadata)
	if err != nil {
		return t, err
	}
	input, err := c.objectFlag("--input", f.input)
	if err != nil {
		return t, err
	}
	t.Execution = &client.ExecutionTarget{Pattern: f.pattern, Version: f.version, Input: input, Options: wire.ExecuteOptions{
		TimeoutMs: options.Timeout.Milliseconds(), Priority: wire.Priority(options.Priority), Metadata: options.Metadata,
	}}
	return t, nil
}

// threadTarget reads --thread and what goes with it.
func (c *cli) threadTarget(cmd *cobra.Command, f *targetFlags) (*client.ThreadSpec, error) {
	data, _, err := c.readValue("--thread", f.thread)
	if err != nil {
		return nil, err
	}
	spec, err := readThread("--thread", data)
	if err != nil {
		return nil, err
	}
	if w := spec.Preparation.Workspace; w != nil { // a prepared one is of one thread
		w.WorkspaceID, w.Path, w.BaseCommit, w.WorkBranch = "", "", "", ""
	}
	spec.Preparation.EnvNames = nil
	spec.ExecutionID = cmp.Or(spec.ExecutionID, core.NewExecution)
	if err := addMetadata(cmd, &spec.Metadata, f.metadata); err != nil {
		return nil, err
	}
	env, err := c.environment(cmd, f.envFile, f.env)
	if len(env) > 0 {
		spec.Preparation.Env = env
	}
	return &spec, err
}

// targetFields are the fields of a target for people.
func targetFields(t *wire.Target) []any {
	switch {
	case t.Execution != nil:
		x := t.Execution
		return []any{"pattern", t.Name(), "input", clipped(string(x.Input)), "deadline", span(time.Duration(x.Options.TimeoutMs) * time.Millisecond),
			"priority", string(x.Options.Priority)}
	case t.Thread != nil:
		repo := ""
		if w := t.Thread.Preparation.Workspace; w != nil {
			repo = spaced(w.Repo, w.Branch)
		}
		return []any{"thread", t.Name(), "agent type", t.Thread.AgentType, "role", t.Thread.Role, "objective", clipped(t.Thread.Objective), "repository", repo,
			"environment", strings.Join(t.Thread.Preparation.EnvNames, ", ")}
	}
	return nil
}

// clipped is the beginning of a text, on one line.
func clipped(text string) string { return shorten(strings.Join(strings.Fields(text), " "), 200) }

// runText names what was started.
func runText(ref wire.RunRef) string { return ref.ID() }
