package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

const (
	// clockEarly bounds the steps that a kill may follow: what runs keeps its deadline over a restart by the wall clock.
	clockEarly = 30 * time.Second
	// clockMonth is beyond all that retention keeps.
	clockMonth = 31 * 24 * time.Hour
	// clockNight is longer than it is from a start to the first retention.
	clockNight = 11 * time.Minute
)

// clockLate are the steps while the core runs for the rest of a round.
var clockLate = []time.Duration{-6 * time.Minute, -time.Minute, 6 * time.Minute, time.Hour, clockMonth}

// clockFaults are what happens to the clock of the core in a round; the zero value is nothing.
type clockFaults struct {
	early time.Duration // before the kill, under load
	late  time.Duration // after the last start, under load
	// start: the core is killed at rest and started with a clock that is a month ahead, and runs on for a night, so that
	// retention runs; then the clock is right again.
	start bool
}

func drawClock(random *rand.Rand) clockFaults {
	var f clockFaults
	if random.IntN(100) < 40 {
		f.early = time.Duration(random.Int64N(int64(2*clockEarly))) - clockEarly
	}
	if random.IntN(100) < 40 {
		f.late = clockLate[random.IntN(len(clockLate))]
	}
	f.start = random.IntN(100) < 20
	return f
}

func (f clockFaults) String() string {
	var text strings.Builder
	if f.early != 0 {
		fmt.Fprintf(&text, "; clock %+d s", int64(f.early.Seconds()))
	}
	if f.late != 0 {
		fmt.Fprintf(&text, "; later %+d s", int64(f.late.Seconds()))
	}
	if f.start {
		text.WriteString("; a month ahead at a start")
	}
	return text.String()
}

// ahead returns by how much at most the clock is ahead while the load runs, and behind returns the opposite.
func (f clockFaults) ahead() time.Duration  { return max(f.early, f.late, 0) }
func (f clockFaults) behind() time.Duration { return -min(f.early, f.late, 0) }

// steps counts the times that the clock is set.
func (f clockFaults) steps() int {
	n := 0
	for _, happens := range []bool{f.early != 0, f.late != 0, f.early != 0 || f.late != 0, f.start, f.start} {
		if happens {
			n++
		}
	}
	return n
}

// scope bounds the evidence of a round: all made since then, by the clock of the core, but for what was there before.
type scope struct {
	since  time.Time
	before map[string]bool
}

func (r *rig) scope(ctx context.Context, f clockFaults) (scope, error) {
	s := scope{since: time.Now().Add(-f.behind() - time.Millisecond), before: map[string]bool{}}
	ctx, cancel := context.WithTimeout(ctx, collectLimit)
	defer cancel()
	ids, err := listSince(ctx, r.caller, s.since)
	for _, id := range ids {
		s.before[id] = true
	}
	return s, err
}

// stepLate sets the clock of a core that runs, under load: agents stay where they are, and limits hold.
func (r *rig) stepLate(ctx context.Context, f clockFaults, result *roundResult) error {
	if f.late == 0 && f.early == 0 {
		return nil
	}
	if f.late != 0 {
		if !pause(ctx, loadAfter/2) {
			return ctx.Err()
		}
		before, err := r.connected(ctx)
		if err != nil {
			return err
		}
		limited, err := r.horde.limit(ctx, r.caller)
		if err != nil {
			return err
		}
		if err := r.clock.Set(ctx, f.late, r.server.Process); err != nil {
			return err
		}
		result.problems = append(result.problems, limited.prove(ctx)...)
		if !pause(ctx, sweepTime) {
			return ctx.Err()
		}
		after, err := r.connected(ctx)
		if err != nil {
			return err
		}
		for name, was := range before {
			if is := after[name]; is != was {
				result.problems = append(result.problems, fmt.Errorf("agent %s was %s before the clock was set by %s, and is %q after it",
					name, was, f.late, is))
			}
		}
	}
	return r.clock.Set(ctx, 0, r.server.Process)
}

// sweepTime is how long the core takes to look at all agents, at least once.
const sweepTime = 1500 * time.Millisecond

// connected returns the sessions of agents of the rig that are connected and well, by name.
func (r *rig) connected(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	var page struct {
		Agents []struct {
			ID          string `json:"id"`
			Name        string `json:"name"`
			ConnectedAt string `json:"connectedAt"`
			Healthy     bool   `json:"healthy"`
		} `json:"agents"`
	}
	if _, _, err := r.caller.get(ctx, "/api/agents?limit=100&status=connected", &page); err != nil {
		return nil, err
	}
	byName := map[string]string{}
	for _, a := range page.Agents {
		for _, m := range r.crew.players {
			if m.name == a.Name && a.Healthy { // those whose connection is lost are connected until the grace is over
				byName[a.Name] = a.ID + " since " + a.ConnectedAt
			}
		}
	}
	return byName, nil
}

// awake starts a core whose clock is a month ahead, lets retention run, and proves that everything is as it was.
func (r *rig) awake(ctx context.Context, f clockFaults, result *roundResult) error {
	if !f.start {
		return nil
	}
	if err := r.server.kill(); err != nil {
		return err
	}
	if err := r.clock.Set(ctx, clockMonth, r.server.Process); err != nil {
		return err
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	if err := r.clock.Pass(ctx, clockNight, r.server.Process); err != nil {
		return err
	}
	reply, err := r.caller.call(ctx, http.MethodGet, "/api/health?detailed=true", "", nil)
	if err != nil {
		return err
	}
	if !strings.Contains(string(reply.body), "clock") {
		result.problems = append(result.problems, fmt.Errorf("a month ahead at the start, and the health does not speak of the clock: %.2000s", reply.body))
	}
	result.problems = append(result.problems, r.kept(ctx, "with a clock that is a month ahead")...)
	return r.clock.Set(ctx, 0, r.server.Process)
}

// restart starts the core again, and waits for it and for the agents.
func (r *rig) restart(ctx context.Context) error {
	if err := r.server.launch(); err != nil {
		return err
	}
	return r.server.ready(ctx)
}

// kept proves that what earlier rounds made reads as it did, and that their keys are known.
func (r *rig) kept(ctx context.Context, when string) []error {
	problems := r.unchanged(ctx, 100)
	earlier := sample(r.random, r.resends, 20)
	old := &told{}
	if err := sendAgain(ctx, r.caller, old, earlier); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, compareKeys(earlier, old.promises)...)
	for i := range problems {
		problems[i] = fmt.Errorf("%s: %w", when, problems[i])
	}
	return problems
}
