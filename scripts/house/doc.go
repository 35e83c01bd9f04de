// Package house holds the rules of the source tree, and the tests that enforce them with a reason for each:
// who may import whom, what every package says about itself, how large things may grow, and which modules
// the binaries are built from.
//
// It looks at the tree and never changes it, apart from its own golden file with -update. It owns no rule
// about the behaviour of the product. `go test ./...` runs it.
package house
