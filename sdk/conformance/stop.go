package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var stopChecks = []check[*suite]{
	{"stop/idempotent", "stopping ends an agent, and stopping it again is no error", false, stopIdempotent},
	{"stop/exit", "an agent that ends by itself is stopped, with its exit code", false, withAgent(stopExit)},
	{"restart/same-id", "Restart starts an agent again under its id, running or stopped", false, withAgent(restartSameID)},
	{"prune/selects", "Prune removes stopped agents of the installation that are not to be kept, and with DryRun none", false, pruneSelects},
	{"prune/forgets", "after Prune nothing is told of the agents that it removed, also not by events of before", false, pruneForgets},
}

func stopIdempotent(ctx context.Context, s *suite) error {
	agent, err := s.agent(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := s.rt().Stop(ctx, agent.ID, runtime.StopOptions{}); err != nil {
			return fmt.Errorf("Stop: %w", err)
		}
	}
	stopped, err := s.rt().Inspect(ctx, agent.ID)
	if err != nil {
		return fmt.Errorf("Inspect of a stopped agent: %w", err)
	}
	if stopped.Status != runtime.StatusStopped || stopped.Reason == "" {
		return fmt.Errorf("after Stop the agent is %q with reason %q", stopped.Status, stopped.Reason)
	}
	_, err = s.rt().Send(ctx, agent.ID, runtime.Input{Message: "echo x"})
	if err := wantCode("Send to a stopped agent", err, runtime.CodeNotRunning); err != nil {
		return err
	}
	if err := wantCode("Answer to a stopped agent", s.rt().Answer(ctx, agent.ID, runtime.Answer{Choice: runtime.ChoiceAllow}), runtime.CodeNotRunning, runtime.CodeNoPrompt); err != nil {
		return err
	}
	_, err = s.rt().Metrics(ctx, agent.ID)
	if err := wantCode("Metrics of a stopped agent", err, runtime.CodeNotRunning); err != nil {
		return err
	}
	return stoppedTerminal(ctx, s, agent.ID)
}

// stoppedTerminal checks that the terminal of a stopped agent ends.
func stoppedTerminal(ctx context.Context, s *suite, id string) error {
	terminal, err := s.rt().Attach(ctx, id, runtime.AttachOptions{})
	if err != nil {
		return fmt.Errorf("Attach to a stopped agent: %w", err)
	}
	defer func() { _ = terminal.Close() }()
	for exited := false; ; {
		frame, err := terminal.Recv()
		switch {
		case errors.Is(err, io.EOF) && exited:
			return nil
		case err != nil:
			return fmt.Errorf("the terminal of a stopped agent ended with %w; a frame with its exit seen: %v", err, exited)
		case exited:
			return fmt.Errorf("a frame came after the one with the exit")
		}
		exited = frame.Exit != nil
	}
}

func stopExit(ctx context.Context, s *suite, id string) error {
	if _, err := s.rt().Send(ctx, id, runtime.Input{Raw: "exit 3\r"}); err != nil {
		return fmt.Errorf("Send of raw input: %w", err)
	}
	stopped, err := s.await(ctx, id, runtime.StatusStopped)
	if err != nil {
		return err
	}
	if stopped.ExitCode == nil || *stopped.ExitCode != 3 {
		return fmt.Errorf("the exit code is not 3: %v", stopped.ExitCode)
	}
	return nil
}

func restartSameID(ctx context.Context, s *suite, id string) error {
	for _, state := range []string{"a running", "a stopped"} {
		restarted, err := s.rt().Restart(ctx, id, runtime.RestartOptions{})
		if err != nil {
			return fmt.Errorf("Restart of %s agent: %w", state, err)
		}
		if restarted.ID != id {
			return fmt.Errorf("Restart of %s agent returned agent %q", state, restarted.ID)
		}
		if _, err := s.await(ctx, id, runtime.StatusReady); err != nil {
			return err
		}
		if err := s.rt().Stop(ctx, id, runtime.StopOptions{}); err != nil {
			return fmt.Errorf("Stop: %w", err)
		}
	}
	return nil
}

