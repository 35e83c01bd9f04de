// Command agent is a connected agent for the rig of packages: it answers with the length of a text.
//
// It owns nothing; scripts/appliancerig puts it on the machine that it boots. WARDROOM_TOKEN holds its credential.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/wardroom/wardroom/sdk/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a, err := agent.New(agent.Options{
		URL: os.Args[1], Token: os.Getenv("WARDROOM_TOKEN"), Name: "measurer", Capabilities: []string{"measure"},
		Handler: func(_ context.Context, task *agent.Task) (any, error) {
			var in struct{ Text string }
			if err := task.Bind(&in); err != nil {
				return nil, err
			}
			return map[string]any{"length": len(in.Text), "confidence": 1}, nil
		},
	})
	if err == nil {
		err = a.Run(ctx)
	}
	stop()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
