package vt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// key is how a named key is sent. A cursor key has a final letter, a tilde key a number, others their bytes.
type key struct {
	plain  string // bytes without modifiers
	letter byte   // final of "ESC [ letter", "ESC [ 1 ; m letter"
	ss3    bool   // "ESC O letter" without modifiers, always
	tilde  int    // number of "ESC [ n ~"
	ctrl   string // bytes with CTRL; "" if terminals have none
}

// keys are the named keys. NUL is what CTRL_SPACE sends.
var keys = map[string]key{
	"ENTER":     {plain: "\r"},
	"TAB":       {plain: "\t"},
	"ESC":       {plain: "\x1b"},
	"ESCAPE":    {plain: "\x1b"},
	"BACKSPACE": {plain: "\x7f", ctrl: "\b"},
	"SPACE":     {plain: " ", ctrl: "\x00"},
	"UP":        {letter: 'A'},
	"DOWN":      {letter: 'B'},
	"RIGHT":     {letter: 'C'},
	"LEFT":      {letter: 'D'},
	"HOME":      {letter: 'H'},
	"END":       {letter: 'F'},
	"INSERT":    {tilde: 2},
	"DELETE":    {tilde: 3},
	"PAGE_UP":   {tilde: 5},
	"PAGE_DOWN": {tilde: 6},
	"F1":        {letter: 'P', ss3: true},
	"F2":        {letter: 'Q', ss3: true},
	"F3":        {letter: 'R', ss3: true},
	"F4":        {letter: 'S', ss3: true},
	"F5":        {tilde: 15},
	"F6":        {tilde: 17},
	"F7":        {tilde: 18},
	"F8":        {tilde: 19},
	"F9":        {tilde: 20},
	"F10":       {tilde: 21},
	"F11":       {tilde: 23},
	"F12":       {tilde: 24},
}

// Modifiers as xterm counts them.
const (
	shift = 1 << iota
	alt
	control
)

var modifierNames = []struct {
	name string
	bit  int
}{{"SHIFT_", shift}, {"ALT_", alt}, {"CTRL_", control}}

// KeyError says which key of a list is unknown. Nothing of the list was encoded.
type KeyError struct {
	Index  int    // in the list, from 0
	Name   string // as it was given
	Reason string
}

// Error implements error.
func (e *KeyError) Error() string {
	return fmt.Sprintf("keys[%d]: %q %s; known are %s", e.Index, e.Name, e.Reason, strings.Join(KeyNames(), ", "))
}

// KeyNames returns the names that EncodeKeys knows, for documentation. CTRL_A stands for CTRL_A to CTRL_Z, ALT_x for ALT_
// and any key or character; SHIFT_, ALT_ and CTRL_ may be combined in front of the keys that have a cursor or function.
func KeyNames() []string {
	return []string{
		"ENTER", "TAB", "SHIFT_TAB", "ESC", "ESCAPE", "BACKSPACE", "DELETE", "INSERT", "SPACE",
		"UP", "DOWN", "LEFT", "RIGHT", "HOME", "END", "PAGE_UP", "PAGE_DOWN",
		"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12",
		"CTRL_A to CTRL_Z", "CTRL_SPACE", "CTRL_[", "CTRL_\\", "CTRL_]", "CTRL_^", "CTRL__",
		"SHIFT_, ALT_ and CTRL_ before UP to F12", "ALT_ before any key or character", "any single character",
	}
}

// EncodeKeys returns what a terminal sends for the keys. Names are case-insensitive; a single printable character stands
// for itself. appCursor says that the program has switched to application cursor keys, see Screen.AppCursor. The error
// is a *KeyError.
func EncodeKeys(names []string, appCursor bool) ([]byte, error) {
	var b []byte
	for i, name := range names {
		sent, reason := encodeKey(name, appCursor)
		if reason != "" {
			return nil, &KeyError{Index: i, Name: name, Reason: reason}
		}
		b = append(b, sent...)
	}
	return b, nil
}

// encodeKey returns the bytes of one key, or why there are none.
func encodeKey(name string, appCursor bool) (sent, reason string) {
	if name == "" {
		return "", "is empty"
	}
	if isCharacter(name) {
		return name, ""
	}
	base, modifiers := name, 0
	for again := true; again; {
		again = false
		for _, each := range modifierNames {
			if n := len(each.name); len(base) > n && strings.EqualFold(base[:n], each.name) {
				if modifiers&each.bit != 0 {
					return "", "has a modifier twice"
				}
				base, modifiers, again = base[n:], modifiers|each.bit, true
			}
		}
	}
	if k, ok := keys[strings.ToUpper(base)]; ok {
		sent = k.encode(modifiers, appCursor)
	} else if modifiers != 0 && isCharacter(base) {
		sent = encodeCharacter(base, modifiers)
	} else {
		return "", "is not a key"
	}
	if sent == "" {
		return "", "has no code that terminals agree on"
	}
	return sent, ""
}

// isCharacter reports whether name is a single printable character, with its marks.
func isCharacter(name string) bool {
	r, size := utf8.DecodeRuneInString(name)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return false
	}
	return size == len(name) || len(name) <= maxCluster && utf8.ValidString(name) && uniseg.GraphemeClusterCount(name) == 1 &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// encode returns what the key sends, "" if there is no such combination.
func (k key) encode(modifiers int, appCursor bool) string {
	suffix := ""
	if modifiers != 0 {
		suffix = ";" + strconv.Itoa(1+modifiers)
	}
	switch {
	case k.tilde != 0:
		return "\x1b[" + strconv.Itoa(k.tilde) + suffix + "~"
	case k.letter != 0 && modifiers != 0:
		return "\x1b[1" + suffix + string(rune(k.letter))
	case k.letter != 0 && (k.ss3 || appCursor):
		return "\x1bO" + string(rune(k.letter))
	case k.letter != 0:
		return "\x1b[" + string(rune(k.letter))
	}
	sent := k.plain
	switch modifiers &^ alt {
	case 0:
	case control:
		sent = k.ctrl
	case shift:
		if sent != "\t" {
			return ""
		}
		sent = "\x1b[Z"
	default:
		return ""
	}
	if sent != "" && modifiers&alt != 0 {
		sent = "\x1b" + sent
	}
	return sent
}

// encodeCharacter returns what a character sends with modifiers. Letters are small unless there is SHIFT: ALT_B is what
// a keyboard sends for Alt and the key B.
func encodeCharacter(base string, modifiers int) string {
	sent := strings.ToLower(base)
	if modifiers&shift != 0 {
		if sent = strings.ToUpper(base); sent == strings.ToLower(base) {
			return ""
		}
	}
	if modifiers&control != 0 {
		if modifiers&shift != 0 || len(sent) != 1 {
			return ""
		}
		switch c := sent[0]; {
		case c >= 'a' && c <= 'z':
			sent = string(rune(c - 'a' + 1))
		case slices.Contains([]byte(`[\]^_`), c):
			sent = string(rune(c - '[' + 0x1B))
		case c == '@':
			sent = "\x00"
		case c == '?':
			sent = "\x7f"
		default:
			return ""
		}
	}
	if modifiers&alt != 0 {
		sent = "\x1b" + sent
	}
	return sent
}
