package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var recoverChecks = []check[*suite]{
	{"recover/known", "recovering an agent that is known returns it, and results are in the order of the handles", false, recoverKnown},
	{"recover/bad", "a handle of nobody is NOT_FOUND or INVALID_HANDLE, and does not fail the others", true, recoverBad},
	{"recover/busy", "a turn that runs when the runtime is killed ends as it would have, and the next message waits for that", false, recoverBusy},
	{"recover/cut", "an agent whose connection was cut is unreachable, and what it was once it can be reached again", false, recoverCut},
	{"recover/lost", "after the runtime lost its state its events are those of another log, from the oldest on for who knows the former one", false, recoverLost},
	{"recover/crash", "after the runtime was killed its agents run on, and are found with terminal and events", false, recoverCrash},
}

func recoverKnown(ctx context.Context, s *suite) error {
	var handles []runtime.Handle
	for range 2 {
		agent, err := s.agent(ctx)
		if err != nil {
			return err
		}
		defer s.drop(ctx, agent.ID) //nolint:gocritic // two of them
		handles = append(handles, agent.Handle)
	}
	handles[0], handles[1] = handles[1], handles[0]
	results, err := s.rt().Recover(ctx, handles)
	if err != nil {
		return fmt.Errorf("Recover: %w", err)
	}
	if len(results) != len(handles) {
		return fmt.Errorf("Recover of %d handles has %d results", len(handles), len(results))
	}
	for i, result := range results {
		if result.Error != nil || result.Agent == nil || result.Agent.ID != handles[i].ID {
			return fmt.Errorf("result %d of Recover is %+v and should be agent %s", i, result, handles[i].ID)
		}
	}
	return nil
}

func recoverBad(ctx context.Context, s *suite) error {
	bad := []runtime.Handle{{ID: "nobody"}, {ID: "nobody-else", Data: []byte("\x00not a handle")}}
	results, err := s.rt().Recover(ctx, bad)
	if err != nil {
		return fmt.Errorf("Recover: %w", err)
	}
	if len(results) != len(bad) {
		return fmt.Errorf("Recover of %d handles has %d results", len(bad), len(results))
	}
	for i, result := range results {
		if result.Error == nil {
			return fmt.Errorf("Recover of a handle of nobody found %+v", result.Agent)
		}
		if err := wantCode("Recover of a handle of nobody", result.Error, runtime.CodeNotFound, runtime.CodeInvalidHandle); err != nil {
			return err
		}
		if result.Handle.ID != bad[i].ID {
			return fmt.Errorf("result %d of Recover is about %q instead of %q", i, result.Handle.ID, bad[i].ID)
		}
	}
	return nil
}

func recoverCrash(ctx context.Context, s *suite) error {
	agent, err := s.survivor(ctx)
	if err != nil {
		return err
	}
	defer func() { s.drop(ctx, agent.ID) }()
	v, err := s.view(ctx, agent.ID, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	if err := run(ctx, v, "kept=before; echo told-$((1))", "told-1\r"); err != nil {
		v.close()
		return err
	}
	if _, err := s.await(ctx, agent.ID, runtime.StatusReady); err != nil {
		v.close()
		return err
	}
	from := v.at()
	v.close()
	past, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: agent.ID}, runtime.EventReady)
	if err != nil {
		return err
	}

	if err := s.kill(ctx); err != nil {
		return err
	}
	results, err := s.rt().Recover(ctx, []runtime.Handle{agent.Handle})
	if err != nil {
		return fmt.Errorf("Recover: %w", err)
	}
	if len(results) != 1 || results[0].Agent == nil || results[0].Agent.ID != agent.ID {
		return fmt.Errorf("Recover of an agent that runs on returned %+v", results)
	}
	if found := results[0].Agent; found.PID != agent.PID || found.Status == runtime.StatusStopped {
		return fmt.Errorf("the agent was process %d, and is %d and %s (%s)", agent.PID, found.PID, found.Status, found.Reason)
	}
	return s.afterCrash(ctx, agent.ID, from, past[len(past)-1])
}

// survivor starts an agent that is to outlive its runtime, or skips the check.
func (s *suite) survivor(ctx context.Context) (runtime.Agent, error) {
	capabilities, err := s.rt().Capabilities(ctx)
	if err != nil {
		return runtime.Agent{}, fmt.Errorf("Capabilities: %w", err)
	}
	if s.restart == nil || !capabilities.Recover {
		return runtime.Agent{}, skip("the runtime does not outlive its process, or the caller cannot kill it")
	}
	return s.agent(ctx)
}

// kill kills the runtime, and goes on with the new one.
func (s *suite) kill(ctx context.Context) error { return s.renew(ctx, s.restart) }

// renew goes on with the runtime that start returns.
func (s *suite) renew(ctx context.Context, start func(ctx context.Context) (runtime.Runtime, error)) error {
	fresh, err := start(ctx)
	if err != nil {
		return fmt.Errorf("killing the runtime and starting it again: %w", err)
	}
	s.mu.Lock()
	s.runtime = fresh
	s.mu.Unlock()
	return nil
}

