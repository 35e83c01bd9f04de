package engine_test

import (
	"context"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
)

// A drain waits for what runs, and neither begins nor waits for what has not begun.
func TestDrain(t *testing.T) {
	r := newRig(t)
	r.config.MaxActive = 1
	r.open()
	r.pattern("p", core.Step{})
	r.agents.add("a", 4)
	running := r.start("p")
	task := r.agents.await(t, 1)[0]
	waiting := r.start("p")

	ctx, cancel := context.WithTimeout(t.Context(), 10*stdtime.Second)
	defer cancel()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		r.Drain(ctx)
	}()
	select {
	case <-drained:
		t.Fatal("the drain did not wait for the execution that runs")
	case <-stdtime.After(20 * stdtime.Millisecond):
	}
	r.agents.report(task.agent, task.task, `1`, nil)
	<-drained
	if ctx.Err() != nil {
		t.Fatal("the drain waited for an execution that had not begun")
	}
	if got := r.wait(running.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s", got.Status)
	}
	if held := r.agents.held(); len(held) > 0 {
		t.Errorf("a drain began %v", held)
	}
	if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p"}); !core.AsError(err).Unavailable {
		t.Errorf("new work while draining: %v", err)
	}
	r.Close()

	r.agents.echo()
	r.open()
	if got := r.wait(waiting.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("after the restart: %s", got.Status)
	}
}
