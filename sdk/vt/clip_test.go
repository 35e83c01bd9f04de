package vt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

// TestClip draws a screen on smaller ones: each row there is a part of its row here, and the cursor is in sight.
func TestClip(t *testing.T) {
	big := vt.New(vt.Options{Cols: 40, Rows: 10})
	for y := range 9 {
		fmt.Fprintf(writer{big}, "%d: 日本語 \x1b[1;31mred\x1b[m %s\r\n", y, strings.Repeat("x", 20))
	}
	fmt.Fprint(writer{big}, "prompt> typed")
	for _, size := range [][2]int{{20, 5}, {40, 5}, {20, 10}, {7, 3}, {1, 1}, {39, 20}} {
		small := vt.New(vt.Options{Cols: size[0], Rows: size[1]})
		fmt.Fprint(writer{small}, strings.Repeat("rubbish that was there before ", 50))
		small.Write(big.Clip(size[0], size[1]))
		cols, rows := small.Size()
		text := small.Text()
		for y, row := range text {
			if len([]rune(row)) > cols {
				t.Errorf("%dx%d: row %d is %q", cols, rows, y, row)
			}
			if strings.Contains(row, "rubbish") {
				t.Errorf("%dx%d: what was there before is left: %q", cols, rows, row)
			}
		}
		row, col := small.Cursor()
		if row >= rows || col >= cols {
			t.Errorf("%dx%d: the cursor is at %d, %d", cols, rows, row, col)
		}
		if cols == 20 && !strings.HasPrefix(text[row], "prompt> typed") {
			t.Errorf("%dx%d: the row of the cursor is %q of %q", cols, rows, text[row], text)
		}
		if cols == 20 && rows == 10 && text[0] != "0: 日本語 red xxxxxx" {
			t.Errorf("the first row is %q", text[0])
		}
	}
	// A cursor far to the right stays in sight.
	fmt.Fprint(writer{big}, "\x1b[1;40H@")
	small := vt.New(vt.Options{Cols: 10, Rows: 3})
	small.Write(big.Clip(10, 3))
	if row, col := small.Cursor(); row != 0 || !strings.Contains(small.Text()[0], "@") {
		t.Errorf("cursor at %d, %d of %q", row, col, small.Text())
	}
}

// writer writes to a screen and drops its replies.
type writer struct{ s *vt.Screen }

func (w writer) Write(p []byte) (int, error) {
	w.s.Write(p)
	return len(p), nil
}

// FuzzClip never draws beyond the smaller screen, whatever was shown.
func FuzzClip(f *testing.F) {
	f.Add([]byte("\x1b[5;30H日本\x1b[?1049hx"), 10, 4)
	f.Fuzz(func(t *testing.T, p []byte, cols, rows int) {
		big := vt.New(vt.Options{Cols: 30, Rows: 8, ScrollbackLines: -1})
		big.Write(p)
		small := vt.New(vt.Options{Cols: cols, Rows: rows, ScrollbackLines: -1})
		c, r := small.Size()
		small.Write(big.Clip(c, r))
		if row, col := small.Cursor(); row >= r || col >= c {
			t.Errorf("the cursor is at %d, %d of %dx%d", row, col, c, r)
		}
	})
}
