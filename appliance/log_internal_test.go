package appliance

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// Under journald, which stamps lines itself, text has no time; JSON, which others read, has it everywhere.
func TestLogTime(t *testing.T) {
	text, json := regexp.MustCompile(`^\d{4}-\d\d-\d\dT`), regexp.MustCompile(`"@timestamp":"\d{4}-`)
	for name, c := range map[string]struct {
		format   string
		journald bool
		time     *regexp.Regexp
		want     bool
	}{
		"text":                {"text", false, text, true},
		"text under journald": {"text", true, text, false},
		"JSON":                {"json", false, json, true},
		"JSON under journald": {"json", true, json, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JOURNAL_STREAM", "8:1234") // restores what was there
			if !c.journald {
				if err := os.Unsetenv("JOURNAL_STREAM"); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			newLogger(config.Log{Level: "info", Format: c.format}, io.Discard, &out).Info("hello")
			if got := c.time.Match(out.Bytes()); got != c.want || out.Len() == 0 {
				t.Errorf("it has a time: %t, want %t: %s", got, c.want, &out)
			}
		})
	}
}
