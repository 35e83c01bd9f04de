// Package clip cuts text to a length in bytes, between characters.
//
// It does not measure what a terminal shows (sdk/vt does), and knows no limits: its callers, all of the sdk, say how
// much they keep. core/internal/clip is the same for the control plane, which sees nothing of the inside of the sdk.
package clip

import "unicode/utf8"

// Repeats core/internal/clip: neither side imports the inside of the other, and a public package would be a promise.

// Text returns s, or its first characters if it is longer than n bytes: as many as fit.
func Text(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// Marked is Text, followed by mark if something was cut. The mark comes on top of n.
func Marked(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return Text(s, n) + mark
}
