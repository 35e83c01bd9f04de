// Command soak ages the product: a year of executions, results of all sizes, deliveries of webhooks, batches, keys and
// agents that come and go, in less than an hour, and then reports whether anything grew that should not have. It owns the
// load and the measurements; package testbed runs the product. `make soak` calls it.
//
//	go run ./scripts/soak            # a year
//	go run ./scripts/soak -short     # a hundred days of a lighter load
//
// The real binary is built with a clock that can be moved. What is scaled, and what is not:
//
//   - A box at 100 executions/s makes 8,640,000 a day. A day of the soak makes -daily of them (400), one for 21,600, and 40
//     more in batches, as fast as the machine takes them; their bodies are of real size (mostly 1 KiB, some 64 KiB, few of
//     600 KiB, which lie in the value log). So what the store holds is 30 days of a thinner load, and sizes in the table are
//     those of that: of 13,640 executions, and not of 259 million.
//   - A day passes in four jumps of six hours, with a quarter of the load before each. Timers that are due in them run
//     once, so retention runs four times a day and not hourly, on the same amount of work a day. Where one run takes
//     longer than the jumps after it, another hour passes for the next.
//   - Retention is as by default: 30 days of executions, events, batches and deliveries, a day of keys and agents.
//   - The server is stopped in order and started again once a month (30 days), as for an update; that is when starts
//     are measured, five times.
//   - Threads, managed agents and what belongs to them are not part of it: their lives are of real time. The fault rig
//     and the turn rig have them.
//
// At each month's end the table has the mean of the disk and the memory at the end of its days, the shortest of five
// starts and the least median of five rounds of 300 requests of the list of executions, both with what the server spent
// of the processors for them. The first month fills the store. After it nothing may grow: the line through the later
// months must not rise by more than -flat (10) percent from its first month to its last, or the exit code is 1. Times of
// starts and requests follow the load of the machine: one that rose without the processors' time is none of the server's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the flags.
type options struct {
	days, daily int
	short       bool
	flat        float64
	binary      string
	output      string
	keep        bool
}

func main() {
	var o options
	flag.IntVar(&o.days, "days", 365, "simulated days, at least 90")
	flag.IntVar(&o.daily, "daily", 400, "executions a day, at least 40")
	flag.BoolVar(&o.short, "short", false, "100 days of 100 executions, where -days and -daily do not say otherwise")
	flag.Float64Var(&o.flat, "flat", 10, "percent by which a figure may rise after the first month")
	flag.StringVar(&o.binary, "binary", "", "the wardroom binary, built with -tags faultclock; empty: built from the module in the working directory")
	flag.StringVar(&o.output, "o", "table", "table or json")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with the store and the log")
	flag.Parse()
	if o.short {
		given := map[string]bool{}
		flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
		if !given["days"] {
			o.days = 100
		}
		if !given["daily"] {
			o.daily = 100
		}
	}
	if o.days < 3*monthDays || o.daily < 40 || o.flat <= 0 || o.output != "table" && o.output != "json" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "soak: -days must be at least 90, -daily at least 40, -flat above 0, -o table or json, and there are no arguments")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}
