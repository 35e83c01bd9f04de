package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// runFlags are the flags of `wardroom run`.
type runFlags struct {
	input    string
	version  string
	async    bool
	stream   bool
	timeout  time.Duration
	priority string
	metadata []string
	key      string
	wait     time.Duration
}

func (c *cli) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a pattern: wait for the outcome, stream it, or start it only",
		Long: "Run a pattern and wait for its outcome, which survives a restart of the server in between. --stream\n" +
			"shows each event as it happens, --async returns at once. Ctrl-C leaves the execution running.",
		Example: "  wardroom run triage --input '{\"text\":\"my invoice is wrong\"}'\n" +
			"  wardroom run triage --input @ticket.json --stream\n" +
			"  wardroom run triage --input @ticket.json --async -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := c.executeRequest(cmd, args[0], flags)
			if err != nil {
				return err
			}
			switch {
			case flags.async:
				return c.runAsync(cmd, req)
			case flags.stream:
				return c.runStream(cmd, req)
			}
			return c.runSync(cmd, req, flags.wait)
		},
	}
	c.nouns[cmd] = patterns
	f := cmd.Flags()
	f.StringVar(&flags.input, "input", "{}", "input as JSON, @FILE, or - for stdin")
	f.StringVar(&flags.version, "version", "", "exact version or a range such as 1.x (default the latest)")
	f.BoolVar(&flags.async, "async", false, "return at once; waits for agents until its deadline")
	f.BoolVar(&flags.stream, "stream", false, "show events as they happen")
	f.DurationVar(&flags.timeout, "timeout", 0, "deadline of the execution (default the pattern's or the server's)")
	f.StringVar(&flags.priority, "priority", "", "low, normal, high or critical")
	f.StringArrayVar(&flags.metadata, "metadata", nil, "key=value kept with the execution; may be repeated")
	f.StringVar(&flags.key, "idempotency-key", "", "the same key gives the same execution for 24 hours")
	f.DurationVar(&flags.wait, "wait", defaultWait, "how long to bear a server that went away meanwhile")
	exclusive(cmd, "async", "stream")
	return cmd
}

// executeRequest makes the request of the flags, and checks what can be checked here.
func (c *cli) executeRequest(cmd *cobra.Command, name string, flags runFlags) (client.ExecuteRequest, error) {
	options, err := executeOptions(cmd, flags.timeout, flags.priority, flags.metadata)
	if err != nil {
		return client.ExecuteRequest{}, err
	}
	input, err := c.objectFlag("--input", flags.input)
	if err != nil {
		return client.ExecuteRequest{}, err
	}
	key := flags.key
	if key == "" {
		key = client.NewIdempotencyKey() // so that a lost connection never runs it twice
	}
	return client.ExecuteRequest{
		Pattern: name, Version: flags.version, Input: input, Options: options, IdempotencyKey: key,
	}, nil
}

// ofPriority is the flag of the priorities.
var ofPriority = oneOf("priority", []string{"low", "normal", "high", "critical"})

func executeOptions(
	cmd *cobra.Command, timeout time.Duration, priority string, metadata []string,
) (client.ExecuteOptions, error) {
	if timeout < 0 || (timeout > 0 && timeout < time.Millisecond) {
		return client.ExecuteOptions{}, usagef(cmd, "--timeout must be at least 1ms")
	}
	if err := checkWord(cmd, ofPriority, priority); err != nil {
		return client.ExecuteOptions{}, err
	}
	pairs, err := metadataFlag(cmd, metadata)
	return client.ExecuteOptions{Timeout: timeout, Priority: priority, Metadata: pairs}, err
}

func (c *cli) runAsync(cmd *cobra.Command, req client.ExecuteRequest) error {
	// The command's own --timeout is the execution's; the answer of a start comes within the usual time.
	ctx, cancel := context.WithTimeout(cmd.Context(), defaultTimeout)
	defer cancel()
	api, err := c.client()
	if err != nil {
		return err
	}
	exec, err := api.ExecuteAsync(ctx, req)
	if err != nil {
		return err
	}
	return c.show(exec.Body, func(s *screen) {
		s.line("execution %s %s", clean(exec.ExecutionID), clean(exec.Status))
		s.line("follow it: wardroom execution watch %s", clean(exec.ExecutionID))
	})
}

