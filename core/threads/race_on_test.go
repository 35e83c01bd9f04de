//go:build race

package threads_test

// raced reports whether the race detector watches.
const raced = true
