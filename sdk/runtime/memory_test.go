package runtime_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"512m": 512 << 20, "1g": 1 << 30, "2G": 2 << 30, "0.5g": 512 << 20, "1024": 1024, "1k": 1024, "1kb": 1024, "1Mi": 1 << 20, "3 GiB": 3 << 30, "7b": 7, "1t": 1 << 40,
	} {
		if got, err := runtime.ParseMemory(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "m", "-1m", "1x", "0", "0.0001b", "1e5", "99999999999t", "NaN", "1..2g", "i", "bi"} {
		if got, err := runtime.ParseMemory(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func FuzzParseMemory(f *testing.F) {
	for _, seed := range []string{"512m", "1.5Gi", "", "9e9", "-1", "1\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := runtime.ParseMemory(text); err == nil && (n < 1 || n > 1<<53) {
			t.Fatalf("%q is %d", text, n)
		}
	})
}
