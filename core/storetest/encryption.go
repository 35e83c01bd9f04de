package storetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// Encryption returns a new master key, in a file of the test's own.
func Encryption(tb testing.TB) *store.Encryption {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "store.key")
	if err := os.WriteFile(path, []byte(atrest.NewMasterKey().Text()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return &store.Encryption{Source: atrest.FromFile(path, "")}
}
