package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"
)

func TestRemoveBackups(t *testing.T) {
	const made = "wardroom-20260302T000000Z.backup"
	for name, tt := range map[string]struct {
		keep        int
		there, left []string
	}{
		"older ones go": {
			2, []string{"wardroom-20260228T000000Z.backup.age", "wardroom-20260301T000000Z.backup", made, "notes.txt"},
			[]string{"notes.txt", "wardroom-20260301T000000Z.backup", made},
		},
		// The clock was years ahead for two nights: what was made then is not newer than what was made now.
		"a clock that was ahead": {
			2, []string{"wardroom-20260301T000000Z.backup", made, "wardroom-20990101T000000Z.backup", "wardroom-20990102T000000Z.backup"},
			[]string{"wardroom-20260301T000000Z.backup", made},
		},
		"a clock that was ahead, one is kept": {1, []string{made, "wardroom-20990101T000000Z.backup"}, []string{made}},
		// The clock is behind now: the oldest goes, as ever, and not the one that was just made.
		"a clock that is behind": {
			2, []string{made, "wardroom-20260701T000000Z.backup", "wardroom-20260702T000000Z.backup"},
			[]string{made, "wardroom-20260702T000000Z.backup"},
		},
	} {
		dir := t.TempDir()
		for _, file := range tt.there {
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		removed, err := removeBackups(dir, tt.keep, made)
		if left := files(t, dir); err != nil || !slices.Equal(left, tt.left) {
			t.Errorf("%s: left %v, removed %v, %v", name, left, removed, err)
		}
	}
}

// A backup that was killed leaves the file that it wrote, which may be as large as the store.
func TestRemoveBackupsThatWereCut(t *testing.T) {
	dir := t.TempDir()
	const made = "wardroom-20260302T000000Z.backup"
	old, fresh := "wardroom-20260228T000000Z.backup.part-123", "wardroom-20260301T000000Z.backup.age.part-456" // fresh: somebody writes it
	for file, age := range map[string]time.Duration{made: 0, old: 48 * time.Hour, fresh: time.Hour, "other.part-1": 48 * time.Hour} {
		path, at := filepath.Join(dir, file), time.Now().Add(-age)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := removeBackups(dir, 1, made)
	if left := files(t, dir); err != nil || !slices.Equal(left, []string{"other.part-1", fresh, made}) {
		t.Errorf("left %v, removed %v, %v", left, removed, err)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// A terminal that knows no sequences is shown no counts: it would take them for text.
func TestCountsOnDumbTerminal(t *testing.T) {
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer side.Close()
	for terminal, want := range map[string]bool{"xterm": true, "dumb": false} {
		c := &cli{deps: Deps{Stderr: side, Getenv: func(string) string { return terminal }}}
		if records, bytes := c.records("read"), c.bytesShown("read"); (records != nil) != want || (bytes != nil) != want {
			t.Errorf("TERM=%s: records %t, bytes %t, want %t", terminal, records != nil, bytes != nil, want)
		}
	}
}
