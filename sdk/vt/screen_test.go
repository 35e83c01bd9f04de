package vt_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

func TestOSC(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		{"Bell", "\x1b]0;a title\x07", `0 "a title" 12`},
		{"ST", "\x1b]7501;state=idle\x1b\\", `7501 "state=idle" 19`},
		{"Contains9C", "\x1b]0;✳ ✦ ✋\x07", `0 "✳ ✦ ✋" 16`},
		{"NoData", "\x1b]104\x07", `104 "" 6`},
		{"Empty", "\x1b]\x07", `-1 "" 3`},
		{"NoNumber", "\x1b]L;x\x07", `-1 "x" 6`},
		{"Plus", "\x1b]+1;x\x07", `-1 "x" 7`},
		{"Several", "a\x1b]9;4;3\x07b\x1b]133;D\x07", `9 "4;3" 9, 133 "D" 18`},
		{"ControlsLeftOut", "\x1b]0;a\nb\tc\x07", `0 "abc" 10`},
		{"Hyperlink", "\x1b]8;;https://example.com/\x1b\\x\x1b]8;;\x1b\\", `8 ";https://example.com/" 27, 8 ";" 35`},
		{"VoidedByCancel", "\x1b]0;a\x18\x07", ""},
		{"VoidedByEscape", "\x1b]0;a\x1bM\x07", ""},
		{"NotEndedBy9C", "\x1b]0;a\x9c\x07", `0 "a\x9c" 7`},
		{"Unfinished", "\x1b]0;a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			s := vt.New(vt.Options{OnOSC: func(o vt.OSC) {
				got = append(got, fmt.Sprintf("%d %q %d", o.Code, o.Data, o.Offset))
			}})
			s.Write([]byte(tt.in))
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Title", "\x1b]0;one\x07\x1b]2;✳ two\x1b\\", "✳ two"},
		{"IconOnly", "\x1b]0;one\x07\x1b]1;two\x07", "one"},
		{"PushPop", "\x1b]0;one\x07\x1b[22;0t\x1b]0;two\x07\x1b[23;0t", "one"},
		{"PopNothing", "\x1b]0;one\x07\x1b[23t", "one"},
		{"InvalidUTF8", "\x1b]0;a\xffb\x07", "a\ufffdb"},
		{"Long", "\x1b]0;" + strings.Repeat("é", 2000) + "\x07", strings.Repeat("é", 512)},
		{"LongOdd", "\x1b]0;a" + strings.Repeat("é", 2000) + "\x07", "a" + strings.Repeat("é", 511)},
		{"LongInvalid", "\x1b]0;" + strings.Repeat("a\xff", 512) + "\x07", strings.Repeat("a\ufffd", 256)},
		{"LongAfterInvalid", "\x1b]0;" + strings.Repeat("\xff", 2000) + "a\x07", "\ufffda"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			s.Write([]byte(tt.in))
			if got := s.Title(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if o, err := vt.Restore(s.Snapshot(), vt.Options{}); err != nil {
				t.Error(err)
			} else if o.Title() != tt.want {
				t.Errorf("restored: %q", o.Title())
			}
		})
	}
}

func TestReplies(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"DA1", "\x1b[c", "\x1b[?62;22c"},
		{"DECID", "\x1bZ", "\x1b[?62;22c"},
		{"Status", "\x1b[5n", "\x1b[0n"},
		{"Position", "\x1b[3;7H\x1b[6n", "\x1b[3;7R"},
		{"PositionDEC", "\x1b[3;7H\x1b[?6n", "\x1b[?3;7R"},
		{"PositionOrigin", "\x1b[2;9r\x1b[?6h\x1b[3;7H\x1b[6n", "\x1b[3;7R"},
		{"Foreground", "\x1b]10;?\x1b\\", "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"},
		{"Background", "\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"},
		{"BothColours", "\x1b]10;?;?\x07", "\x1b]10;rgb:d0d0/d0d0/d0d0\x07\x1b]11;rgb:0000/0000/0000\x07"},
		{"SetColour", "\x1b]10;#ffffff\x07", ""},
		{"DA2", "\x1b[>c", ""}, {"Version", "\x1b[>0q", ""}, {"Kitty", "\x1b[?u\x1b[>7u\x1b[<u", ""},
		{"Mode", "\x1b[?2026$p", ""}, {"Setting", "\x1bP$qm\x1b\\", ""}, {"Window", "\x1b[18t", ""}, {"Palette", "\x1b]4;1;?\x07", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			if got := s.Write([]byte(tt.in)); string(got) != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := s.Write([]byte("x")); got != nil {
				t.Errorf("%q again", got)
			}
		})
	}
	s := vt.New(vt.Options{})
	if got := s.Write(bytes.Repeat([]byte("\x1b[c"), 1<<20)); len(got) > 4<<10 {
		t.Errorf("a flood of questions was answered with %d bytes", len(got))
	}
}

