package appliance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

// In the journal, which stamps lines itself, text has no time, and lines begin with their level; JSON, which others read, has
// its time everywhere. Output that was redirected elsewhere has neither, though the variable says that there is a journal.
func TestLogInJournal(t *testing.T) {
	text, json := regexp.MustCompile(`(?m)^(<\d>)?\d{4}-\d\d-\d\dT`), regexp.MustCompile(`"@timestamp":"\d{4}-`)
	for name, c := range map[string]struct {
		format  string
		journal bool
		time    *regexp.Regexp
		stamped bool
	}{
		"text":                {"text", false, text, true},
		"text in the journal": {"text", true, text, false},
		"JSON":                {"json", false, json, true},
		"JSON in the journal": {"json", true, json, true},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			t.Setenv("JOURNAL_STREAM", "8:1234")
			if c.journal {
				info, err := out.Stat()
				if err != nil {
					t.Fatal(err)
				}
				id, _ := fileIdentity(info)
				t.Setenv("JOURNAL_STREAM", id)
			}
			recent := newRecentLog(&lineWriter{next: out, levels: inJournal(out)}, core.SystemClock{})
			log := newLogger(config.Log{Format: c.format}, newLogLevels(config.Log{Level: "debug"}), out, recent)
			log.Error("broken", "why", "first\nsecond")
			log.Warn("odd")
			log.Info("hello")
			log.Debug("detail")
			written, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			if got := c.time.Match(written); got != c.stamped {
				t.Errorf("it has a time: %t, want %t:\n%s", got, c.stamped, written)
			}
			var levels []string
			for line := range strings.Lines(string(written)) {
				if regexp.MustCompile(`^<\d>`).MatchString(line) {
					levels = append(levels, line[:3])
				} else if c.journal {
					t.Errorf("a line has no level: %s", line)
				}
			}
			slices.Sort(levels)
			if got := slices.Compact(levels); c.journal != slices.Equal(got, []string{"<3>", "<4>", "<6>", "<7>"}) || !c.journal && len(got) > 0 {
				t.Errorf("levels are %v:\n%s", got, written)
			}
			if kept := string(recent.Bytes()); strings.Contains(kept, "<3>") || !strings.Contains(kept, "broken") {
				t.Errorf("what is kept in memory:\n%s", kept)
			}
		})
	}
}
