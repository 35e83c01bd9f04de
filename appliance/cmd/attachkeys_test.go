package cmd_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

func TestDetachKeys(t *testing.T) {
	for _, tt := range []struct {
		name, keys string
		pieces     []string
		passed     string
		detached   bool
	}{
		{"Nothing", "ctrl-]", []string{"abc"}, "abc", false},
		{"Single", "ctrl-]", []string{"abc\x1ddef"}, "abc", true},
		{"SingleUpperCase", "CTRL-P", []string{"\x10"}, "", true},
		{"Sequence", "ctrl-p,ctrl-q", []string{"a\x10\x11b"}, "a", true},
		{"SequenceInPieces", "ctrl-p,ctrl-q", []string{"a\x10", "\x11"}, "a", true},
		{"Held", "ctrl-p,ctrl-q", []string{"\x10"}, "", false},
		{"HeldAndReleased", "ctrl-p,ctrl-q", []string{"\x10", "x"}, "\x10x", false},
		{"BegunTwice", "ctrl-p,ctrl-q", []string{"\x10\x10\x11"}, "\x10", true},
		{"PlainSecond", "ctrl-a, d", []string{"d\x01d"}, "d", true},
		{"Arrows", "ctrl-]", []string{"\x1b[A\x1bOB\x1b[1;5C"}, "\x1b[A\x1bOB\x1b[1;5C", false},
		{"Kitty", "ctrl-]", []string{"a\x1b[93;5u"}, "a", true},
		{"KittyWithLocks", "ctrl-]", []string{"\x1b[93;69u"}, "", true},
		{"KittyAlternates", "ctrl-]", []string{"\x1b[93:125;5:1u"}, "", true},
		{"KittyOtherModifier", "ctrl-]", []string{"\x1b[93;6u"}, "\x1b[93;6u", false},
		{"KittyReleaseAlone", "ctrl-]", []string{"\x1b[93;5:3u"}, "\x1b[93;5:3u", false},
		{"KittySequence", "ctrl-p,ctrl-q", []string{"\x1b[112;5:1u", "\x1b[112;5:3u", "\x1b[113;5:1u"}, "", true},
		{"KittySequenceBroken", "ctrl-p,ctrl-q", []string{"\x1b[112;5:1u\x1b[112;5:3ux"}, "\x1b[112;5:1u\x1b[112;5:3ux", false},
		{"OtherKeys", "ctrl-]", []string{"\x1b[27;5;93~"}, "", true},
		{"OtherKeysOther", "ctrl-]", []string{"\x1b[27;5;92~"}, "\x1b[27;5;92~", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var pieces [][]byte
			for _, piece := range tt.pieces {
				pieces = append(pieces, []byte(piece))
			}
			passed, detached, err := cmd.Detach(tt.keys, pieces...)
			if err != nil || passed != tt.passed || detached != tt.detached {
				t.Errorf("passed %q, detached %v (%v), want %q, %v", passed, detached, err, tt.passed, tt.detached)
			}
		})
	}
	for _, bad := range []string{"", "q", "ctrl-", "ctrl-1", "ctrl-[", "ctrl-p,", "ctrl-pp", "alt-x", "ctrl-é"} {
		if _, _, err := cmd.Detach(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// FuzzDetach: whatever is typed, nothing is lost, changed or passed on twice.
func FuzzDetach(f *testing.F) {
	f.Add([]byte("abc\x10\x11"), []byte("\x1b[112;5:1u\x1b[112;5:3u"))
	f.Add([]byte("\x1b["), []byte("\x1b[;u\x1b[u\x1b[~\x1b[27;;~"))
	f.Add([]byte("\x10"), []byte("\x10"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		passed, detached, err := cmd.Detach("ctrl-p,ctrl-q", a, b)
		if err != nil {
			t.Fatal(err)
		}
		typed := string(a) + string(b)
		if !strings.HasPrefix(typed, passed) {
			t.Fatalf("typed %q, passed on %q", typed, passed)
		}
		if !detached && !strings.ContainsAny(typed, "\x10\x1b") && passed != typed {
			t.Fatalf("typed %q, passed on only %q", typed, passed)
		}
	})
}