func TestModes(t *testing.T) {
	s := vt.New(vt.Options{})
	check := func(name string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	s.Write([]byte("\x1b[?2004h\x1b[?2026h\x1b[?1h\x1b[?1049h"))
	check("BracketedPaste", s.BracketedPaste(), true)
	check("SyncOutput", s.SyncOutput(), true)
	check("AppCursor", s.AppCursor(), true)
	check("AltScreen", s.AltScreen(), true)
	s.Write([]byte("\x1b[?2004;2026;1;1049l"))
	check("BracketedPaste", s.BracketedPaste(), false)
	check("SyncOutput", s.SyncOutput(), false)
	check("AppCursor", s.AppCursor(), false)
	check("AltScreen", s.AltScreen(), false)
}

func TestRepaintRestoresModes(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h", "\x1b[?1003h\x1b[?1006h"},
		{"\x1b[?1003h\x1b[?1000l", ""},
		{"\x1b[?25l\x1b[?2004h", "\x1b[?25l\x1b[?2004h"},
		{"\x1b[?1004h\x1b[?2031h", "\x1b[?1004h\x1b[?2031h"},
		{"\x1b=\x1b[?1h", "\x1b[?1h\x1b="},
		{"\x1b[>4;2m\x1b[4 q", "\x1b[>4;2m\x1b[4 q"},
		{"\x1b[>4;2m\x1b[>4m", ""},
		{"\x1b[?7l\x1b[?5h", "\x1b[?5h\x1b[?7l"},
		{"\x1b[4h\x1b[20h\x1b[?2026h", "\x1b[4h\x1b[20h\x1b[?2026h"},
	} {
		s := vt.New(vt.Options{})
		s.Write([]byte(tt.in))
		if got, want := string(s.Repaint(0)), "\x1bc\x1b[1;1H"+tt.want; got != want {
			t.Errorf("after %q: %q, want %q", tt.in, got, want)
		}
	}
}

// TestStyles writes attributes in many notations and finds them in a repaint in one.
func TestStyles(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"\x1b[1;2;3;4;5;7;8;9;53mx", "\x1b[1;2;3;5;7;8;9;53;4mx\x1b[m"},
		{"\x1b[31;42mx", "\x1b[31;42mx\x1b[m"},
		{"\x1b[91;102mx", "\x1b[91;102mx\x1b[m"},
		{"\x1b[38;5;9;48;5;200mx", "\x1b[91;48;5;200mx\x1b[m"},
		{"\x1b[38:5:200mx", "\x1b[38;5;200mx\x1b[m"},
		{"\x1b[38;2;1;2;3mx", "\x1b[38;2;1;2;3mx\x1b[m"},
		{"\x1b[38:2::1:2:3mx", "\x1b[38;2;1;2;3mx\x1b[m"},
		{"\x1b[38:2:1:2:3mx", "\x1b[38;2;1;2;3mx\x1b[m"},
		{"\x1b[4:3;58:5:9mx", "\x1b[4:3;58;5;9mx\x1b[m"},
		{"\x1b[21mx", "\x1b[4:2mx\x1b[m"},
		{"\x1b[4m\x1b[4:0mx", "x"},
		{"\x1b[38;2;1;2mx", "x"},
		{"\x1b[38;5mx", "x"},
		{"\x1b[38;5;256mx", "x"},
		{"\x1b[1;31ma\x1b[22mb\x1b[39mc", "\x1b[1;31ma\x1b[0;31mb\x1b[mc"},
		{"\x1b[31ma\x1b[32mb", "\x1b[31ma\x1b[32mb\x1b[m"},
		{"\x1b[1m\x1b[mx", "x"},
		{"\x1b[41m\x1b[Kx", "\x1b[41mx" + strings.Repeat(" ", 119) + "\x1b[m"},
		{"\x1b]8;id=a;http://x/\x07x\x1b]8;;\x07y", "\x1b]8;id=a;http://x/\x1b\\x\x1b]8;;\x1b\\y"},
	} {
		s := vt.New(vt.Options{})
		s.Write([]byte(tt.in + "\x1b[m"))
		paint := strings.TrimPrefix(string(s.Repaint(0)), "\x1bc")
		if got := paint[:strings.LastIndex(paint, "\x1b[1;")]; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestManyStyles uses more styles, links and clusters than the tables hold before they are compacted.
func TestManyStyles(t *testing.T) {
	s := vt.New(vt.Options{Cols: 40, Rows: 10})
	for i := range 20000 {
		fmt.Fprintf(screenWriter{s}, "\x1b[38;2;%d;%d;%dm\x1b]8;;http://example.com/%d\x07x%c%c", i>>16, i>>8&255, i&255, i, 'a'+i%26, 0x300+i%100)
	}
	o := vt.New(vt.Options{Cols: 40, Rows: 10})
	o.Write(s.Repaint(0))
	if diff := s.Diff(o); diff != "" {
		t.Error(diff)
	}
	if paint := string(s.Repaint(0)); !strings.Contains(paint, "http://example.com/19999\x1b\\") || !strings.Contains(paint, "38;2;0;78;31m") {
		t.Error("the last style is lost")
	}
	if styles, links, clusters := s.TableSizes(); styles > 3000 || links > 3000 || clusters > 3000 {
		t.Errorf("tables grew to %d styles, %d links, %d clusters", styles, links, clusters)
	}
}

func TestLineStart(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "a\r\nb": 1, "a\r\n0123456789": 1, "a\r\n0123456789x": 1, "a\r\n0123456789x\r\nb": 3, "0123456789\r\nb": 1,
		"01234567890123456789x\x1b[2;3H": 0, "012345678901234567890123456789x\n\n\n\n": 4,
		strings.Repeat("0123456789", 6): 0,
	} {
		s := vt.New(vt.Options{Cols: 10, Rows: 5})
		s.Write([]byte(in))
		if got := s.LineStart(); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

// TestManyLinks fills the largest screen with hyperlinks, each of another address.
func TestManyLinks(t *testing.T) {
	s := vt.New(vt.Options{Cols: vt.MaxCols, Rows: vt.MaxRows})
	address := strings.Repeat("a", 2000)
	for i := range 20000 {
		fmt.Fprintf(screenWriter{s}, "\x1b]8;;%s%d\x07x", address, i)
	}
	if n := s.LinkBytes(); n > 9<<20 {
		t.Errorf("%d bytes of hyperlinks are kept", n)
	}
	s.Write([]byte("\x1b[2J"))
	for i := range 20000 {
		fmt.Fprintf(screenWriter{s}, "\x1b[H\x1b]8;;%s%d\x07x", address, i)
	}
	if paint := string(s.Repaint(0)); !strings.Contains(paint, "a19999\x1b\\") {
		t.Error("once the others are gone, a hyperlink is not kept")
	}
}

// screenWriter makes a Screen an io.Writer.
type screenWriter struct{ s *vt.Screen }

func (w screenWriter) Write(p []byte) (int, error) {
	w.s.Write(p)
	return len(p), nil
}

// TestHugeInput feeds what no program should write: it costs time, not memory.
func TestHugeInput(t *testing.T) {
	const size = 100 << 20
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	for _, tt := range []struct{ name, before, after string }{
		{"Line", "", ""},
		{"OSC", "\x1b]0;", "\x07"},
		{"DCS", "\x1bP", "\x1b\\"},
		{"CSI", "\x1b[", "m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var osc int
			s := vt.New(vt.Options{OnOSC: func(o vt.OSC) { osc = len(o.Data) }})
			s.Write([]byte(tt.before))
			body := chunk
			if tt.name == "CSI" {
				body = bytes.Repeat([]byte("0123456789;:3210"), 4<<10)
			}
			for fed := 0; fed < size; fed += len(body) {
				s.Write(body)
			}
			s.Write([]byte(tt.after + "\r\nend"))
			if want := uint64(size + len(tt.before) + len(tt.after) + 5); s.Offset() != want {
				t.Errorf("offset %d, want %d", s.Offset(), want)
			}
			text := trimRows(s.Text())
			if len(text) == 0 || text[len(text)-1] != "end" {
				t.Errorf("the screen ends with %q", text)
			}
			if osc > 64<<10 {
				t.Errorf("an OSC of %d bytes was kept", osc)
			}
			if n := len(s.Snapshot()); n > 1<<20 {
				t.Errorf("a snapshot of %d bytes", n)
			}
		})
	}
}

func FuzzWrite(f *testing.F) {
	for _, tt := range emulationCases {
		f.Add([]byte(tt.in), uint16(7), uint16(3))
	}
	for _, token := range tokens {
		f.Add([]byte(token+"x"+token), uint16(2), uint16(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, cols, rows uint16) {
		s := vt.New(vt.Options{Cols: 9, Rows: 4, ScrollbackLines: 50})
		s.Write(data)
		s.Resize(int(cols%300), int(rows%100))
		s.Write(data)
		o, err := vt.Restore(s.Snapshot(), vt.Options{ScrollbackLines: 50})
		if err != nil {
			t.Fatal(err)
		}
		if diff := s.Diff(o); diff != "" {
			t.Fatalf("restore: %s", diff)
		}
		o = vt.New(vt.Options{Cols: 9, Rows: 4})
		o.Resize(s.Size())
		o.Write(s.Repaint(10))
		if diff := s.Diff(o); diff != "" {
			t.Fatalf("repaint: %s", diff)
		}
	})
}
