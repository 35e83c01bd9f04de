package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// longWorkflow runs a workflow of very many steps, and once more with a kill -9 in the middle.
func (b *bench) longWorkflow(ctx context.Context) error {
	steps := 10_000
	if b.quick {
		steps = 2000
	}
	s, err := b.serve(ctx, "long")
	if err != nil {
		return err
	}
	defer s.stop()
	work, err := muster(ctx, s.URL, crewOptions{name: crewWork, agents: 1, slots: 8, answer: workAnswer})
	if err != nil {
		return err
	}
	defer func() { _ = work.End() }()
	definition := chainChart("bench-long", steps)
	start := time.Now()
	if err := s.storePattern(ctx, definition); err != nil {
		return err
	}
	name := fmt.Sprintf("workflow of %d steps", steps)
	b.add("workflow", name+": stored", time.Since(start).Seconds()*1000, "%.0f ms", 0, true, fmt.Sprintf("%d KiB of YAML", len(definition)>>10))

	before := testbed.CPUTime(s.PID())
	start = time.Now()
	if err := b.longRun(ctx, s, work, steps); err != nil {
		return err
	}
	took, cpu, seen := time.Since(start), testbed.CPUTime(s.PID())-before, work.take()
	b.add("workflow", name+": completed", took.Seconds(), "%.1f s", 0, true, "")
	b.add("workflow", name+", CPU of the core a step", perStep(cpu, steps), "%.3f ms", 0.300, true, "")
	b.pace(name, between(seen))
	tail := between(seen[len(seen)-len(seen)/10:])
	b.add("workflow", name+", a step of the last tenth, p50", tail.quantile(.5), "%.2f ms", 0, true, "")
	b.zero("workflow", name+": steps that were done twice or not at all", odd(seen, steps), "")
	b.add("workflow", name+": memory after that", rss(s.PID()), "%.0f MiB", 0, true, fmt.Sprintf("%.0f MiB without mapped files", anonymous(s.PID())))

	return b.longKilled(ctx, s, work, steps)
}

// longRun starts the workflow and waits for its end. The core is asked for the state only once its last task came,
// which leaves the figures alone.
func (b *bench) longRun(ctx context.Context, s *server, work *crew, steps int) error {
	e, err := s.Client.ExecuteAsync(ctx, api.ExecuteRequest{Pattern: "bench-long"})
	if err != nil {
		return err
	}
	if err := await(ctx, work, steps); err != nil {
		return err
	}
	return over(ctx, s, e.ExecutionID, steps)
}

// await waits until as many tasks came.
func await(ctx context.Context, work *crew, tasks int) error {
	return testbed.Until(ctx, 5*time.Minute, fmt.Sprintf("%d tasks came to agents", tasks), func(ctx context.Context) (bool, error) {
		return work.count() >= tasks, nil
	})
}

// over waits for the end of an execution and checks what it says of itself.
func over(ctx context.Context, s *server, id string, steps int) error {
	var e *api.Execution
	err := testbed.Until(ctx, time.Minute, "the execution is over", func(ctx context.Context) (bool, error) {
		var err error
		e, err = s.Client.GetExecution(ctx, id)
		return err == nil && api.Terminal(e.Status), err
	})
	if err := completed(e, err); err != nil {
		return err
	}
	if e.Metrics == nil || e.Metrics.StepsExecuted != steps {
		return fmt.Errorf("execution %s is completed with metrics %+v, not with %d steps", id, e.Metrics, steps)
	}
	return nil
}

// odd counts steps that came to agents more than once, or never.
func odd(seen []taken, steps int) int {
	times := map[int]int{}
	for _, a := range seen {
		times[a.number()]++
	}
	n := 0
	for i := range steps {
		if times[i] != 1 {
			n++
		}
	}
	return n
}

// longKilled kills the core at about the half of the steps and starts it again.
func (b *bench) longKilled(ctx context.Context, s *server, work *crew, steps int) error {
	e, err := s.Client.ExecuteAsync(ctx, api.ExecuteRequest{Pattern: "bench-long"})
	if err != nil {
		return err
	}
	if err := await(ctx, work, steps/2); err != nil {
		return err
	}
	s.Kill()
	before := work.take()
	if err := s.Start(ctx); err != nil {
		return err
	}
	ready := time.Now()
	// What was handed out when the core died may come again; what comes after it shows that it goes on.
	reached := before[len(before)-1].number()
	var on time.Time
	err = testbed.Until(ctx, time.Minute, "the execution goes on", func(ctx context.Context) (bool, error) {
		on = work.firstAfter(reached)
		return !on.IsZero(), nil
	})
	if err != nil {
		return err
	}
	if err := over(ctx, s, e.ExecutionID, steps); err != nil {
		return err
	}
	after := work.take()
	name := fmt.Sprintf("kill -9 at %d of %d steps", len(before), steps)
	b.add("workflow", name+": core ready again", s.Took.Seconds()*1000, "%.0f ms", 0, true, "")
	b.add("workflow", name+": the next step at an agent after that", on.Sub(ready).Seconds()*1000, "%.0f ms", 0, true,
		fmt.Sprintf("the agent tries to connect each %s", crewReconnect))
	repeated, inHand := 0, 0
	for _, a := range after {
		switch {
		case a.number() == reached: // the core cannot know whether its answer was on the way
			inHand++
		case a.number() < reached:
			repeated++
		}
	}
	b.zero("workflow", name+": finished steps that were repeated", repeated, fmt.Sprintf("the one in hand came again %d times", inHand))
	missing := odd(append(before, after...), steps) - inHand
	b.zero("workflow", name+": other steps that were done twice or not at all", missing, "")
	return nil
}
