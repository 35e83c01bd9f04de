package runtimes

import (
	"context"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// screenWait bounds one look at a screen: a runtime has it in memory.
const screenWait = 2 * time.Second

// ManagedAgentScreen implements core.ManagedAgentService: it is a viewer for as long as one repaint takes.
func (s *Service) ManagedAgentScreen(ctx context.Context, id string) (core.ManagedAgentScreen, error) {
	_, rt, err := s.runtimeOf(id)
	if err != nil {
		return core.ManagedAgentScreen{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, screenWait)
	defer cancel()
	shown, err := readScreen(bounded, rt, id)
	switch {
	case err == nil:
		return shown, nil
	case ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded):
		return core.ManagedAgentScreen{}, core.Unavailable("terminal_slow", "the terminal of the agent did not answer in %s", screenWait)
	}
	return core.ManagedAgentScreen{}, s.failed(err, id)
}

// readScreen attaches to a terminal for as long as it needs to show the whole screen.
func readScreen(ctx context.Context, rt runtime.Runtime, id string) (core.ManagedAgentScreen, error) {
	viewer, err := rt.Attach(ctx, id, runtime.AttachOptions{ReadOnly: true})
	if err != nil {
		return core.ManagedAgentScreen{}, err
	}
	defer func() { _ = viewer.Close() }()
	shown, err := terminal.ReadScreen(viewer)
	shown.AgentID = id
	return shown, err
}
