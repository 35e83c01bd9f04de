package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/wardroom/wardroom/scripts/demo/team"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// teamMethod makes an agent that serves roles of org charts.
const teamMethod = "team"

// newTeamAgent joins the team's rules to the agent library. tasks gets the lines "registered", "began", "finished",
// and "answered" for a message of another role.
func newTeamAgent(o options, log, tasks *slog.Logger) (*agent.Agent, error) {
	return agent.New(agent.Options{
		URL:                o.server,
		Name:               cmp.Or(o.name, o.method),
		Capabilities:       o.capabilities(),
		Metadata:           map[string]any{"model": "rules, no model", "version": "1.0.0"},
		MaxConcurrentTasks: o.tasks,
		Logger:             log,
		OnRegistered: func(r protocol.Registered) {
			tasks.Info("registered", "agent", r.AgentID, "resumed", r.Resumed)
		},
		OnMessage: func(_ context.Context, m *agent.Incoming) (any, error) {
			answer, err := team.Answer(words(m.Content))
			if err != nil {
				return nil, err
			}
			tasks.Info("answered", "message", m.MessageID, "execution", m.ExecutionID, "from", m.From)
			return answer, nil
		},
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			tasks.Info("began", "task", task.TaskID, "execution", task.ExecutionID, "step", task.Step, "attempt", task.Attempt)
			var in team.Input
			if err := task.Bind(&in); err != nil {
				return nil, err
			}
			if err := think(ctx, o.think*time.Duration(team.Pace(in))); err != nil {
				return nil, err
			}
			result, err := team.Work(in, func(topic, question string) (string, error) {
				reply, err := task.Ask(ctx, agent.Message{Topic: topic, Content: question})
				if err != nil {
					return "", err
				}
				return words(reply.Content), nil
			})
			if err != nil {
				return nil, err
			}
			tasks.Info("finished", "task", task.TaskID, "execution", task.ExecutionID, "step", task.Step)
			return result, nil
		},
	})
}

// words returns the content of a message: text as it is, anything else as JSON.
func words(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	return string(content)
}
