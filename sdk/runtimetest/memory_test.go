package runtimetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAskIsAnswered(t *testing.T) {
	world := runtimetest.NewWorld()
	defer world.Close()
	rt := world.Runtime()
	ctx := t.Context()
	if _, err := rt.Spawn(ctx, runtime.Spec{ID: "a", Type: runtimetest.Type}); err != nil {
		t.Fatal(err)
	}
	events, err := rt.Events(ctx, runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Send(ctx, "a", runtime.Input{Message: "ask shall we?"}); err != nil {
		t.Fatal(err)
	}
	var asked runtime.Event
	for asked.Type != runtime.EventQuestion {
		if asked, err = events.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if asked.Prompt == nil || asked.Prompt.Text != "shall we?" || asked.Agent.Status != runtime.StatusBlocked {
		t.Fatalf("the question is %+v", asked)
	}
	if _, err := rt.Send(ctx, "a", runtime.Input{Message: "echo x"}); runtime.ErrorCode(err) != runtime.CodeBlocked {
		t.Errorf("a message to a blocked agent: %v", err)
	}
	if err := rt.Answer(ctx, "a", runtime.Answer{Choice: "maybe"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a choice that there is not: %v", err)
	}
	if err := rt.Answer(ctx, "a", runtime.Answer{PromptID: "other", Choice: "yes"}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
		t.Errorf("an answer to another prompt: %v", err)
	}
	if err := rt.Answer(ctx, "a", runtime.Answer{PromptID: asked.Prompt.ID, Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	for event := asked; event.Type != runtime.EventTurnComplete; {
		if event, err = events.Next(); err != nil {
			t.Fatal(err)
		}
		if event.Type == runtime.EventTurnComplete && event.Text != "yes" {
			t.Errorf("the turn's text is %q", event.Text)
		}
	}
}

func TestKillLeavesAgents(t *testing.T) {
	world := runtimetest.NewWorld()
	defer world.Close()
	rt := world.Runtime()
	agent, err := rt.Spawn(t.Context(), runtime.Spec{ID: "a", Type: runtimetest.Type})
	if err != nil {
		t.Fatal(err)
	}
	rt.Kill()
	if _, err := rt.Inspect(t.Context(), "a"); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a killed runtime answers: %v", err)
	}
	results, err := world.Runtime().Recover(t.Context(), []runtime.Handle{agent.Handle})
	if err != nil || results[0].Agent == nil || results[0].Agent.PID != agent.PID {
		t.Errorf("Recover: %+v, %v", results, err)
	}
}
