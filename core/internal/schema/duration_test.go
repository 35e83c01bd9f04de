package schema_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/internal/schema"
)

const day = 24 * time.Hour

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration // negative: an error
	}{
		{"30s", 30 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"7d", 7 * day},
		{"1d12h", 36 * time.Hour},
		{"0d", 0},
		{"0s", 0},
		{"0", 0},
		{"1.5h", 90 * time.Minute},
		{"250ms", 250 * time.Millisecond},
		{"106751d", 106751 * day},
		{"", -1},
		{"d", -1},
		{"30", -1},
		{"-5s", -1},
		{"-1d", -1},
		{"+5s", -1},
		{"1d-5s", -1},
		{"1d+5s", -1},
		{"1.5d", -1},
		{"1d1d", -1},
		{"1h1d", -1},
		{"106752d", -1},
		{"106751d24h", -1},
		{"99999999999d", -1},
		{"9999999h", -1},
		{"1w", -1},
		{" 5s", -1},
	} {
		got, err := schema.ParseDuration(tt.text)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                  "0s",
		30 * time.Second:                   "30s",
		10 * time.Minute:                   "10m",
		day:                                "24h",
		90 * time.Minute:                   "1h30m",
		time.Hour + time.Second:            "1h0m1s",
		1500 * time.Millisecond:            "1.5s",
		100*time.Minute + 10*time.Second:   "1h40m10s",
		10*time.Hour + 10*time.Millisecond: "10h0m0.01s",
	} {
		if got := schema.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %s, want %s", d, got, want)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"30s", "7d", "1d12h", "0", "-1s", "106751d23h47m16s", "1.5h", "ddd", "5µs"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := schema.ParseDuration(text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("ParseDuration(%q) = %v", text, d)
		}
		again, err := schema.ParseDuration(schema.FormatDuration(d))
		if err != nil || again != d {
			t.Fatalf("%q is %v, written as %s, read back as %v, %v", text, d, schema.FormatDuration(d), again, err)
		}
	})
}
