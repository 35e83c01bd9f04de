package vt_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// recordings returns the streams of the real agents, 120 columns and 40 rows, by name.
func recordings(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.raw.gz")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no recordings: %v", err)
	}
	streams := make(map[string][]byte)
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		unzip, err := gzip.NewReader(file)
		if err != nil {
			tb.Fatal(err)
		}
		data, err := io.ReadAll(unzip)
		if err != nil {
			tb.Fatal(err)
		}
		file.Close()
		streams[strings.TrimSuffix(filepath.Base(name), ".raw.gz")] = data
	}
	return streams
}

// TestRecordings feeds what claude, codex and gemini wrote, and compares the last lines of the scrollback and the screen
// with what they were when other emulators agreed.
func TestRecordings(t *testing.T) {
	for name, data := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			s.Write(data)
			lines, _, next := s.Lines(0)
			row, col := s.Cursor()
			got := strings.Join(lines[max(len(lines)-20, 0):], "\n") + "\n--- screen\n" + strings.Join(s.Text(), "\n") + "\n"
			t.Logf("%d lines of scrollback, cursor %d,%d, title %q", next, row, col, s.Title())
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestRecordingsRoundTrip repaints and restores at many places of the real streams.
func TestRecordingsRoundTrip(t *testing.T) {
	for name, data := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			for step := max(len(data)/23, 1); len(data) > 0; data = data[step:] {
				step = min(step, len(data))
				s.Write(data[:step])
				o := vt.New(vt.Options{})
				o.Write(s.Repaint(50))
				if diff := s.Diff(o); diff != "" {
					t.Fatalf("repaint at %d: %s", s.Offset(), diff)
				}
				restored, err := vt.Restore(s.Snapshot(), vt.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := s.Diff(restored); diff != "" {
					t.Fatalf("restore at %d: %s", s.Offset(), diff)
				}
			}
		})
	}
}

// TestRecordedTitles finds the states that the agents told in titles and OSC 7501, with 0x9C bytes inside.
func TestRecordedTitles(t *testing.T) {
	for name, want := range map[string][]string{
		"claude": {"0;\u2733 "},
		"codex":  {"7501;state=working", "7501;state=idle", "7501;state=done"},
		"gemini": {"0;\u25c7", "0;\u2726"},
	} {
		var seen bytes.Buffer
		s := vt.New(vt.Options{OnOSC: func(o vt.OSC) {
			seen.WriteString(strings.Join([]string{"\n", strconv.Itoa(o.Code), ";", string(o.Data)}, ""))
		}})
		s.Write(recordings(t)[name])
		for _, each := range want {
			if !strings.Contains(seen.String(), "\n"+each) {
				t.Errorf("%s: no OSC %q in %q", name, each, seen.String())
			}
		}
	}
}
