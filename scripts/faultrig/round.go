package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// Times of a round.
const (
	killWithin   = 1800 * time.Millisecond // the first kill comes at a random moment of this long
	recovery     = 60 * time.Millisecond   // further kills come this soon after a start, while it recovers,
	againWithin  = 500 * time.Millisecond  // or this soon, under load again
	drainWithin  = 300 * time.Millisecond  // a kill comes this soon after SIGTERM, while it drains
	downWithin   = 200 * time.Millisecond  // how long the core stays away
	loadAfter    = 400 * time.Millisecond  // the load goes on after the last restart
	quietLimit   = 2 * time.Minute         // for clients and executions to come to their ends
	collectLimit = 5 * time.Minute
)

// faults are what is to happen in a round, drawn before it begins.
type faults struct {
	kill   time.Duration   // after the load began
	again  []time.Duration // further kills, each after the start before it
	down   time.Duration   // between the kill and the start
	agent  int             // index of the agent that is killed, or -1
	delay  time.Duration   // of the agent's kill, after the load began
	fresh  bool            // the killed agent comes back as a new one
	drain  time.Duration   // SIGTERM first, and kill -9 after this; 0: kill -9 at once
	second int             // agent killed together with the first kill of the core, or -1
	clock  clockFaults
	disk   bool // the disk is full over the kill
	full   time.Duration
	poison string // says which records were made unreadable
}

func drawFaults(random *rand.Rand, agents int) faults {
	within := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	f := faults{kill: within(killWithin), down: within(downWithin), agent: -1, second: -1}
	for _, most := range []time.Duration{recovery, againWithin} {
		if random.IntN(100) < 35 {
			f.again = append(f.again, within(most))
		}
	}
	if random.IntN(100) < 50 {
		f.agent, f.delay = random.IntN(agents), within(killWithin)
		f.fresh = random.IntN(2) == 0
	}
	if random.IntN(100) < 25 {
		f.second = random.IntN(agents)
	}
	switch n := random.IntN(100); {
	case n < 20:
		f.drain = 1 + within(drainWithin)
	case n < 30:
		f.drain = readyLimit // long enough to end well
	}
	f.clock = drawClock(random)
	return f
}

func (f faults) String() string {
	if f.poison != "" {
		return f.poison
	}
	text := fmt.Sprintf("kill +%d ms", f.kill.Milliseconds())
	switch f.drain {
	case 0:
	case readyLimit:
		text = fmt.Sprintf("SIGTERM +%d ms", f.kill.Milliseconds())
	default:
		text = fmt.Sprintf("SIGTERM +%d ms, kill +%d ms", f.kill.Milliseconds(), f.drain.Milliseconds())
	}
	for _, d := range f.again {
		text += fmt.Sprintf(", again +%d ms", d.Milliseconds())
	}
	if f.agent >= 0 {
		how := "resuming"
		if f.fresh {
			how = "as a new one"
		}
		text += fmt.Sprintf("; agent %d +%d ms, back %s", f.agent, f.delay.Milliseconds(), how)
	}
	if f.second >= 0 {
		text += fmt.Sprintf("; agent %d together with the core", f.second)
	}
	if f.disk {
		text += fmt.Sprintf("; the disk is full for %d ms", f.full.Milliseconds())
	}
	return text + f.clock.String()
}

// round puts load on the core, lets the faults happen, and proves.
func (r *rig) round(ctx context.Context, number int) (roundResult, error) {
	f := drawFaults(r.random, len(r.crew.players))
	if r.clock == nil {
		f.clock = clockFaults{}
	}
	return r.roundOf(ctx, number, f)
}

// roundOf is a round with these faults.
func (r *rig) roundOf(ctx context.Context, number int, f faults) (roundResult, error) {
	r.say("round %d: %s", number, f)
	scope, err := r.scope(ctx, f.clock)
	if err != nil {
		return roundResult{}, err
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, killWithin+3*readyLimit+quietLimit)
	defer cancel()
	crowd := summon(ctx, r.caller)
	defer crowd.finish()
	r.horde.start(bounded, r.random)
	defer r.horde.end()
	load := begin(bounded, r.caller, fmt.Sprintf("%s-%d", r.name, number), r.random)
	result := roundResult{number: number, faults: f}
	err = r.strike(ctx, f, began)
	if err == nil {
		err = r.stepLate(ctx, f.clock, &result)
	}
	if err == nil && !pause(ctx, loadAfter) {
		err = ctx.Err()
	}
	if err != nil {
		cancel() // the clients would wait for a core that is gone
	}
	patience := time.AfterFunc(quietLimit, cancel)
	load.finish()
	r.horde.end()
	patience.Stop()
	if err != nil {
		return roundResult{}, err
	}
	r.say("round %d: load over after %s", number, time.Since(began).Round(time.Millisecond))
	result.counts = load.told.counts()
	result.problems = append(result.problems, load.told.problems...)
	if err := r.quiet(ctx); err != nil {
		result.problems = append(result.problems, err)
	}
	crowd.finish()
	result.questions, result.refused = len(crowd.answered), crowd.refused
	result.problems = append(result.problems, crowd.prove(ctx)...)
	err = r.prove(ctx, scope, load.told, &result)
	if err == nil {
		err = r.awake(ctx, f.clock, &result)
	}
	result.took = time.Since(began)
	return result, err
}

