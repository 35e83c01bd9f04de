package main

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// newAgent joins a classifier to the agent library. tasks gets the lines "registered", "began" and "finished".
func newAgent(o options, log, tasks *slog.Logger) (*agent.Agent, error) {
	method, err := classifier.New(o.method)
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Options{
		URL:                o.server,
		Name:               cmp.Or(o.name, o.method),
		Capabilities:       o.capabilities(),
		Metadata:           map[string]any{"model": o.method, "version": "1.0.0"},
		MaxConcurrentTasks: o.tasks,
		Logger:             log,
		OnRegistered: func(r protocol.Registered) {
			tasks.Info("registered", "agent", r.AgentID, "resumed", r.Resumed)
		},
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			tasks.Info("began", "task", task.TaskID, "execution", task.ExecutionID, "attempt", task.Attempt)
			var in struct{ Text string }
			if err := task.Bind(&in); err != nil {
				return nil, err
			}
			if err := think(ctx, o.think); err != nil {
				return nil, err
			}
			verdict := method.Classify(in.Text)
			tasks.Info("finished", "task", task.TaskID, "execution", task.ExecutionID, "category", verdict.Category)
			return verdict, nil
		},
	})
}

// think waits as long as a model behind a network would.
func think(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
