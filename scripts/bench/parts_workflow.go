package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// workflows measures org charts on agents that cost nothing: what a step costs the core, how soon all of a parallel
// step is at work, what many at the same time need, and a long one, also through a kill -9.
func (b *bench) workflows(ctx context.Context) error {
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	work, err := muster(ctx, s.URL, crewOptions{name: crewWork, agents: workAgents, slots: workSlots, answer: workAnswer})
	if err != nil {
		return err
	}
	defer func() { _ = work.End() }()
	if err := b.stepCost(ctx, s, work); err != nil {
		return fmt.Errorf("overhead: %w", err)
	}
	if err := b.fanOut(ctx, s); err != nil {
		return fmt.Errorf("fan-out: %w", err)
	}
	if err := b.wide(ctx, s, work); err != nil {
		return fmt.Errorf("wide step: %w", err)
	}
	if err := b.teams(ctx); err != nil {
		return fmt.Errorf("in flight: %w", err)
	}
	if err := b.longWorkflow(ctx); err != nil {
		return fmt.Errorf("long workflow: %w", err)
	}
	return nil
}

// Agents of the core that steps are measured on.
const (
	workAgents = 3
	workSlots  = 128
)

// workAnswer is what agents answer; it reads as a verdict too.
var workAnswer = map[string]any{"approved": true, "verdict": "approve", "confidence": 0.9, "text": strings.Repeat("done. ", 8)}

// stepCost runs sequential workflows in turn.
func (b *bench) stepCost(ctx context.Context, s *server, work *crew) error {
	const steps = 200
	runs := 25
	if b.quick {
		runs = 5
	}
	if err := s.storePattern(ctx, chainChart("bench-chain", steps)); err != nil {
		return err
	}
	if err := completed(s.Client.Execute(ctx, api.ExecuteRequest{Pattern: "bench-chain"})); err != nil { // warm-up
		return err
	}
	work.take()
	before := testbed.CPUTime(s.PID())
	for range runs {
		if err := completed(s.Client.Execute(ctx, api.ExecuteRequest{Pattern: "bench-chain"})); err != nil {
			return err
		}
	}
	cpu := testbed.CPUTime(s.PID()) - before
	seen := work.take()
	if len(seen) != runs*steps {
		return fmt.Errorf("%d tasks came to the agents for %d executions of %d steps", len(seen), runs, steps)
	}
	name := fmt.Sprintf("%d sequential assigns", steps)
	b.add("workflow", name+", CPU of the core a step", perStep(cpu, len(seen)), "%.3f ms", 0.300, true,
		fmt.Sprintf("%d executions in turn", runs))
	b.pace(name, between(seen))
	return nil
}

func perStep(cpu time.Duration, steps int) float64 {
	return float64(cpu.Microseconds()) / 1000 / float64(steps)
}

// between returns the times from task to task of the same execution, as the agents saw them: a step with its answer,
// its transaction, and the way of the next task.
func between(seen []taken) load {
	last := map[string]time.Time{}
	var l load
	for _, a := range seen {
		if at, ok := last[a.execution]; ok {
			l.latencies = append(l.latencies, a.at.Sub(at))
			l.elapsed += a.at.Sub(at)
			l.requests++
		}
		last[a.execution] = a.at
	}
	return l.sorted()
}

// pace reports how long steps in turn take. A step is one synced transaction, so the baseline is the most that there
// can be of them.
func (b *bench) pace(name string, wall load) {
	ratio := ""
	if b.commitPerSecond > 0 {
		ratio = fmt.Sprintf("%.2f of bare synced commits, one writer", wall.perSecond()/b.commitPerSecond)
	}
	b.add("workflow", name+", steps in turn", wall.perSecond(), "%.0f/s", 0, false, ratio)
	b.add("workflow", name+", a step, p50", wall.quantile(.5), "%.2f ms", 0, true, "")
	b.add("workflow", name+", a step, p99", wall.quantile(.99), "%.2f ms", 0, true, "")
}

// completed turns an execution that did not complete into an error.
func completed(e *api.Execution, err error) error {
	switch {
	case err != nil:
		return err
	case e.Status == api.StatusCompleted:
		return nil
	case e.Error != nil:
		return fmt.Errorf("execution %s is %s: %s: %s", e.ExecutionID, e.Status, e.Error.Code, e.Error.Message)
	}
	return fmt.Errorf("execution %s is %s", e.ExecutionID, e.Status)
}