func pruneSelects(ctx context.Context, s *suite) error {
	var ids []string
	for range 3 {
		agent, err := s.agent(ctx)
		if err != nil {
			return err
		}
		defer s.drop(ctx, agent.ID) //nolint:gocritic // three of them
		ids = append(ids, agent.ID)
	}
	removed, kept, running := ids[0], ids[1], ids[2]
	for _, id := range []string{removed, kept} {
		if err := s.rt().Stop(ctx, id, runtime.StopOptions{Force: true}); err != nil {
			return fmt.Errorf("Stop: %w", err)
		}
	}
	opts := runtime.PruneOptions{Installation: s.installation, Keep: []string{kept}, Grace: 24 * 3600e9, DryRun: true}
	for _, dry := range []bool{true, false} {
		opts.DryRun = dry
		report, err := s.rt().Prune(ctx, opts)
		if err != nil {
			return fmt.Errorf("Prune: %w", err)
		}
		if !slices.Contains(report.Removed, removed) || slices.Contains(report.Removed, kept) || slices.Contains(report.Removed, running) {
			return fmt.Errorf("Prune(%+v) reports as removed %v", opts, report.Removed)
		}
		if !slices.Contains(report.Left, running) || len(report.Stopped) > 0 {
			return fmt.Errorf("Prune(%+v) reports a young orphan not as left: %+v", opts, report)
		}
		_, err = s.rt().Inspect(ctx, removed)
		if gone := runtime.ErrorCode(err) == runtime.CodeNotFound; gone == dry {
			return fmt.Errorf("after Prune with DryRun %v the agent is gone: %v", dry, gone)
		}
	}
	for _, id := range []string{kept, running} {
		if _, err := s.rt().Inspect(ctx, id); err != nil {
			return fmt.Errorf("Prune removed agent %s that it should leave: %w", id, err)
		}
	}
	return nil
}

// pruneForgets reads the events of all agents: those of an agent that is kept tell that the reader has come past those of the
// one that was removed.
func pruneForgets(ctx context.Context, s *suite) error {
	var ids []string
	said := "said-" + rand.Text()
	for range 2 {
		agent, err := s.agent(ctx)
		if err != nil {
			return err
		}
		defer s.drop(ctx, agent.ID) //nolint:gocritic // two of them
		ids = append(ids, agent.ID)
		if len(ids) == 1 {
			if _, err := s.ask(ctx, agent.ID, "echo "+said); err != nil {
				return err
			}
		}
		if err := s.rt().Stop(ctx, agent.ID, runtime.StopOptions{Force: true}); err != nil {
			return fmt.Errorf("Stop: %w", err)
		}
	}
	removed, kept := ids[0], ids[1]
	if _, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: removed}, runtime.EventStopped); err != nil {
		return err
	}
	if _, err := s.rt().Prune(ctx, runtime.PruneOptions{Installation: s.installation, Keep: []string{kept}, Grace: 24 * 3600e9}); err != nil {
		return fmt.Errorf("Prune: %w", err)
	}
	if file := s.fileWith(said); file != "" {
		return fmt.Errorf("after Prune the file %s still holds what an agent said that it removed", file)
	}
	stream, err := s.rt().Events(ctx, runtime.EventOptions{})
	if err != nil {
		return fmt.Errorf("Events: %w", err)
	}
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next()
		if err != nil {
			return fmt.Errorf("events of an agent that Prune left: %w", err)
		}
		if event.AgentID == removed {
			return fmt.Errorf("after Prune there is still the event %s of agent %s, which it removed: what such an agent was told and said must be gone", event.Type, removed)
		}
		if event.AgentID == kept && event.Type == runtime.EventStopped {
			return nil
		}
	}
}
