package schema_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/internal/schema"
)

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // negative: an error
	}{
		{"0", 0},
		{"4096", 4096},
		{"7b", 7},
		{"512k", 512 << 10},
		{"512K", 512 << 10},
		{"10MiB", 10 << 20},
		{"10mib", 10 << 20},
		{"10 MiB", 10 << 20},
		{"1g", 1 << 30},
		{"2TiB", 2 << 40},
		{"8388607TiB", 8388607 << 40},
		{"", -1},
		{"MiB", -1},
		{"-1", -1},
		{"1.5MiB", -1},
		{"10MB", -1},
		{"10kB", -1},
		{"10 Mi B", -1},
		{"8388608TiB", -1},
		{"9223372036854775808", -1},
		{"10MiB ", -1},
	} {
		got, err := schema.ParseSize(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 1025: "1025", 1 << 20: "1MiB", 1536 << 10: "1536KiB", 3 << 30: "3GiB", 1 << 50: "1024TiB",
	} {
		if got := schema.FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %s, want %s", n, got, want)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"4096", "512k", "10 MiB", "8388607TiB", "1gib", "kk", "0t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := schema.ParseSize(text)
		if err != nil {
			return
		}
		again, err := schema.ParseSize(schema.FormatSize(n))
		if n < 0 || err != nil || again != n {
			t.Fatalf("%q is %d, written as %s, read back as %d, %v", text, n, schema.FormatSize(n), again, err)
		}
	})
}
