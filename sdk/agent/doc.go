// Package agent is the Go client library for connected agents: it keeps a session with a Wardroom server
// over a WebSocket, runs a handler for each task it is handed, and delivers the answers.
//
// It owns the agent's side of the protocol: registration, heartbeats, reconnect with resume, answers that
// are kept until the server acknowledged them, and the rule that a task is not worked on twice. It does not
// own the shapes on the wire (package protocol) and knows nothing of how the server schedules. Programs that
// serve as agents call it; sdk/agent/examples has one in three languages.
//
//	a, err := agent.New(agent.Options{
//		URL:          "http://127.0.0.1:8080",
//		Name:         "triage-1",
//		Capabilities: []string{"triage"},
//		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
//			var in struct{ Text string }
//			if err := task.Bind(&in); err != nil {
//				return nil, err
//			}
//			return map[string]any{"category": classify(in.Text), "confidence": 0.9}, nil
//		},
//	})
//	if err != nil { ... }
//	err = a.Run(ctx)
//
// An agent that serves a role of an org chart asks other roles with Task.Ask, tells them something with Task.Tell,
// and answers what they ask with Options.OnMessage.
//
// An agent can also host managed threads, see ThreadOptions; package edge hosts them with an agent runtime.
//
// # What is promised
//
// An answer is sent again after every reconnect until the server says that it is durable. A task that comes
// again, because the server or the connection died, is answered from memory and not run again as long as
// this process lives. Delivery is at least once: a handler with effects outside should use Task.TaskID as
// its idempotency key, because a task can also be given to another agent when this one is away too long.
package agent
