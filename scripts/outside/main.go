// Command outside proves that plugins can be written by strangers: it takes the sdk, the example plugin and a
// freshly scaffolded one to a directory outside of the repository, where nothing else of ours is, builds and
// tests them there, and then installs them into a real appliance and talks to an agent on each.
//
// It owns the order of events and the report. The programs are the real ones, started as processes; the commands
// of docs/plugins.md are run as they stand there. CI calls it; it needs Go and, for a cold module cache, a proxy.
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
	flag.StringVar(&o.root, "root", ".", "the repository's `directory`")
	flag.StringVar(&o.wardroom, "wardroom", "", "the wardroom `binary`; empty: it is built")
	flag.StringVar(&o.export, "export", "", "only write the sdk alone to this new `directory`, for machines without a module proxy")
	flag.StringVar(&o.pack, "pack", "", "only write the sdk as the archive `file` that wardroom has inside")
	flag.BoolVar(&o.keep, "keep", false, "leave the directory")
	flag.DurationVar(&o.limit, "limit", 8*time.Minute, "time for everything")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "\noutside failed: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, wardroom, export, pack string
	keep                         bool
	limit                        time.Duration
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	if o.export != "" {
		return exportSDK(ctx, o.root, o.export)
	}
	if o.pack != "" {
		return packSDK(ctx, o.root, o.pack)
	}
	r, err := newRig(o, os.Stdout)
	if err != nil {
		return err
	}
	return r.run(ctx)
}