// recoverBusy kills the runtime in the middle of a turn. What the terminal showed before it is an old picture, on which the
// agent may well seem to wait.
func recoverBusy(ctx context.Context, s *suite) error {
	agent, err := s.survivor(ctx)
	if err != nil {
		return err
	}
	defer func() { s.drop(ctx, agent.ID) }()
	// It is never quiet for long: a type that goes by quiet is busy with it.
	in := runtime.Input{
		ID: "busy-1", ExpectResponse: true,
		Message: "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo on-$i; sleep 0.02; done",
	}
	go func() { _, _ = s.rt().Send(ctx, agent.ID, in) }() // what it returns when its runtime is killed does not matter
	if _, err := s.await(ctx, agent.ID, runtime.StatusBusy); err != nil {
		return err
	}
	v, err := s.view(ctx, agent.ID, runtime.AttachOptions{})
	if err != nil {
		return err
	}
	err = v.until(ctx, "on-3")
	v.close()
	if err != nil {
		return err
	}
	if err := s.kill(ctx); err != nil {
		return err
	}
	if _, err := s.rt().Recover(ctx, []runtime.Handle{agent.Handle}); err != nil {
		return fmt.Errorf("Recover: %w", err)
	}
	next := make(chan answer, 1)
	go func() {
		result, err := s.rt().Send(ctx, agent.ID, runtime.Input{Message: "echo next-$((40+2))", ExpectResponse: true})
		next <- answer{result, err}
	}()
	result, err := s.rt().Send(ctx, agent.ID, in)
	switch {
	case runtime.ErrorCode(err) == runtime.CodeDeliveryUnknown: // it may say so
	case err != nil:
		return fmt.Errorf("Send of the message whose turn ran: %w", err)
	case result.Response == nil || !strings.HasSuffix(strings.TrimSpace(result.Response.Text), "on-100") || strings.Contains(result.Response.Text, "next"):
		return fmt.Errorf("the turn that ran ended with %+v", result.Response)
	}
	got := <-next
	if got.err != nil {
		return fmt.Errorf("Send of the next message: %w", got.err)
	}
	if got.result.Response == nil || strings.TrimSpace(got.result.Response.Text) != "next-42" {
		return fmt.Errorf("the next message, sent while the turn ran, was answered by %+v", got.result.Response)
	}
	return nil
}

// recoverCut cuts the connection to an agent. A lost connection is no lost agent.
func recoverCut(ctx context.Context, s *suite) error {
	if s.sever == nil {
		return skip("the caller cannot cut connections")
	}
	agent, err := s.agent(ctx)
	if err != nil {
		return err
	}
	defer func() { s.drop(ctx, agent.ID) }()
	mend, err := s.sever(ctx)
	if err != nil {
		return fmt.Errorf("cutting the connections: %w", err)
	}
	away, err := s.await(ctx, agent.ID, runtime.StatusUnreachable)
	if err == nil {
		_, err = s.rt().Send(ctx, agent.ID, runtime.Input{Message: "echo lost"})
		err = wantCode("Send to an agent that is unreachable", err, runtime.CodeUnavailable)
	}
	if err == nil {
		err = wantCode("Stop of an agent that is unreachable", s.rt().Stop(ctx, agent.ID, runtime.StopOptions{}), runtime.CodeUnavailable)
	}
	mend()
	if err != nil {
		return err
	}
	back, err := s.await(ctx, agent.ID, runtime.StatusReady)
	if err != nil {
		return err
	}
	if back.PID != agent.PID {
		return fmt.Errorf("the agent was process %d, and is %d after its connection was cut", agent.PID, back.PID)
	}
	if back.Seq <= away.Seq {
		return fmt.Errorf("no event tells that the agent can be reached again: its newest is %d, as it was", back.Seq)
	}
	text, err := s.ask(ctx, agent.ID, "echo back-$((40+2))")
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) != "back-42" {
		return fmt.Errorf("after its connection was cut the agent answers %q", text)
	}
	return nil
}

// recoverLost has a runtime lose its state. Its new events get beyond the number of the last one that a reader saw before.
func recoverLost(ctx context.Context, s *suite) error {
	if s.lose == nil {
		return skip("the caller cannot take the state from the runtime")
	}
	if err := s.renew(ctx, s.lose); err != nil { // the log is a short one, whatever there was
		return err
	}
	before, err := s.lived(ctx)
	if err != nil {
		return err
	}
	seen := before[len(before)-1]
	if seen.Log == "" {
		return skip("the runtime does not say which log its events are of")
	}
	if err := s.renew(ctx, s.lose); err != nil {
		return err
	}
	after, err := s.lived(ctx)
	if err != nil {
		return err
	}
	for last := after; last[len(last)-1].Seq <= seen.Seq; {
		if last, err = s.lived(ctx); err != nil {
			return err
		}
	}
	if after[0].Log == "" || after[0].Log == seen.Log {
		return fmt.Errorf("events are of log %q after the state was lost, and were of %q", after[0].Log, seen.Log)
	}
	agent := after[0].AgentID
	rest, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: agent, Log: seen.Log, After: seen.Seq}, runtime.EventStopped)
	if err != nil {
		return err
	}
	if rest[0].Seq != after[0].Seq {
		return fmt.Errorf("after event %d of the log that was lost, events begin with %d instead of %d", seen.Seq, rest[0].Seq, after[0].Seq)
	}
	return nil
}

// afterCrash checks that an agent which was found again goes on where it was.
func (s *suite) afterCrash(ctx context.Context, id string, from uint64, last runtime.Event) error {
	back, err := s.view(ctx, id, runtime.AttachOptions{From: &from})
	if err != nil {
		return err
	}
	defer back.close()
	if err := run(ctx, back, "echo again-$((2))", "again-2\r"); err != nil {
		return err
	}
	if text, start := back.output(); back.repaint > 0 || start != from {
		return fmt.Errorf("the viewer came back at offset %d, which is kept, and got %d repaints and output from %d on: %q", from, back.repaint, start, text)
	}
	if _, err := s.await(ctx, id, runtime.StatusReady); err != nil {
		return err
	}
	if err := s.rt().Stop(ctx, id, runtime.StopOptions{}); err != nil {
		return fmt.Errorf("Stop: %w", err)
	}
	_, err = s.eventsUntil(ctx, runtime.EventOptions{AgentID: id, After: last.Seq, Log: last.Log}, runtime.EventStopped)
	return err
}