// fanOut runs a wide parallel step on as many slots as it has steps. No task is answered before all have come.
func (b *bench) fanOut(ctx context.Context, s *server) error {
	const width = 200
	runs := 20
	if b.quick {
		runs = 3
	}
	hold, err := muster(ctx, s.URL, crewOptions{name: crewHold, agents: 20, slots: width / 20, hold: true, answer: workAnswer})
	if err != nil {
		return err
	}
	defer func() { _ = hold.End() }()
	if err := s.storePattern(ctx, fanChart("bench-fan", crewHold, width)); err != nil {
		return err
	}
	least := width
	var out, whole load
	for range runs {
		start := time.Now()
		ended := make(chan error, 1)
		go func() {
			ended <- completed(s.Client.Execute(ctx, api.ExecuteRequest{Pattern: "bench-fan"}))
		}()
		late := testbed.Until(ctx, 10*time.Second, "all tasks of a parallel step are at agents", func(ctx context.Context) (bool, error) {
			return hold.atAgents() == width, nil
		})
		least = min(least, hold.atAgents())
		answered := time.Now()
		// Fewer than all are told by the count. The rest comes once slots are free.
		err := testbed.Until(ctx, time.Minute, "a parallel step ends", func(ctx context.Context) (bool, error) {
			hold.release()
			select {
			case err := <-ended:
				return true, err
			default:
				return false, nil
			}
		})
		if err != nil {
			return err
		}
		whole.latencies = append(whole.latencies, time.Since(answered))
		if seen := hold.take(); late == nil {
			out.latencies = append(out.latencies, seen[len(seen)-1].at.Sub(start))
		}
	}
	name := fmt.Sprintf("parallel step of %d assigns", width)
	b.add("workflow", name+": at agents at once", float64(least), "%.0f", width, false, fmt.Sprintf("the least of %d executions", runs))
	b.add("workflow", name+": all at agents after the start, p50", out.sorted().quantile(.5), "%.1f ms", 0, true, "")
	b.add("workflow", name+": over after the answers, p50", whole.sorted().quantile(.5), "%.1f ms", 0, true, "")
	return nil
}

// wide runs a parallel step that has many more steps than there are slots.
func (b *bench) wide(ctx context.Context, s *server, work *crew) error {
	width := 10_000
	if b.quick {
		width = 2000
	}
	if err := s.storePattern(ctx, fanChart("bench-wide", crewWork, width)); err != nil {
		return err
	}
	work.take()
	before, start := testbed.CPUTime(s.PID()), time.Now()
	if err := completed(s.Client.Execute(ctx, api.ExecuteRequest{Pattern: "bench-wide"})); err != nil {
		return err
	}
	cpu, took := testbed.CPUTime(s.PID())-before, time.Since(start)
	if seen := work.take(); odd(seen, width) != 0 {
		return fmt.Errorf("%d tasks came to the agents for %d steps", len(seen), width)
	}
	name := fmt.Sprintf("parallel step of %d assigns, %d slots", width, workAgents*workSlots)
	b.add("workflow", name+": completed", took.Seconds(), "%.1f s", 0, true, "")
	b.add("workflow", name+", CPU of the core a step", perStep(cpu, width), "%.3f ms", 0.300, true, "")
	return nil
}

// teams holds many executions in flight.
func (b *bench) teams(ctx context.Context) error {
	n := 500
	if b.quick {
		n = 100
	}
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	work, err := muster(ctx, s.URL, crewOptions{name: crewWork, agents: 5, slots: n, answer: workAnswer})
	if err != nil {
		return err
	}
	defer func() { _ = work.End() }()
	hold, err := muster(ctx, s.URL, crewOptions{name: crewHold, agents: 10, slots: n, hold: true, answer: workAnswer})
	if err != nil {
		return err
	}
	defer func() { _ = hold.End() }()
	if err := s.storePattern(ctx, teamChart("bench-team")); err != nil {
		return err
	}
	before := rss(s.PID())
	input, err := json.Marshal(map[string]string{"text": strings.Repeat("build a command that counts words; ", 30)})
	if err != nil {
		return err
	}
	start := time.Now()
	for range n {
		if _, err := s.Client.ExecuteAsync(ctx, api.ExecuteRequest{Pattern: "bench-team", Input: input}); err != nil {
			return err
		}
	}
	tasks := n * teamEngineers
	err = testbed.Until(ctx, 2*time.Minute, fmt.Sprintf("%d tasks are at agents", tasks), func(ctx context.Context) (bool, error) {
		return hold.atAgents() == tasks, nil
	})
	if err != nil {
		return fmt.Errorf("%w: there are %d", err, hold.atAgents())
	}
	took := time.Since(start)
	name := fmt.Sprintf("%d executions in flight, %d tasks at agents", n, tasks)
	b.add("workflow", name+": RSS of the core, peak", memory(s.PID(), "VmHWM"), "%.0f MiB", 300, true,
		fmt.Sprintf("%.0f MiB before; %.0f MiB then, %.0f without mapped files; %.1f s to get there", before, rss(s.PID()), anonymous(s.PID()), took.Seconds()))
	start = time.Now()
	hold.release()
	err = testbed.Until(ctx, 2*time.Minute, "all executions are over", func(ctx context.Context) (bool, error) {
		if work.count() < 3*n { // the plan, the review, and what follows from it
			return false, nil
		}
		list, err := s.Client.ListExecutions(ctx, api.ExecutionFilter{Status: api.StatusCompleted, Page: api.Page{Limit: 1}})
		return err == nil && list.Total == n, err
	})
	if err != nil {
		return err
	}
	b.add("workflow", name+": all over after the answers", time.Since(start).Seconds(), "%.1f s", 0, true, "")
	return nil
}
