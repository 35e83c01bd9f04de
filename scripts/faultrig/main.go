// Command faultrig proves that kill -9 of the product loses nothing and repeats nothing. Each round puts load
// on the real binary, kills it (and agents) at random moments, starts it again on the same data, and then
// compares what clients were told and what agents recorded with what the store says. Some of the load are org charts,
// whose agents ask each other, and people who answer over the API. In every fourth round it kills core and runtime
// plugin under managed agents, which must live on and get each message once, and the holder or the command of one more,
// whose end must be known, and which must start again; in another one managed threads, in the
// runtime and at connected agents that host them, go from spawn to end meanwhile. A webhook gets every event of the
// executions at least once, under one id, whatever is killed. With the docker runtime rounds are of these two kinds, by turns,
// and their engine is stopped and killed too.
//
// In many rounds the wall clock of the core is set under load, or it is started with one that is a month ahead; the
// product is built with a clock that can be moved for that. In all of them hostile agents send what no agent should.
// In every tenth round a core of its own has its store on a small file system that is full around the kill (only root
// may mount one), and in another one a record in each table of a copy of the store is made unreadable.
//
// It owns the faults, the load and the gathering of evidence; package proof judges it. .ci/run and `make faults` call it.
//
//	go run ./scripts/faultrig -rounds 20
//	go run ./scripts/faultrig -rounds 20 -runtime docker
//
// It prints the seed of its random moments; -seed repeats them. Processes are not in step with a seed, so a
// failure that needs the very same interleaving may take some rounds to come again. On a failure it exits
// with 1 and keeps its folder: the data, the logs of every process and the records of the agents.
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
	if len(os.Args) > 1 && os.Args[1] == agentCommand {
		os.Exit(agentMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == hostCommand {
		os.Exit(hostMain(os.Args[2:]))
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 20, "rounds of load, kill, restart and proof")
	flag.IntVar(&o.shells, "shells", 4, "managed agents that live through all rounds; every fourth round is theirs; 0: none")
	flag.IntVar(&o.threads, "threads", 5, "managed threads in each of two executions of every fourth round; 0: none")
	flag.StringVar(&o.runtime, "runtime", "local", "where managed agents run: local, or docker, which makes every round theirs or one of threads, by turns, and stops their engine too")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the random moments; 0: a new one, which is printed")
	flag.StringVar(&o.binary, "binary", "", "the wardroom binary; empty: built from the module in the working directory; its plugins lie in plugins beside it, and its clock is left alone")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with data, logs and records when all is well too")
	flag.BoolVar(&o.verbose, "v", false, "say what happens inside each round")
	flag.Parse()
	if o.runtime != "local" && o.runtime != "docker" {
		fmt.Fprintln(os.Stderr, "faultrig: -runtime is local or docker")
		os.Exit(2)
	}
	if o.rounds < 1 || o.shells < 0 || o.threads < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "faultrig: -rounds must be at least 1, -shells and -threads at least 0, and there are no arguments")
		os.Exit(2)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultrig:", err)
		os.Exit(1)
	}
}
