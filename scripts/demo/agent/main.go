// Command agent is one of the demo's agents: it reads support messages and says what they are about, or serves roles
// of org charts by the rules of the package team.
//
// It owns the wiring of a classifier or of the rules to the agent library and a log of the tasks it worked on, which
// the demo reads to prove that nothing was done twice. The demo starts several of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.server, "server", "http://127.0.0.1:8080", "base `URL` of the server")
	flag.StringVar(&o.name, "name", "", "name in the list of agents (default the method)")
	flag.StringVar(&o.method, "method", "lexicon", "lexicon, rules or bayes; or team")
	flag.StringVar(&o.capability, "capability", "support-triage", "capabilities to offer, with commas between them")
	flag.IntVar(&o.tasks, "tasks", 16, "tasks at once")
	flag.DurationVar(&o.think, "think", 0, "how long each task takes at least, as a model behind a network would")
	tasklog := flag.String("tasklog", "", "`file` that gets a line when a task begins and when it is finished")
	flag.Parse()

	if err := run(o, *tasklog); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

type options struct {
	server, name, method, capability string
	tasks                            int
	think                            time.Duration // of the shortest task
}

func (o options) capabilities() []string { return strings.Split(o.capability, ",") }

func run(o options, tasklog string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tasks := slog.New(slog.DiscardHandler)
	if tasklog != "" {
		// Each line is one write to a file that is only ever appended to: a kill loses none that was written.
		f, err := os.OpenFile(tasklog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		tasks = slog.New(slog.NewJSONHandler(f, nil))
	}
	join := newAgent
	if o.method == teamMethod {
		join = newTeamAgent
	}
	a, err := join(o, slog.New(slog.NewTextHandler(os.Stderr, nil)), tasks)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}