func (c *cli) runSync(cmd *cobra.Command, req client.ExecuteRequest, wait time.Duration) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	var exec *client.Execution
	err = c.persist(ctx, wait, func() (err error) {
		exec, err = api.Execute(ctx, req)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return &interruption{cause: err, hint: fmt.Sprintf("the execution goes on; the same command with "+
				"--idempotency-key %s waits for its outcome", req.IdempotencyKey)}
		}
		return err
	}
	if err := c.show(exec.Body, func(s *screen) { executionScreen(s, exec) }); err != nil {
		return err
	}
	return executionOutcome(exec.ExecutionID, exec.Status, exec.Error)
}

func (c *cli) runStream(cmd *cobra.Command, req client.ExecuteRequest) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	stream, err := api.ExecuteStream(cmd.Context(), req)
	if err != nil {
		return err
	}
	return c.follow(cmd.Context(), api, stream)
}

// executionScreen shows one execution.
func executionScreen(s *screen, e *client.Execution) {
	pattern := e.Pattern.Name
	if e.Pattern.Version != "" {
		pattern += " " + e.Pattern.Version
	}
	reason := ""
	if e.Error != nil {
		reason = e.Error.String()
	}
	waits := ""
	if e.Waiting != nil {
		waits = string(e.Waiting.For)
	}
	s.fields("execution", e.ExecutionID, "pattern", pattern, "status", status(e.Status), "error", reason, "waits for", waits,
		"started", moment(e.StartedAt), "completed", moment(e.CompletedAt), "cancelled", moment(e.CancelledAt),
		"duration", elapsed(e.Status, e.Duration), "batch", e.BatchID, "workflow", workflowText(e))
	if len(e.Input) > 0 {
		s.line("input:    %s", compact(e.Input, 200))
	}
	if len(e.Result) > 0 && string(e.Result) != "null" {
		s.line("result:")
		s.line("%s", resultText(e.Result))
	}
	if len(e.Agents) > 0 {
		s.line("")
		agentResultTable(s, e.Agents)
	}
}

// workflowText sums up the workflow of an org chart; empty for other patterns.
func workflowText(e *client.Execution) string {
	if e.Metrics == nil {
		return ""
	}
	text := fmt.Sprintf("%s done by %s", count(e.Metrics.StepsExecuted, "step"), count(e.Metrics.AgentsUsed, "agent"))
	if used := usageText(e.Metrics.Usage); used != "" {
		text += ", " + used
	}
	if e.Partial {
		text += ", partial: ended with what it had"
	}
	return text
}

// elapsed renders how long an execution ran: nothing before it started, and a bound for one that was over
// within the unit the API counts in.
func elapsed[S ~string](state S, d client.Millis) string {
	if d == 0 && client.Terminal(state) {
		return "under 1 ms"
	}
	return span(d.Duration())
}

func agentResultTable(s *screen, results []client.AgentResult) {
	steps := false
	for _, r := range results {
		steps = steps || r.Step != ""
	}
	head := []string{"AGENT", "STATUS", "RESULT"}
	if steps {
		head = []string{"AGENT", "STEP", "STATUS", "RESULT"}
	}
	if s.wide {
		head = append(head, "ID")
	}
	var rows [][]cell
	for _, r := range results {
		row := plain(cmp.Or(r.Name, r.ID))
		if steps {
			row = append(row, cell{text: r.Step})
		}
		row = append(row, status(r.Status), cell{text: compact(r.Result, 80)})
		if s.wide {
			row = append(row, cell{text: r.ID})
		}
		rows = append(rows, row)
	}
	s.table(head, rows)
}

// executionOutcome makes the exit code of an execution that is over, or still going on.
func executionOutcome[S ~string](id string, state S, reason *client.ExecutionError) error {
	if state != client.StatusFailed && state != client.StatusCancelled {
		return nil
	}
	out := &outcomeError{code: exitFailed, message: fmt.Sprintf("execution %s %s", id, state)}
	if reason != nil {
		out.message += ": " + reason.String()
		switch reason.Code {
		case client.CodeTimeout:
			out.code = exitTimeout
		case client.CodeNoAgents:
			out.code = exitUnavailable
		}
	}
	out.hint = "run it again with `wardroom execution retry " + strings.TrimSpace(id) + "`"
	if state == client.StatusCancelled {
		out.hint = ""
	}
	return out
}
