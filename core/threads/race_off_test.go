//go:build !race

package threads_test

const raced = false
