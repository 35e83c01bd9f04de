package vt_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
	"pgregory.net/rapid"
)

// reports are what terminals say by themselves.
var reports = []string{
	"\x1b[?62;22c", "\x1b[?1;2c", "\x1b[>41;351;0c", "\x1b[24;80R", "\x1b[1;80R", "\x1b[1;1R", "\x1b[?3;4R", "\x1b[?3;4;1R", "\x1b[0n", "\x1b[?997;1n",
	"\x1b]10;rgb:d0d0/d0d0/d0d0\x07", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b]4;1;rgb:00/00/00\x07", "\x1b]52;c;aGVsbG8=\x07",
	"\x1bP>|xterm(390)\x1b\\", "\x1bP!|00000000\x1b\\", "\x1bP1$r0m\x1b\\", "\x1bP0+r\x1b\\", "\x1b[?2026;2$y", "\x1b[4;2$y", "\x1b[?0u", "\x1b[?1u",
	"\x1b[8;40;120t", "\x1b]lTerminal\x1b\\", "\x1b]LTerminal\x1b\\", "\x1b_Gi=1;OK\x1b\\",
}

// pressed are what keys, the mouse and pastes send.
var pressed = []string{
	"a", "\r", "\x1b[A", "\x1bOA", "\x1bOR", "\x1b[1;2R", "\x1b[1;5R", "\x1b[1;16R", "\x1b[R", "\x1b[3~", "\x1b[97;5u", "\x1b[<0;3;4M", "\x1b[<0;3;4m", "\x1b[M !!",
	"\x1b[I", "\x1b[O", "\x1b[200~pasted [?1c text\x1b[201~", "\x1bb", "\x1b\r", "\x1b[Z", "\x1b\x7f", "漢", "\x1b[1;5C", "\x1b[27;5;9~", "\x1b\x1b[A",
}

func TestInputFilterDropsReports(t *testing.T) {
	for _, report := range reports {
		var f vt.InputFilter
		if got := string(f.Filter([]byte("a" + report + "b"))); got != "ab" {
			t.Errorf("%q in one piece: %q", report, got)
		}
		for cut := 1; cut < len(report); cut++ { // an introducer alone is a key and passes
			var f vt.InputFilter
			got := string(f.Filter([]byte(report[:cut]))) + string(f.Filter([]byte(report[cut:]+"b")))
			want := "b"
			if cut < 3 {
				want = report[:cut] + "b"
			}
			if got != want {
				t.Errorf("%q cut at %d: %q, want %q", report, cut, got, want)
			}
		}
	}
}

func TestInputFilterPassesKeys(t *testing.T) {
	for _, keys := range pressed {
		var f vt.InputFilter
		if got := string(f.Filter([]byte(keys))); got != keys {
			t.Errorf("%q: %q", keys, got)
		}
	}
}

// TestInputFilterPassesTyping types what looks like a reply, key by key, as nobody's terminal sends one.
func TestInputFilterPassesTyping(t *testing.T) {
	for _, keys := range []string{"\x1b[?1c", "\x1b]10;x\r", "\x1bP>|\r", "\x1b[12;3R"} {
		var f vt.InputFilter
		var got strings.Builder
		for i := range len(keys) {
			got.Write(f.Filter([]byte(keys[i : i+1])))
		}
		if got.String() != keys {
			t.Errorf("%q: %q", keys, got.String())
		}
	}
}

func TestInputFilterLoneEscape(t *testing.T) {
	var f vt.InputFilter
	if got := string(f.Filter([]byte("\x1b"))); got != "\x1b" {
		t.Errorf("%q: Escape must not wait for another key", got)
	}
	if got := string(f.Filter([]byte("x"))); got != "x" {
		t.Errorf("%q after it", got)
	}
}

func TestInputFilterBounded(t *testing.T) {
	var f vt.InputFilter
	input := "\x1b]52;c;" + strings.Repeat("A", 200<<10)
	got := 0
	for rest := input; rest != ""; {
		n := min(4096, len(rest))
		got += len(f.Filter([]byte(rest[:n])))
		rest = rest[n:]
	}
	if got += len(f.Filter([]byte("\r"))); got != len(input)+1 {
		t.Errorf("%d of %d bytes passed: what never ends is no reply", got, len(input)+1)
	}
}

// TestInputFilterKeepsOrder mixes keys and reports: only the reports are missing.
func TestInputFilterKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f vt.InputFilter
		var got, want strings.Builder
		for range rapid.IntRange(1, 20).Draw(t, "chunks") {
			var chunk strings.Builder
			for range rapid.IntRange(1, 4).Draw(t, "parts") {
				if rapid.Bool().Draw(t, "report") {
					chunk.WriteString(rapid.SampledFrom(reports).Draw(t, "report"))
				} else {
					keys := rapid.SampledFrom(pressed).Draw(t, "keys")
					chunk.WriteString(keys)
					want.WriteString(keys)
				}
			}
			got.Write(f.Filter([]byte(chunk.String())))
		}
		if got.String() != want.String() {
			t.Fatalf("%q, want %q", got.String(), want.String())
		}
	})
}

func FuzzInputFilter(f *testing.F) {
	for _, each := range append(reports, pressed...) {
		f.Add([]byte(each), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var filter vt.InputFilter
		cut = min(max(cut, 0), len(data))
		n := len(filter.Filter(append([]byte(nil), data[:cut]...)))
		n += len(filter.Filter(append([]byte(nil), data[cut:]...)))
		if n > len(data) {
			t.Fatalf("%d bytes of %d", n, len(data))
		}
		if !strings.Contains(string(data), "\x1b") && n != len(data) {
			t.Fatalf("%d bytes of %d without an escape", n, len(data))
		}
	})
}
