// Command holder holds the terminal of one agent; runtimes start it. See sdk/holder/keeper.
package main

import (
	"os"

	"github.com/wardroom/wardroom/sdk/holder/keeper"
)

func main() { os.Exit(keeper.Main(os.Args[1:])) }
