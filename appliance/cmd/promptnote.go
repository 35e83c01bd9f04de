package cmd

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// How soon a command that waits for an answer looks whether something is asked, and how often it looks again.
const (
	promptFirst = 500 * time.Millisecond
	promptEvery = 2 * time.Second
)

// notePrompts shows on stderr, until stop is called, what an agent or a thread asks while a command waits for its answer:
// the wait would look like a hang. noun is agent or thread, and open returns its id and what it asks now, or nil. A caller who may not
// read that sees nothing of it.
func (c *cli) notePrompts(ctx context.Context, noun string, open openPrompt) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		seen := ""
		for pause := promptFirst; ; pause = promptEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			id, p, err := open(ctx)
			if err != nil || p == nil || p.ID == seen {
				continue
			}
			seen = p.ID
			s := &screen{paint: c.painter(c.deps.Stderr)}
			s.line("%s %s waits for an answer", noun, clean(id))
			promptScreen(s, noun, id, p)
			_, _ = c.deps.Stderr.Write(s.buf.Bytes()) // a person who closed it wants no notes
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// openPrompt returns who asks, and what is asked now, or nil.
type openPrompt func(ctx context.Context) (id string, p *client.ManagedPrompt, err error)

// agentPrompt returns what an agent asks now.
func agentPrompt(api *client.Client, id string) openPrompt {
	return func(ctx context.Context) (string, *client.ManagedPrompt, error) {
		a, err := api.GetManagedAgent(ctx, id)
		if err != nil {
			return id, nil, err
		}
		return id, a.Prompt, nil
	}
}

// threadPrompt returns what a thread asks now.
func threadPrompt(api *client.Client, id string) openPrompt {
	return func(ctx context.Context) (string, *client.ManagedPrompt, error) {
		t, err := api.GetThread(ctx, id)
		if err != nil {
			return id, nil, err
		}
		return id, t.Prompt, nil
	}
}
