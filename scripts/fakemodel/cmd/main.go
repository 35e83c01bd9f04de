// Command fakemodel runs the loopback model endpoint by hand, or for tests that cannot import it:
//
//	go run ./scripts/fakemodel/cmd -listen 127.0.0.1:0
//
// Its first line on standard output is "fakemodel listening on http://127.0.0.1:PORT pid N". It ends on SIGINT,
// SIGTERM, when its lifetime is over, and with -stdin when its standard input closes, so that it does not
// outlive the test that started it. What it answers is the matter of package fakemodel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends, the lifetime is over, or with -stdin until stdin closes.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	var o fakemodel.Options
	var logFile string
	var tied bool
	flags := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	flags.StringVar(&o.Listen, "listen", fakemodel.DefaultListen, "loopback `address`; port 0 for a free one")
	flags.DurationVar(&o.Lifetime, "lifetime", fakemodel.DefaultLifetime, "end by itself after this time")
	flags.DurationVar(&o.ChunkDelay, "chunk-delay", 0, "pause after each piece of a streamed answer")
	flags.DurationVar(&o.MaxHold, "max-hold", fakemodel.DefaultMaxHold, "how long HOLD waits for its release")
	flags.Uint64Var(&o.MaxRequests, "max-requests", 0, "answer 503 beyond this many; 0 for no limit")
	flags.IntVar(&o.MaxInflight, "max-inflight", fakemodel.DefaultMaxInflight, "answer 503 beyond this many at once")
	flags.StringVar(&logFile, "log", "", "append one JSON line for each request to this `file`")
	flags.StringVar(&o.Dump, "dump", "", "existing `folder` for request bodies, at most 500 files")
	flags.BoolVar(&tied, "stdin", false, "end when standard input closes")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("fakemodel: %q is not a flag; see -help", flags.Arg(0))
	}
	if logFile != "" {
		file, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("fakemodel: -log: %w", err)
		}
		defer file.Close()
		o.Log = file
	}
	server := fakemodel.New(o)
	if err := server.Start(); err != nil {
		return err
	}
	if tied {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() { // ends with stdin, or with the process
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	fmt.Fprintf(stdout, "fakemodel listening on %s pid %d\n", server.URL(), os.Getpid())
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	return server.Close()
}
