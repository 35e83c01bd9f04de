// Package cmd is the wardroom command line: its tree of commands, flags, exit codes and how answers look in
// a terminal or for a script.
//
// It owns nothing of the product's behaviour: all commands but a few offline ones (config, store, pattern
// validate) talk REST through sdk/client, and serve and dev call the product through Deps.Run, so that this
// package does not know how it is wired. Package main in the folder wardroom calls it; tests run the same
// tree in their own process.
package cmd