// strike lets the faults of a round happen, and returns once the core is up for good.
func (r *rig) strike(ctx context.Context, f faults, began time.Time) error {
	struck := make(chan error, 1)
	go func() {
		if f.agent < 0 || !pause(ctx, f.delay) {
			struck <- nil
			return
		}
		struck <- r.crew.players[f.agent].crash(f.fresh)
	}()
	err := r.strikeCore(ctx, f, began)
	return errors.Join(err, <-struck)
}

func (r *rig) strikeCore(ctx context.Context, f faults, began time.Time) error {
	if f.clock.early != 0 {
		if !pause(ctx, f.kill/2) {
			return ctx.Err()
		}
		if err := r.clock.Set(ctx, f.clock.early, r.server.Process); err != nil {
			return err
		}
	}
	if !pause(ctx, f.kill-time.Since(began)) {
		return ctx.Err()
	}
	if f.disk {
		if err := r.full(ctx); err != nil || !pause(ctx, f.full) {
			return errors.Join(err, ctx.Err())
		}
	}
	end := r.server.kill
	if f.drain > 0 {
		end = func() error { return r.server.drain(ctx, f.drain) }
	}
	if err := end(); err != nil {
		return err
	}
	if f.second >= 0 && f.second != f.agent {
		if err := r.crew.players[f.second].crash(false); err != nil {
			return err
		}
	}
	if !pause(ctx, f.down) {
		return ctx.Err()
	}
	for _, after := range f.again {
		if err := r.server.launch(); err != nil {
			return err
		}
		if !pause(ctx, after) {
			return ctx.Err()
		}
		if err := r.server.kill(); err != nil {
			return err
		}
	}
	if !f.disk {
		return r.restart(ctx)
	}
	if err := r.startFull(ctx); err != nil || !pause(ctx, f.full) {
		return errors.Join(err, ctx.Err())
	}
	return r.freed(ctx)
}

// quiet waits until no execution is active.
func (r *rig) quiet(ctx context.Context) error {
	deadline := time.Now().Add(quietLimit)
	for {
		active := []string{}
		for _, status := range []string{"pending", "running"} {
			ids, err := listExecutions(ctx, r.caller, url.Values{"status": {status}})
			if err != nil {
				return err
			}
			active = append(active, ids...)
		}
		if len(active) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d executions are still active after %s, the first is %s", len(active), quietLimit, active[0])
		}
		if !pause(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// prove gathers the evidence and judges it.
func (r *rig) prove(ctx context.Context, scope scope, t *told, result *roundResult) error {
	ctx, cancel := context.WithTimeout(ctx, collectLimit)
	defer cancel()
	if err := r.crew.alive(); err != nil {
		result.problems = append(result.problems, err)
	}
	again := sample(r.random, t.resends, 60)
	earlier := sample(r.random, r.resends, 20)
	if err := sendAgain(ctx, r.caller, t, again); err != nil {
		result.problems = append(result.problems, err)
	}
	// What earlier rounds made is not among this round's evidence: its ids are compared by themselves.
	old := &told{}
	if err := sendAgain(ctx, r.caller, old, earlier); err != nil {
		result.problems = append(result.problems, err)
	}
	result.problems = append(result.problems, compareKeys(earlier, old.promises)...)
	r.resends = append(sample(r.random, r.resends, 400), sample(r.random, t.resends, 20)...)

	col, err := collect(ctx, r.caller, scope.since, scope.before, t)
	if err != nil {
		result.problems = append(result.problems, err)
	}
	if col == nil {
		return nil
	}
	entries, err := r.crew.entries()
	if err != nil {
		return err
	}
	col.evidence.Entries, col.evidence.Ahead = entries, result.faults.clock.ahead()
	result.problems = append(result.problems, r.horde.judge(col.evidence)...)
	result.findings = proof.Check(col.evidence)
	result.evidence = col.evidence
	result.problems = append(result.problems, r.hooks.prove(ctx, col.evidence.Executions)...)
	result.problems = append(result.problems, r.unchanged(ctx, 40)...)
	for id, sum := range col.bodies {
		r.bodies[id] = sum
		r.ids = append(r.ids, id)
	}
	return nil
}

// compareKeys wants the answers to keys to name what they named before.
func compareKeys(before []resend, now []proof.Promise) []error {
	first := map[string]string{}
	for _, q := range before {
		first[q.key] = q.promise.ID
	}
	var problems []error
	for _, p := range now {
		if p.ID != first[p.Key] {
			problems = append(problems, fmt.Errorf("twice: key %s was answered with %s in an earlier round, and with %s now", p.Key, first[p.Key], p.ID))
		}
	}
	return problems
}
