// Command bench measures the product as its users meet it: the real binary, real agents over WebSocket,
// load over HTTP on the same machine, synced writes. It prints a table with targets, and ratios against
// baselines that it measures in the same run. It owns the measuring only; `make bench` calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agents":
			os.Exit(agentsMain(os.Args[2:]))
		case "loop":
			os.Exit(loopMain(os.Args[2:]))
		case "fan":
			os.Exit(fanMain(os.Args[2:]))
		case "receivers":
			os.Exit(receiversMain(os.Args[2:]))
		case "followers":
			os.Exit(followersMain(os.Args[2:]))
		}
	}
	os.Exit(benchMain())
}

func benchMain() int {
	binary := flag.String("binary", "bin/wardroom", "the binary to measure")
	only := flag.String("only", "", "comma-separated parts: "+strings.Join(partNames(), ", ")+"; empty: all")
	quick := flag.Bool("quick", false, "short runs and 100,000 rows in place of 1,000,000: to see that it works, not to quote")
	asJSON := flag.Bool("json", false, "print JSON in place of the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *only, *quick, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
