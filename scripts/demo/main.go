// Command demo shows the whole product on real input: it starts the server and three agents, stores a pattern,
// runs it synchronously, as a stream and as a batch over a corpus of support messages, kills the server in the
// middle of the batch, starts it again, and proves that every message was decided and none was worked on twice.
// Then teams of agents run the built-in org charts, through another kill -9 while a person is asked. After that the
// server starts the coding command lines that are installed, on a model endpoint of the demo's own: each answers,
// and asks for leave over one more kill -9, and then a team of them is spawned for an org chart. At last one of them
// works on a git repository as a managed thread, and what it came to is given to the next one.
//
// It owns the order of events and the checks. The server, its command line and the agents are the real
// programs, started as processes. `make demo` calls it through run.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.wardroom, "wardroom", "bin/wardroom", "the wardroom `binary`")
	flag.StringVar(&o.agent, "agent", "", "the demo agent's `binary`")
	flag.StringVar(&o.dir, "dir", "", "`folder` for data and logs; removed at the end of a good run")
	flag.IntVar(&o.concurrency, "concurrency", 10, "items of the batch at once")
	flag.DurationVar(&o.think, "think", 120*time.Millisecond, "time an agent takes for a message")
	flag.DurationVar(&o.teamThink, "team-think", 300*time.Millisecond, "time an agent of a team takes for each piece of a task")
	flag.BoolVar(&o.keep, "keep", false, "leave server and agents running")
	flag.Parse()

	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo failed: %v\nlogs and data: %s\n", err, o.dir)
		os.Exit(1)
	}
}

// run plays the demo. After the first signal it stops what it started; a second one ends it at once.
func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	return newDemo(o, os.Stdout).run(ctx)
}
