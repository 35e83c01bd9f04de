package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// shellEvery is how often a round is one of managed agents.
const shellEvery = 4

// settleLimit bounds how long managed agents may take to be there again.
const settleLimit = 2 * time.Minute

// strike is one fault of a round of managed agents or threads.
type strike struct {
	after  time.Duration // since the strike before it was over
	core   bool
	plugin bool
	down   time.Duration // how long the core stays away
	host   int           // number of the host of threads that dies too, from 1; 0: none
	fresh  bool          // it comes back as a new one
	engine engineFault
}

// engineFault is what happens to the container engine.
type engineFault string

const (
	engineStopped engineFault = "engine stopped"
	engineKilled  engineFault = "engine killed"
)

func (s strike) String() string {
	what := ""
	switch {
	case s.plugin && s.core:
		what = "plugin and core"
	case s.plugin:
		what = "plugin"
	case s.core:
		what = "core"
	}
	if s.engine != "" {
		what = strings.TrimPrefix(what+" and "+string(s.engine), " and ")
	}
	if s.host > 0 {
		if what != "" {
			what += " and "
		}
		if what += fmt.Sprintf("host %d", s.host); s.fresh {
			what += " for good"
		}
	}
	return fmt.Sprintf("%s +%d ms", what, s.after.Milliseconds())
}

// strikeText shows the faults of a round.
func strikeText(strikes []strike) string {
	text := ""
	for _, s := range strikes {
		text += ", " + s.String()
	}
	return strings.TrimPrefix(text, ", ")
}

// drawStrikes draws the faults of a round. The core dies at least once.
func drawStrikes(random *rand.Rand) []strike {
	within := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	list := make([]strike, 2+random.IntN(3))
	for i := range list {
		list[i] = strike{after: within(killWithin / 2), down: within(downWithin)}
		switch n := random.IntN(100); {
		case n < 40 || i == 0:
			list[i].core = true
		case n < 75:
			list[i].plugin = true
		default:
			list[i].core, list[i].plugin = true, true
		}
	}
	return list
}

// drawEngineFaults adds those of the engine: it is stopped or killed in half of the strikes.
func drawEngineFaults(random *rand.Rand, strikes []strike) {
	for i := range strikes {
		switch random.IntN(4) {
		case 0:
			strikes[i].engine = engineStopped
		case 1:
			strikes[i].engine = engineKilled
		}
	}
}

// shellResult is the result of a round of managed agents.
type shellResult struct {
	number        int
	strikes       []strike
	counts        map[fate]int // of all rounds so far
	plugins       int          // kills of the plugin
	mortal        string       // what was killed of the agent that dies
	adopted, took time.Duration
	problems      []error
}

// shellRound sends messages to the managed agents while core and plugin die, and proves that each agent is
// still the one it was and that no message is lost or doubled.
func (r *rig) shellRound(ctx context.Context, number int) (shellResult, error) {
	result := shellResult{number: number, strikes: drawStrikes(r.random)}
	if r.engine != nil {
		drawEngineFaults(r.random, result.strikes)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, killWithin+4*readyLimit+settleLimit)
	defer cancel()
	stop := make(chan struct{})
	finish := r.shells.load(ctx, stop)
	dying := newMortal(r.shells, fmt.Sprintf("%s-mortal-%d", r.name, number), r.random)
	result.mortal = dying.what()
	err := dying.begin(ctx)
	var death sync.WaitGroup
	var deadly error // read after death
	if err == nil {
		death.Go(func() { deadly = dying.die(ctx) })
		result.plugins, err = r.strikeAll(ctx, result.strikes)
	}
	if err == nil && !pause(ctx, loadAfter) {
		err = ctx.Err()
	}
	close(stop)
	if err != nil {
		cancel() // the senders would wait for a core that is gone
	}
	result.problems = finish()
	death.Wait()
	if deadly != nil && err == nil {
		result.problems = append(result.problems, deadly)
	}
	if err != nil {
		return result, err
	}
	settled := time.Now()
	bounded, done := context.WithTimeout(ctx, settleLimit)
	defer done()
	if err := r.shells.settle(bounded); err != nil {
		result.problems = append(result.problems, err)
	}
	result.adopted = time.Since(settled)
	counts, problems := r.shells.prove()
	result.counts = counts
	result.problems = append(result.problems, problems...)
	if err := r.shells.orphans(); err != nil {
		result.problems = append(result.problems, err)
	}
	result.took = time.Since(began)
	return result, nil
}

// strikeAll lets the faults of a round happen, and returns once the core is up for good, with how many plugins died.
func (r *rig) strikeAll(ctx context.Context, strikes []strike) (plugins int, err error) {
	for _, s := range strikes {
		if !pause(ctx, s.after) {
			return plugins, ctx.Err()
		}
		if s.plugin {
			killed, err := r.shells.killPlugin()
			if err != nil {
				return plugins, err
			}
			if killed {
				plugins++
			}
		}
		if s.engine != "" {
			if err := r.strikeEngine(ctx, s); err != nil {
				return plugins, err
			}
		}
		if s.host > 0 {
			if err := r.hosts.players[s.host-1].crash(s.fresh); err != nil {
				return plugins, err
			}
		}
		if !s.core {
			continue
		}
		if err := r.server.kill(); err != nil {
			return plugins, err
		}
		if !pause(ctx, s.down) {
			return plugins, ctx.Err()
		}
		if err := r.server.launch(); err != nil {
			return plugins, err
		}
		if err := r.server.ready(ctx); err != nil {
			return plugins, err
		}
	}
	return plugins, nil
}

// strikeEngine ends the engine, and starts it again after a while.
func (r *rig) strikeEngine(ctx context.Context, s strike) error {
	end := r.engine.Down
	if s.engine == engineKilled {
		end = r.engine.Kill
	}
	if err := end(ctx); err != nil {
		return err
	}
	if !pause(ctx, s.down) {
		return ctx.Err()
	}
	return r.engine.Up(ctx)
}

// print prints the round's line.
func (r shellResult) print(out io.Writer) {
	verdict := "ok"
	if len(r.problems) > 0 {
		verdict = fmt.Sprintf("BROKEN (%d)", len(r.problems))
	}
	fmt.Fprintf(out, "round %3d  %-10s %5.1fs  managed agents: %d messages acknowledged so far, %d of unknown fate  kill %s, the %s of another one\n",
		r.number, verdict, r.took.Seconds(), r.counts[fateSent], r.counts[fateUnknown], strikeText(r.strikes), r.mortal)
}

// explain prints everything that broke.
func (r shellResult) explain(out io.Writer, dir string) {
	fmt.Fprintf(out, "\nround %d broke promises:\n", r.number)
	for _, err := range r.problems {
		fmt.Fprintf(out, "  %v\n", err)
	}
	fmt.Fprintf(out, "\nthe core's log: %s/wardroom.log; the agents: %s/data/plugins\n", dir, dir)
}
