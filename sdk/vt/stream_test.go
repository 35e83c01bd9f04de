package vt_test

import (
	"strings"

	"pgregory.net/rapid"
)

// tokens are what random streams are made of.
var tokens = []string{
	"\r\n", "\n", "\r", "\b", "\t", "\x0e", "\x0f", "hello", "a", " ", "    ", "the quick brown fox jumps over",
	"\x1b[H", "\x1b[2J", "\x1b[J", "\x1b[1J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D",
	"\x1b[3;5H", "\x1b[2;3H", "\x1b[99;99H", "\x1b[2;4r", "\x1b[r", "\x1b[1;3r", "\x1b[L", "\x1b[2M", "\x1b[3@", "\x1b[2P",
	"\x1b[4X", "\x1b[2S", "\x1b[T", "\x1b[3b", "\x1b[2I", "\x1b[Z", "\x1b[5G", "\x1b[2d", "\x1b[E", "\x1b[F",
	"\x1b[m", "\x1b[1m", "\x1b[31m", "\x1b[42m", "\x1b[38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[4:3m", "\x1b[58:2::9:8:7m",
	"\x1b[7;3m", "\x1b[22;24m", "\x1b[39;49m", "\x1b[4m", "\x1b[53m",
	"\x1b7", "\x1b8", "\x1bD", "\x1bM", "\x1bE", "\x1bH", "\x1b[3g", "\x1b(0", "\x1b(B", "\x1b)0", "\x1bN", "\x1b#8", "\x1b=",
	"\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[?25l", "\x1b[?1h", "\x1b[?2004h",
	"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?1047l", "\x1b[?1000h", "\x1b[?1006h", "\x1b[?1003l", "\x1b[?2026h",
	"\x1b[?2026l", "\x1b[20h", "\x1b[20l", "\x1b[3 q", "\x1b[!p", "\x1b[>4;2m", "\x1b[3J", "\x1b[22t", "\x1b[23t",
	"\x1b]0;✳ a title\x07", "\x1b]2;another\x1b\\", "\x1b]8;;https://example.com/\x1b\\", "\x1b]8;;\x1b\\", "\x1b]7501;state=idle\x07",
	"\x1bPq swallowed\x1b\\", "\x1b_G apc\x1b\\", "\x1b]unfinished\x1b[1m",
	"漢字", "é", "e\u0301", "👨\u200d👩\u200d👧", "❤\ufe0f", "🇩🇪", "🇩", "👍🏽", "🏽", "1\ufe0f\u20e3", "\u0301", "✳", "│─┐", "ｗｉｄｅ", "한글", "\u200b",
	"\xff", "\xe2\x9c", "\xf0\x9f", "\xc3", "\x1b[", "\x1b", "\x1b]0;x", "\x18",
}

// stream draws a random stream.
func stream(t *rapid.T, label string) []byte {
	n := rapid.IntRange(0, 60).Draw(t, label+" length")
	var b strings.Builder
	for range n {
		b.WriteString(rapid.SampledFrom(tokens).Draw(t, label))
	}
	return []byte(b.String())
}
