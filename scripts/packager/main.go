// Command packager makes the packages of Wardroom: .deb and .rpm for each architecture, with manual pages, completions,
// licences and a bill of materials, checksums over all of them, signatures where it is given a key, and bundles of it all for
// machines without a network.
//
// It owns what is in which package and where it lies on the machine; how a package file is written is nfpm's. The same
// commit gives the same bytes: times are those of the commit, and nothing of the machine gets in. `make package` and
// `make bundle` call it.
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
	var arches, only string
	flag.StringVar(&o.root, "root", ".", "the repository's `directory`")
	flag.StringVar(&o.out, "out", "dist", "`directory` of the packages; what it held before goes")
	flag.StringVar(&arches, "arch", "amd64,arm64", "architectures, separated by commas")
	flag.StringVar(&only, "only", "", "`packages` to make, separated by commas (default: all, and the libraries for agents)")
	flag.StringVar(&o.version, "version", "", "of the packages and the programs (default: what VERSION says)")
	flag.StringVar(&o.tags, "tags", "", "build tags of the programs")
	flag.StringVar(&o.nfpm, "nfpm", "nfpm", "the `program` nfpm")
	flag.StringVar(&o.key, "sign", "", "OpenPGP secret key `file` to sign packages and checksums with")
	flag.BoolVar(&o.bundles, "bundle", false, "make a bundle of each architecture as well, for machines without a network")
	flag.StringVar(&o.images, "images", "", "`file` of images of agents, as docker save writes them, for the bundles")
	flag.BoolVar(&o.keep, "keep", false, "leave the directory that packages are made of")
	limit := flag.Duration("limit", 30*time.Minute, "time for everything")
	flag.Parse()
	o.arches = strings.Split(arches, ",")
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	if err := within(*limit, o); err != nil {
		fmt.Fprintf(os.Stderr, "packager: %v\n", err)
		os.Exit(1)
	}
}

// within is run with a limit, until a signal.
func within(limit time.Duration, o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return run(ctx, o)
}
