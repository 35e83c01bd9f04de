package vt_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

// feedLines writes numbered lines.
func feedLines(s *vt.Screen, from, to int, format string) {
	for i := from; i < to; i++ {
		fmt.Fprintf(screenWriter{s}, format+"\r\n", i)
	}
}

func TestLines(t *testing.T) {
	s := vt.New(vt.Options{Cols: 20, Rows: 4, ScrollbackLines: 10})
	if lines, first, next := s.Lines(0); lines != nil || first != 0 || next != 0 {
		t.Fatalf("a new screen has %q, %d, %d", lines, first, next)
	}
	feedLines(s, 0, 8, "line %d")
	lines, first, next := s.Lines(0)
	if want := []string{"line 0", "line 1", "line 2", "line 3", "line 4"}; !slices.Equal(lines, want) || first != 0 || next != 5 {
		t.Fatalf("%q, %d, %d", lines, first, next)
	}
	if lines, first, next = s.Lines(3); !slices.Equal(lines, []string{"line 3", "line 4"}) || first != 3 || next != 5 {
		t.Fatalf("from 3: %q, %d, %d", lines, first, next)
	}
	feedLines(s, 8, 40, "line %d")
	lines, first, next = s.Lines(5)
	if len(lines) != 10 || lines[0] != "line 27" || lines[9] != "line 36" || first != 27 || next != 37 {
		t.Fatalf("from 5, after lines were dropped: %q, %d, %d", lines, first, next)
	}
	if lines, first, next = s.Lines(99); lines != nil || first != 99 || next != 99 {
		t.Fatalf("beyond the end: %q, %d, %d", lines, first, next)
	}
	s.Write([]byte("\x1b[3J"))
	if lines, _, next = s.Lines(0); len(lines) != 0 || next != 37 {
		t.Fatalf("after ED 3: %q, %d", lines, next)
	}
	feedLines(s, 40, 41, "line %d")
	if lines, first, next = s.Lines(0); !slices.Equal(lines, []string{"line 37"}) || first != 37 || next != 38 {
		t.Fatalf("numbers go on: %q, %d, %d", lines, first, next)
	}
}

func TestLinesArePlain(t *testing.T) {
	s := vt.New(vt.Options{Cols: 40, Rows: 1})
	s.Write([]byte("\x1b[1;31mred\x1b[m and 漢字 \x1b]8;;http://x/\x07link\x1b]8;;\x07 🇩🇪🇫🇷 e\u0301  \x1b[44m  \x1b[m\r\n"))
	lines, _, _ := s.Lines(0)
	if want := "red and 漢字 link 🇩🇪🇫🇷 e\u0301"; len(lines) != 1 || lines[0] != want {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestWhatBecomesScrollback(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"LineFeeds", "a\r\nb\r\nc\r\nd\r\ne", []string{"a"}},
		{"RegionAtTop", "a\r\nb\r\nc\x1b[1;2r\x1b[2;1H\n\n", []string{"a", "b"}},
		{"RegionBelow", "a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\n\n", nil},
		{"ScrollUp", "a\r\nb\x1b[2S", []string{"a", "b"}},
		{"DeleteLines", "a\r\nb\x1b[H\x1b[2M", nil},
		{"EraseDisplay", "a\r\nb\x1b[2J", nil},
		{"Alternate", "a\x1b[?1049h\r\n\n\n\n\n\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{Cols: 10, Rows: 4})
			s.Write([]byte(tt.in))
			if lines, _, _ := s.Lines(0); !slices.Equal(lines, tt.want) {
				t.Errorf("%q, want %q", lines, tt.want)
			}
		})
	}
}

func TestNoScrollback(t *testing.T) {
	s := vt.New(vt.Options{Cols: 20, Rows: 4, ScrollbackLines: -1})
	feedLines(s, 0, 10, "line %d")
	if lines, first, next := s.Lines(0); len(lines) != 0 || first != 7 || next != 7 {
		t.Errorf("%q, %d, %d", lines, first, next)
	}
	s.Resize(20, 8)
	if got := s.Text()[0]; got != "line 7" {
		t.Errorf("first row %q", got)
	}
}

func TestRepaintTail(t *testing.T) {
	s := vt.New(vt.Options{Cols: 20, Rows: 4})
	feedLines(s, 0, 100, "line %d")
	for _, tail := range []int{-1, 0, 1, 50, 97, 1000} {
		o := vt.New(vt.Options{Cols: 20, Rows: 4})
		o.Write(s.Repaint(tail))
		lines, _, _ := o.Lines(0)
		all, _, _ := s.Lines(0)
		if want := all[len(all)-min(max(tail, 0), 97):]; !slices.Equal(lines, want) {
			t.Errorf("tail %d: %d lines, want %d", tail, len(lines), len(want))
		}
		if diff := s.Diff(o); diff != "" {
			t.Errorf("tail %d: %s", tail, diff)
		}
	}
}

// TestRepaintJoinsWrappedLines lets a viewer copy a wrapped line as one: there is no line feed in it.
func TestRepaintJoinsWrappedLines(t *testing.T) {
	s := vt.New(vt.Options{Cols: 10, Rows: 4})
	s.Write([]byte("0123456789abcde\r\nnext\r\n"))
	if paint := string(s.Repaint(0)); !strings.Contains(paint, "0123456789abcde\r\nnext") {
		t.Errorf("%q", paint)
	}
	s.Write([]byte("\r\n\n\n\n"))
	if paint := string(s.Repaint(10)); !strings.Contains(paint, "0123456789abcde\r\nnext") {
		t.Errorf("in scrollback: %q", paint)
	}
}

