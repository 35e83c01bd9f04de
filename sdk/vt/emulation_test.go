package vt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

const caseCols, caseRows = 12, 5

// emulationCase is a stream, and what a screen of 12 columns and 5 rows shows after it.
type emulationCase struct {
	name, in string
	want     []string // rows, without the blank ones at the end
	cursor   [2]int   // row, column
	notTmux  string   // why tmux is no oracle here
}

// emulationCases hold one behaviour each. They are the same for xterm; tmux is asked in oracle_test.go.
var emulationCases = []emulationCase{
	{name: "Plain", in: "one\r\ntwo", want: []string{"one", "two"}, cursor: [2]int{1, 3}},
	{name: "LineFeedKeepsColumn", in: "one\ntwo", want: []string{"one", "   two"}, cursor: [2]int{1, 6}},
	{name: "Wrap", in: "0123456789abcdef", want: []string{"0123456789ab", "cdef"}, cursor: [2]int{1, 4}},
	{name: "PendingWrap", in: "0123456789ab\rX", want: []string{"X123456789ab"}, cursor: [2]int{0, 1}},
	{name: "PendingWrapThenLineFeed", in: "0123456789ab\r\nX", want: []string{"0123456789ab", "X"}, cursor: [2]int{1, 1}},
	{name: "PendingWrapThenErase", in: "0123456789ab\x1b[KX", want: []string{"0123456789aX"}, cursor: [2]int{0, 11},
		notTmux: "keeps the pending wrap"},
	{name: "PendingWrapKeptBySGR", in: "0123456789ab\x1b[1mX", want: []string{"0123456789ab", "X"}, cursor: [2]int{1, 1}},
	{name: "NoWrap", in: "\x1b[?7l0123456789abcdef", want: []string{"0123456789af"}, cursor: [2]int{0, 11}},
	{name: "Scroll", in: "1\r\n2\r\n3\r\n4\r\n5\r\n6", want: []string{"2", "3", "4", "5", "6"}, cursor: [2]int{4, 1}},
	{name: "Backspace", in: "abc\b\bX", want: []string{"aXc"}, cursor: [2]int{0, 2}},
	{name: "BackspaceAtMargin", in: "\b\bX", want: []string{"X"}, cursor: [2]int{0, 1}},
	{name: "Tabs", in: "\tX\tY", want: []string{"        X  Y"}, cursor: [2]int{0, 11}},
	{name: "TabStops", in: "\x1b[3g\x1b[1;4H\x1bH\r\tX\x1b[1;1H\x1b[g\tY", want: []string{"   Y"}, cursor: [2]int{0, 4}},
	{name: "BackTab", in: "\x1b[1;12H\x1b[ZX", want: []string{"        X"}, cursor: [2]int{0, 9}},
	{name: "Position", in: "\x1b[3;4HX\x1b[dY\x1b[2GZ", want: []string{" Z  Y", "", "   X"}, cursor: [2]int{0, 2}},
	{name: "PositionClamped", in: "\x1b[99;99HX", want: []string{"", "", "", "", "           X"}, cursor: [2]int{4, 11}},
	{name: "PositionZero", in: "abc\x1b[0;0HX", want: []string{"Xbc"}, cursor: [2]int{0, 1}},
	{name: "Moves", in: "\x1b[3;6H\x1b[AX\x1b[2BY\x1b[4DZ\x1b[CW", want: []string{"", "     X", "", "   Z WY"}, cursor: [2]int{3, 6}},
	{name: "NextPreviousLine", in: "abc\x1b[EX\x1b[FY", want: []string{"Ybc", "X"}, cursor: [2]int{0, 1}},
	{name: "EraseRight", in: "abcdef\x1b[3D\x1b[K", want: []string{"abc"}, cursor: [2]int{0, 3}},
	{name: "EraseLeft", in: "abcdef\x1b[3D\x1b[1K", want: []string{"    ef"}, cursor: [2]int{0, 3}},
	{name: "EraseLine", in: "abcdef\x1b[2K", cursor: [2]int{0, 6}},
	{name: "EraseBelow", in: "a\r\nbcd\r\ne\x1b[2;2H\x1b[J", want: []string{"a", "b"}, cursor: [2]int{1, 1}},
	{name: "EraseAbove", in: "a\r\nbcd\r\ne\x1b[2;2H\x1b[1J", want: []string{"", "  d", "e"}, cursor: [2]int{1, 1}},
	{name: "EraseAll", in: "a\r\nb\x1b[2J", cursor: [2]int{1, 1}},
	{name: "EraseCharacters", in: "abcdef\x1b[1;2H\x1b[3X", want: []string{"a   ef"}, cursor: [2]int{0, 1}},
	{name: "InsertCharacters", in: "abcdef\x1b[1;2H\x1b[2@", want: []string{"a  bcdef"}, cursor: [2]int{0, 1}},
	{name: "DeleteCharacters", in: "abcdef\x1b[1;2H\x1b[2P", want: []string{"adef"}, cursor: [2]int{0, 1}},
	{name: "InsertLines", in: "a\r\nb\r\nc\x1b[2;1H\x1b[2L", want: []string{"a", "", "", "b", "c"}, cursor: [2]int{1, 0}},
	{name: "DeleteLines", in: "a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[2M", want: []string{"a", "d"}, cursor: [2]int{1, 0}},
	{name: "InsertMode", in: "abc\x1b[1;2H\x1b[4hXY\x1b[4lZ", want: []string{"aXYZc"}, cursor: [2]int{0, 4}},
	{name: "ScrollRegion", in: "a\r\nb\r\nc\r\nd\r\ne\x1b[2;4r\x1b[4;1H\nX", want: []string{"a", "c", "d", "X", "e"}, cursor: [2]int{3, 1}},
	{name: "ScrollRegionBelow", in: "a\r\nb\x1b[1;2r\x1b[5;1HX\nY", want: []string{"a", "b", "", "", "XY"}, cursor: [2]int{4, 2}},
	{name: "ReverseIndex", in: "a\r\nb\x1b[H\x1bMX", want: []string{"X", "a", "b"}, cursor: [2]int{0, 1}},
	{name: "ReverseIndexInRegion", in: "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bM", want: []string{"a", "", "b", "d"}, cursor: [2]int{1, 0}},
	{name: "ScrollUp", in: "a\r\nb\r\nc\x1b[S", want: []string{"b", "c"}, cursor: [2]int{2, 1}},
	{name: "ScrollDown", in: "a\r\nb\r\nc\x1b[T", want: []string{"", "a", "b", "c"}, cursor: [2]int{2, 1}, notTmux: "has no SD"},
	{name: "BadRegion", in: "a\r\nb\x1b[4;2rX", want: []string{"a", "bX"}, cursor: [2]int{1, 2}},
	{name: "OriginMode", in: "\x1b[2;4r\x1b[?6hA\x1b[3;1HB\x1b[9;1HC\x1b[?6l", want: []string{"", "A", "", "C"}, cursor: [2]int{0, 0}},
	{name: "SaveRestore", in: "ab\x1b7\x1b[3;3Hx\x1b8c", want: []string{"abc", "", "  x"}, cursor: [2]int{0, 3}},
	{name: "SaveRestoreANSI", in: "ab\x1b[s\x1b[3;3Hx\x1b[uc", want: []string{"abc", "", "  x"}, cursor: [2]int{0, 3}},
	{name: "Repeat", in: "ab\x1b[3b", want: []string{"abbbb"}, cursor: [2]int{0, 5}},
	{name: "RepeatNothing", in: "a\x1b[2;2H\x1b[3bX", want: []string{"a", " X"}, cursor: [2]int{1, 2}, notTmux: "repeats across moves"},
	{name: "Graphics", in: "\x1b(0lqk\x1b(Bq", want: []string{"┌─┐q"}, cursor: [2]int{0, 4}, notTmux: "captures the letters"},
	{name: "GraphicsShift", in: "\x1b)0q\x0eq\x0fq", want: []string{"q─q"}, cursor: [2]int{0, 3}, notTmux: "captures the letters"},
	{name: "SingleShift", in: "\x1b*0\x1bNqq", want: []string{"─q"}, cursor: [2]int{0, 2}, notTmux: "has no G2"},
	{name: "Align", in: "\x1b#8\x1b[2;2HX", want: []string{"EEEEEEEEEEEE", "EXEEEEEEEEEE", "EEEEEEEEEEEE", "EEEEEEEEEEEE", "EEEEEEEEEEEE"}, cursor: [2]int{1, 2}},
	{name: "AlternateScreen", in: "main\x1b[?1049hALT\x1b[?1049lX", want: []string{"mainX"}, cursor: [2]int{0, 5}},
	{name: "AlternateScreenShown", in: "main\x1b[?1049h\x1b[HALT", want: []string{"ALT"}, cursor: [2]int{0, 3}},
	{name: "AlternateScreen47", in: "main\x1b[?47h\x1b[HALT\x1b[?47lX", want: []string{"maiX"}, cursor: [2]int{0, 4}, notTmux: "saves the cursor"},
	{name: "ResetAll", in: "abc\x1b[2;3r\x1b[?6h\x1bcX", want: []string{"X"}, cursor: [2]int{0, 1}},
	{name: "SoftReset", in: "abc\x1b[2;3r\x1b[4h\x1b[!p\x1b[1;1HX", want: []string{"Xbc"}, cursor: [2]int{0, 1}, notTmux: "has no DECSTR"},
	{name: "NewlineMode", in: "ab\x1b[20h\nX", want: []string{"ab", "X"}, cursor: [2]int{1, 1}, notTmux: "has no LNM"},
	{name: "Wide", in: "a漢字b", want: []string{"a漢字b"}, cursor: [2]int{0, 6}},
	{name: "WideWraps", in: "0123456789a漢", want: []string{"0123456789a", "漢"}, cursor: [2]int{1, 2}},
	{name: "WideHalfOverwritten", in: "漢字\x1b[1;2HX", want: []string{" X字"}, cursor: [2]int{0, 2}, notTmux: "leaves halves"},
	{name: "WideHeadOverwritten", in: "漢字\x1b[1;3HX", want: []string{"漢X"}, cursor: [2]int{0, 3}},
	{name: "WideHalfErased", in: "漢字\x1b[1;2H\x1b[2X", want: []string{""}, cursor: [2]int{0, 1}, notTmux: "leaves halves"},
	{name: "Combining", in: "e\u0301x", want: []string{"e\u0301x"}, cursor: [2]int{0, 2}},
	{name: "CombiningAtEdge", in: "0123456789ae\u0301x", want: []string{"0123456789ae\u0301", "x"}, cursor: [2]int{1, 1}},
	{name: "Joined", in: "👨\u200d👩\u200d👧x", want: []string{"👨\u200d👩\u200d👧x"}, cursor: [2]int{0, 3}},
	{name: "Flag", in: "🇩🇪🇫🇷x", want: []string{"🇩🇪🇫🇷x"}, cursor: [2]int{0, 5}, notTmux: "takes each half for one column"},
	{name: "SkinTone", in: "👍🏽x", want: []string{"👍🏽x"}, cursor: [2]int{0, 3}, notTmux: "of this age does not join"},
	{name: "EmojiSelector", in: "❤\ufe0fx", want: []string{"❤\ufe0fx"}, cursor: [2]int{0, 3}, notTmux: "of this age does not widen"},
	{name: "Keycap", in: "1\ufe0f\u20e3x", want: []string{"1\ufe0f\u20e3x"}, cursor: [2]int{0, 3}, notTmux: "does not widen"},
	{name: "InvalidUTF8", in: "a\xffb\xe2\x9cc\xc0\x80", want: []string{"a\ufffdb\ufffdc\ufffd\ufffd"}, cursor: [2]int{0, 7}, notTmux: "draws each byte"},
	{name: "NoC1", in: "a\xc2\x9b31mb\x9b", want: []string{"a31mb\ufffd"}, cursor: [2]int{0, 6}, notTmux: "draws them otherwise"},
	{name: "OSCHolds9C", in: "\x1b]0;✳ title\x07x", want: []string{"x"}, cursor: [2]int{0, 1}},
	{name: "OSCEndsWithST", in: "\x1b]2;title\x1b\\x", want: []string{"x"}, cursor: [2]int{0, 1}},
	{name: "OSCVoidedByEscape", in: "\x1b]2;title\x1b[2Cx", want: []string{"  x"}, cursor: [2]int{0, 3}, notTmux: "differs"},
	{name: "DCSIgnored", in: "\x1bPq#0;2;0\x1b\\x", want: []string{"x"}, cursor: [2]int{0, 1}},
	{name: "APCIgnored", in: "\x1b_Gf=24;\x07abc\x1b\\x\x1b^pm\x1b\\y\x1bXsos\x1b\\z", want: []string{"xyz"}, cursor: [2]int{0, 3}, notTmux: "takes an APC for a title"},
	{name: "Cancel", in: "\x1b[3\x18xy", want: []string{"xy"}, cursor: [2]int{0, 2}},
	{name: "ControlInCSI", in: "abc\x1b[2\rCx", want: []string{"abx"}, cursor: [2]int{0, 3}},
	{name: "EscapeInCSI", in: "\x1b[3\x1b[2Cx", want: []string{"  x"}, cursor: [2]int{0, 3}},
	{name: "UnknownCSI", in: "\x1b[?1;2$yx\x1b[>4;2mx\x1b[=5uy\x1b[<uz", want: []string{"xxyz"}, cursor: [2]int{0, 4}},
	{name: "PrivateScrollRegionIsNone", in: "a\r\nb\x1b[?2;3rX", want: []string{"a", "bX"}, cursor: [2]int{1, 2}},
	{name: "HugeParameters", in: "\x1b[99999999999Cx\x1b[99999999999999999999Ay", want: []string{"           y"}, cursor: [2]int{0, 11}, notTmux: "drops them"},
	{name: "Hyperlink", in: "\x1b]8;id=1;https://example.com/\x1b\\text\x1b]8;;\x1b\\x", want: []string{"textx"}, cursor: [2]int{0, 5}},
}

func TestEmulation(t *testing.T) {
	for _, tt := range emulationCases {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(vt.Options{Cols: caseCols, Rows: caseRows})
			s.Write([]byte(tt.in))
			if got := trimRows(s.Text()); !slices.Equal(got, trimRows(tt.want)) {
				t.Errorf("screen\n%s\nwant\n%s", frame(got), frame(tt.want))
			}
			if row, col := s.Cursor(); [2]int{row, col} != tt.cursor {
				t.Errorf("cursor %d,%d, want %v", row, col, tt.cursor)
			}
		})
	}
}

// trimRows cuts the blank rows at the end.
func trimRows(rows []string) []string {
	for len(rows) > 0 && strings.TrimRight(rows[len(rows)-1], " ") == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func frame(rows []string) string {
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "|%s|\n", row)
	}
	return b.String()
}
