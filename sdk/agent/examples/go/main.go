// Command go is the example agent in Go: it tells how urgent a message is.
//
// It owns nothing but its rule; the session with the server is the library's work. People who write an agent
// read it, and sdk/agent/examples tests run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
)

func main() {
	server := flag.String("server", "http://127.0.0.1:8080", "base `URL` of the server")
	name := flag.String("name", "urgency-go", "name in the list of agents")
	state := flag.String("state", "", "`file` that keeps the session, so that a restart resumes it")
	think := flag.Duration("think", 0, "how long to pretend to think about each task")
	ask := flag.Bool("ask", false, "ask another role when no word tells how urgent it is")
	flag.Parse()

	if err := run(*server, *name, *state, *think, *ask); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(server, name, state string, think time.Duration, ask bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a, err := agent.New(agent.Options{
		URL:                server,
		Token:              os.Getenv("WARDROOM_TOKEN"),
		Name:               name,
		Capabilities:       []string{"urgency"},
		MaxConcurrentTasks: 4,
		StateFile:          state,
		Logger:             slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			var in struct{ Text string }
			if err := task.Bind(&in); err != nil {
				return nil, err
			}
			if in.Text == "" {
				return nil, errors.New("input.text is missing")
			}
			select {
			case <-time.After(think):
			case <-ctx.Done(): // cancelled, or out of time
				return nil, context.Cause(ctx)
			}
			v := urgency(in.Text)
			if ask && v.Urgency == "low" {
				return secondOpinion(ctx, task, in.Text, v)
			}
			return v, nil
		},
		OnMessage: func(_ context.Context, m *agent.Incoming) (any, error) { // another role asks
			var in struct{ Text string }
			if err := m.Bind(&in); err != nil {
				return nil, err
			}
			return urgency(in.Text), nil
		},
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// secondOpinion asks another role of the org chart, and keeps to the first opinion when no role can be asked.
func secondOpinion(ctx context.Context, task *agent.Task, text string, first verdict) (verdict, error) {
	reply, err := task.Ask(ctx, agent.Message{Topic: "urgency", Content: map[string]string{"text": text}})
	if _, ok := errors.AsType[*agent.MessageError](err); ok {
		return first, nil
	}
	if err != nil {
		return verdict{}, err
	}
	var in struct{ Urgency string }
	if err := reply.Bind(&in); err != nil {
		return verdict{}, err
	}
	return verdict{Urgency: in.Urgency, Confidence: 0.8, ToldBy: reply.From}, nil
}

type verdict struct {
	Urgency    string  `json:"urgency"`
	Confidence float64 `json:"confidence"`
	ToldBy     string  `json:"toldBy,omitempty"`
}

// urgency counts the words that people use when it burns.
func urgency(text string) verdict {
	hits := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch word {
		case "urgent", "immediately", "asap", "down", "outage", "cannot", "broken", "lost":
			hits++
		}
	}
	switch hits {
	case 0:
		return verdict{Urgency: "low", Confidence: 0.6}
	case 1:
		return verdict{Urgency: "normal", Confidence: 0.7}
	}
	return verdict{Urgency: "high", Confidence: 0.9}
}