// heap returns the bytes in use after build, less those before; what build returns is kept meanwhile.
func heap(build func() any) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

func TestMemory(t *testing.T) {
	const count = 8
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 3)[:110]
	for _, tt := range []struct {
		name  string
		limit int // bytes each
		feed  func(s *vt.Screen)
	}{
		{"Idle", 64 << 10, func(s *vt.Screen) { s.Write([]byte("\x1b[?2004hroot@host:~# ")) }},
		{"Full", 2 << 20, func(s *vt.Screen) { feedLines(s, 0, 12000, text+"%10d") }},
		{"Coloured", 5 << 19, func(s *vt.Screen) {
			feedLines(s, 0, 12000, strings.Repeat("\x1b[38;2;1;2;3mword\x1b[m \x1b[1;4mword\x1b[m ", 12)+"%8d")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			used := heap(func() any {
				screens := make([]*vt.Screen, count)
				for i := range screens {
					screens[i] = vt.New(vt.Options{})
					tt.feed(screens[i])
				}
				return screens
			}) / count
			t.Logf("%d KiB", used>>10)
			if used > tt.limit {
				t.Errorf("%d KiB, want at most %d", used>>10, tt.limit>>10)
			}
		})
	}
}

// TestHistoryBytes fills the scrollback with lines that even compressed do not all fit.
func TestHistoryBytes(t *testing.T) {
	s := vt.New(vt.Options{Cols: 200, Rows: 4})
	seed := uint32(1)
	for i := range 6000 {
		var line strings.Builder
		for range 60 {
			seed = seed*1664525 + 1013904223
			fmt.Fprintf(&line, "\x1b[38;2;%d;%d;%dm%c", seed>>8&255, seed>>16&255, seed>>24, 'a'+seed>>5%26)
		}
		fmt.Fprintf(screenWriter{s}, "%s\x1b[m %d\r\n", line.String(), i)
	}
	lines, first, next := s.Lines(0)
	if first == 0 || next != 5997 || uint64(len(lines)) != next-first || len(lines) < 500 {
		t.Fatalf("%d lines, %d to %d", len(lines), first, next)
	}
	for i, line := range lines {
		if !strings.HasSuffix(line, fmt.Sprintf(" %d", first+uint64(i))) {
			t.Fatalf("line %d is %q", first+uint64(i), line)
		}
	}
	o, err := vt.Restore(s.Snapshot(), vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, gotFirst, gotNext := o.Lines(first)
	if !slices.Equal(got[len(got)-400:], lines[len(lines)-400:]) || gotNext != next {
		t.Errorf("restored %d to %d", gotFirst, gotNext)
	}
	s.Resize(200, 900) // pulls lines out of compressed blocks as well
	if text := s.Text(); !strings.HasSuffix(text[0], fmt.Sprintf(" %d", next-896)) {
		t.Errorf("first row %q", text[0])
	}
}

// TestLinksAreBounded draws a hyperlink once and overwrites every other column of it: each half of a row costs a hyperlink
// again wherever the row is drawn, which is many times what the program wrote.
func TestLinksAreBounded(t *testing.T) {
	const cols, rows, most = 120, 40, 64 << 20
	s := vt.New(vt.Options{Cols: cols, Rows: rows})
	link := "\x1b]8;;http://x/" + strings.Repeat("a", 2000) + "\x1b\\"
	page := link + "\x1b[Hx\x1b[4799b\x1b]8;;\x1b\\"
	for y := range rows {
		page += fmt.Sprintf("\x1b[%dH", y+1) + strings.Repeat("\x1b[Cx", cols/2)
	}
	for range 250 {
		s.Write([]byte(page + strings.Repeat("\n", rows)))
	}
	s.Write([]byte(page))
	if n := len(s.Repaint(10000)); n > most {
		t.Errorf("a repaint of %d bytes with scrollback", n)
	}
	if n := len(s.Repaint(0)); n > 2<<20 {
		t.Errorf("a repaint of %d bytes", n)
	}
	o, err := vt.Restore(s.Snapshot(), vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := s.Diff(o); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryText checks that what compresses to nothing is bounded as well.
func TestHistoryText(t *testing.T) {
	s := vt.New(vt.Options{Cols: 1000, Rows: 4, ScrollbackLines: 100000})
	row := strings.Repeat("\x1b[38;2;255;255;255;48;2;128;128;128mx\x1b[mx", 500)
	for range 3000 {
		s.Write([]byte(row + "\r\n"))
	}
	if n := len(s.Repaint(100000)); n > 40<<20 {
		t.Errorf("a repaint of %d bytes", n)
	}
	if _, err := vt.Restore(s.Snapshot(), vt.Options{ScrollbackLines: 100000}); err != nil {
		t.Error(err)
	}
	s.Resize(1000, 1000)
	s.Resize(1000, 4)
	lines, first, next := s.Lines(0)
	if uint64(len(lines)) != next-first || len(lines) < 500 {
		t.Errorf("%d lines from %d to %d", len(lines), first, next)
	}
}
