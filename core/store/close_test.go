package store_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// What the store of TestCloseOnAFullDisk holds: most of a memtable.
const closedInputs, closedInputSize = 40, 64 << 10

func closedOptions(dir string) store.Options {
	return store.Options{Path: dir, MinFreeBytes: 48 << 20}
}

// closeWriter is the process that closes: it writes, says so, and closes at the end of its input.
func closeWriter(dir string) {
	s, err := store.Open(ctx, closedOptions(dir))
	must(err)
	for reserved := false; !reserved; runtime.Gosched() { // the ballast is laid beside
		_, err := os.Stat(filepath.Join(dir, "reserve"))
		reserved = err == nil
	}
	random := rand.NewChaCha8([32]byte{}) // what does not compress
	value := make([]byte, closedInputSize)
	for n := range closedInputs {
		_, _ = random.Read(value) // it always succeeds
		must(s.Update(ctx, func(tx core.Tx) error { return tx.PutBatchInput("batch_1", n, value) }))
	}
	fmt.Println("written")
	_, err = io.Copy(io.Discard, os.Stdin)
	must(err)
	must(s.Close())
}

// must ends a process that a test started, with a word.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
