// Package composer types into the input line of a terminal program that understands bracketed paste.
//
// It owns the bytes: what clears a line, and how a text is pasted so that nothing in it is taken as a key. It does
// not own when they are typed (the session does), nor how a program marks its commands (its adapter does). The
// adapters of sdk/agentcli call it.
package composer

import (
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// Keys that more than one program takes.
const (
	Enter     = "\r"
	Escape    = "\x1b"
	Tab       = "\t"
	Backspace = "\x7f"
	CtrlC     = "\x03"
	Up        = "\x1b[A"
	Down      = "\x1b[B"
	LineEnd   = "\x05"
	KillLine  = "\x15" // from the line's begin to the cursor
)

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// ClearLines is how many lines of an abandoned draft Clear removes.
const ClearLines = 24

// clearGap is between two keys of Clear: a program that is slow to read takes several control characters at once
// for text.
const clearGap = 20 * time.Millisecond

// Clear returns the keys that empty a composer in which somebody left a draft of up to ClearLines lines. Between
// two presses of KillLine a joint takes away the line break; programs that join by KillLine itself need none. Then
// comes last, if it is not empty.
func Clear(joint, last string) []agentcli.Step {
	keys := []string{LineEnd}
	for range ClearLines {
		keys = append(keys, KillLine, joint)
	}
	var steps []agentcli.Step
	for _, key := range append(keys, last) {
		if key != "" {
			steps = append(steps, agentcli.Step{Write: []byte(key), Wait: clearGap})
		}
	}
	return steps
}

// Drafted reports whether there may be a draft to clear. A host that cannot tell has one.
func Drafted(host agentcli.Host) bool {
	d, ok := host.(agentcli.Drafts)
	return !ok || d.Drafted()
}

// Paste returns text as a bracketed paste. Control characters other than line breaks and tabs are left out, so
// that the text can neither end the paste nor press a key; each kind of line break becomes a line feed.
func Paste(text string) []byte {
	return []byte(pasteBegin + Plain(text) + pasteEnd)
}

// PasteInPieces returns text as bracketed pastes one after the other, none of which has more than maxBreaks line breaks, which is at
// least 1, or is longer than maxBytes, but for one character that is: for programs that keep a longer paste as something else than
// what was typed.
func PasteInPieces(text string, maxBreaks, maxBytes int) []byte {
	var out []byte
	text = Plain(text)
	for {
		n := piece(text, maxBreaks, maxBytes)
		out = append(append(append(out, pasteBegin...), text[:n]...), pasteEnd...)
		if text = text[n:]; text == "" {
			return out
		}
	}
}

// piece returns how many bytes of text the first piece has: it ends behind a line break or a blank if it can, and within no
// character, which may consist of several code points.
func piece(text string, maxBreaks, maxBytes int) int {
	breaks, blank, at, state := 0, 0, 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if at > 0 && at+len(cluster) > maxBytes {
			if blank > 0 {
				return blank
			}
			return at
		}
		at += len(cluster)
		switch cluster {
		case "\n":
			if breaks++; breaks == maxBreaks {
				return at
			}
			blank = at
		case " ":
			blank = at
		}
	}
	return at
}

// Plain returns text as Paste would let it through.
func Plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r == '\u2028', r == '\u2029':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}
