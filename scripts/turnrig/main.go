// Command turnrig proves that each turn of the real coding command lines comes to what their model was made to do. It
// starts the product with its local runtime and a fake model, and gives agents of claude, codex and gemini scripted
// turns in random order: answers, tools, approvals allowed and refused, questions, errors of the model of each kind,
// answers that break off, long answers, interrupts, and people who type. Meanwhile it kills the core, the runtime's
// plugin, holders of terminals and the command lines themselves, and keeps the machine busy. Each outcome is compared
// with what was scripted, and what arrived at the model with what was sent.
//
//	go run ./scripts/turnrig -turns 10000
//
// It prints a table and exits with 1 if a message was lost, doubled, merged or got another's answer, or an outcome was
// not the scripted one; the folder with logs stays then. What it owns is the script of a turn, the faults and the
// judgement; processes are scripts/testbed, the model is scripts/fakemodel. .ci/run calls its short form.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.turns, "turns", 100, "turns of each command line")
	flag.IntVar(&o.agents, "agents", 2, "agents of each command line")
	tools := flag.String("clis", "claude,codex,gemini", "command lines, separated by commas; one that is not installed is left out")
	kinds := flag.String("kinds", "", "kinds of turns, separated by commas; empty: all")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the script; 0: a new one, which is printed")
	flag.DurationVar(&o.killEvery, "kill-every", 20*time.Second, "mean time between kills; 0: none")
	flag.IntVar(&o.freshEvery, "fresh-every", 100, "turns after which an agent begins a new session, so that its requests stay small; 0: never")
	flag.IntVar(&o.burners, "burn", 1, "goroutines that keep the machine busy")
	flag.DurationVar(&o.limit, "limit", 0, "time after which no new turn is begun; 0: none")
	flag.StringVar(&o.binary, "binary", "", "the wardroom binary, with its plugins in plugins beside it; empty: built from the module in the working directory")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with data and logs when all is well too")
	flag.BoolVar(&o.verbose, "v", false, "print each turn and each kill")
	flag.Parse()
	o.tools = strings.Split(*tools, ",")
	if *kinds != "" {
		o.kinds = strings.Split(*kinds, ",")
	}
	if err := o.check(); err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "turnrig:", err)
		os.Exit(2)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "turnrig:", err)
		os.Exit(1)
	}
}
