package vt_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

func TestResize(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		cols, rows int
		want       []string
		lines      []string
		cursor     [2]int
	}{
		{"Same", "a\r\nb", 10, 4, []string{"a", "b"}, nil, [2]int{1, 1}},
		{"LowerWithRoom", "a\r\nb", 10, 2, []string{"a", "b"}, nil, [2]int{1, 1}},
		{"LowerPushes", "a\r\nb\r\nc\r\nd", 10, 2, []string{"c", "d"}, []string{"a", "b"}, [2]int{1, 1}},
		{"LowerDropsBelowCursor", "a\r\nb\r\nc\r\nd\x1b[2;1H", 10, 2, []string{"a", "b"}, nil, [2]int{1, 0}},
		{"HigherPulls", "a\r\nb\r\nc\r\nd\r\ne\r\nf", 10, 6, []string{"a", "b", "c", "d", "e", "f"}, nil, [2]int{5, 1}},
		{"HigherPullsSome", "a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng", 10, 5, []string{"c", "d", "e", "f", "g"}, []string{"a", "b"}, [2]int{4, 1}},
		{"HigherWithoutScrollback", "a\r\nb", 10, 6, []string{"a", "b"}, nil, [2]int{1, 1}},
		{"Narrower", "abcdefgh\r\n漢字漢字", 3, 4, []string{"abc", "漢"}, nil, [2]int{1, 2}},
		{"Wider", "0123456789", 12, 4, []string{"0123456789"}, nil, [2]int{0, 9}},
		{"PulledIsCut", "abcdefgh\r\nb\r\nc\r\nd\r\ne", 3, 5, []string{"abc", "b", "c", "d", "e"}, nil, [2]int{4, 1}},
		{"PulledWideIsCut", "ab漢\r\nb\r\nc\r\nd\r\ne", 3, 5, []string{"ab", "b", "c", "d", "e"}, nil, [2]int{4, 1}},
		{"Zero", "ab", 0, 0, []string{"ab"}, nil, [2]int{0, 1}},
		{"Huge", "ab", 100000, 100000, []string{"ab"}, nil, [2]int{0, 2}},
		{"Negative", "ab", -5, -5, []string{"ab"}, nil, [2]int{0, 1}},
		{"Alternate", "a\r\nb\r\nc\r\nd\x1b[?1049h\x1b[Hx", 10, 2, []string{"x"}, []string{"a", "b"}, [2]int{0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{Cols: 10, Rows: 4})
			s.Write([]byte(tt.in))
			s.Resize(tt.cols, tt.rows)
			if got := trimRows(s.Text()); !slices.Equal(got, tt.want) {
				t.Errorf("screen\n%s\nwant\n%s", frame(got), frame(tt.want))
			}
			if lines, _, _ := s.Lines(0); !slices.Equal(lines, tt.lines) {
				t.Errorf("scrollback %q, want %q", lines, tt.lines)
			}
			if row, col := s.Cursor(); [2]int{row, col} != tt.cursor {
				t.Errorf("cursor %d,%d, want %v", row, col, tt.cursor)
			}
		})
	}
}

// TestResizeBehindAlternate finds the main screen and its cursor where they belong when the program leaves.
func TestResizeBehindAlternate(t *testing.T) {
	s := vt.New(vt.Options{Cols: 10, Rows: 4})
	s.Write([]byte("a\r\nb\r\nc\r\nd\x1b[?1049h"))
	s.Resize(10, 2)
	s.Write([]byte("\x1b[?1049lX"))
	if got, want := trimRows(s.Text()), []string{"c", "dX"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResizeResetsRegion(t *testing.T) {
	s := vt.New(vt.Options{Cols: 10, Rows: 4})
	s.Write([]byte("a\r\nb\x1b[1;2r"))
	s.Resize(10, 5)
	s.Write([]byte("\x1b[2;1H\nc\nd"))
	if got, want := trimRows(s.Text()), []string{"a", "b", "c", " d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct{ cols, rows, wantCols, wantRows int }{
		{0, 0, vt.DefaultCols, vt.DefaultRows}, {-1, -1, vt.MinCols, vt.MinRows}, {1 << 30, 1 << 30, vt.MaxCols, vt.MaxRows},
	} {
		if cols, rows := vt.New(vt.Options{Cols: tt.cols, Rows: tt.rows}).Size(); cols != tt.wantCols || rows != tt.wantRows {
			t.Errorf("%dx%d became %dx%d", tt.cols, tt.rows, cols, rows)
		}
	}
}
