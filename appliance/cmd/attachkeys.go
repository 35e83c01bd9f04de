package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// detachKey is one key of the sequence that leaves an attached terminal.
type detachKey struct {
	raw  byte // what a plain terminal sends
	code int  // the key itself, as terminals with an enhanced keyboard name it
	ctrl bool
}

// parseKeys reads "ctrl-p,ctrl-q".
func parseKeys(text string) ([]detachKey, error) {
	var keys []detachKey
	for name := range strings.SplitSeq(text, ",") {
		key, ok := parseKey(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("wants keys such as ctrl-] or ctrl-p,ctrl-q, not %q", name)
		}
		keys = append(keys, key)
	}
	if !keys[0].ctrl {
		return nil, errors.New("must begin with a ctrl key, or that character could not be typed any more")
	}
	return keys, nil
}

func parseKey(name string) (detachKey, bool) {
	char, ctrl := strings.CutPrefix(strings.ToLower(name), "ctrl-")
	if len(char) != 1 || char[0] <= ' ' || char[0] > '~' {
		return detachKey{}, false
	}
	b := char[0]
	switch {
	case !ctrl:
		return detachKey{raw: b, code: int(b)}, true
	case b >= 'a' && b <= 'z', b == '@', b == '\\', b == ']', b == '^', b == '_':
		return detachKey{raw: b & 0x1f, code: int(b), ctrl: true}, true
	}
	return detachKey{}, false
}

// detachMatcher finds the sequence in what is typed. Keys that may begin it are held back until the next key
// tells. The zero matcher with keys is ready.
type detachMatcher struct {
	keys    []detachKey
	matched int    // keys of the sequence that were typed
	held    []byte // what was typed for them
}

// feed takes what was typed and returns what is to be passed on, and whether the sequence is complete.
func (m *detachMatcher) feed(typed []byte) (pass []byte, detached bool) {
	for len(typed) > 0 {
		n := keyLength(typed)
		key := typed[:n]
		typed = typed[n:]
		pressed, released := m.keys[m.matched].is(key)
		switch {
		case pressed:
			m.matched++
			m.held = append(m.held, key...)
			if m.matched == len(m.keys) {
				m.matched, m.held = 0, nil
				return pass, true
			}
		case m.matched > 0 && (released || m.keys[m.matched-1].releasedBy(key)):
			m.held = append(m.held, key...) // the key of the sequence goes up
		default:
			pass = append(pass, m.held...)
			m.matched, m.held = 0, nil
			if pressed, _ := m.keys[0].is(key); pressed {
				m.matched, m.held = 1, append([]byte(nil), key...)
				continue
			}
			pass = append(pass, key...)
		}
	}
	return pass, false
}

// keyLength is the length of the first key: a control sequence, or one byte.
func keyLength(typed []byte) int {
	if len(typed) < 3 || typed[0] != 0x1b || typed[1] != '[' {
		return 1
	}
	for i := 2; i < len(typed) && i < 32; i++ {
		if typed[i] >= 0x40 && typed[i] <= 0x7e {
			return i + 1
		}
	}
	return 1
}

func (k detachKey) releasedBy(key []byte) bool {
	_, released := k.is(key)
	return released
}

// is reports whether bytes are this key going down, or up. An agent may have switched the keyboard to one of the
// enhanced forms, CSI code;modifiers:event u and CSI 27;modifiers;code ~.
func (k detachKey) is(key []byte) (pressed, released bool) {
	if len(key) == 1 {
		return key[0] == k.raw, false
	}
	body := strings.TrimPrefix(string(key), "\x1b[")
	last := body[len(body)-1]
	fields := strings.Split(body[:len(body)-1], ";")
	switch {
	case last == 'u' && len(fields) >= 1:
		modifiers := "1"
		if len(fields) > 1 {
			modifiers = fields[1]
		}
		modifier, event, _ := strings.Cut(modifiers, ":")
		code, _, _ := strings.Cut(fields[0], ":")
		if number(code) != k.code {
			return false, false
		}
		if event == "3" {
			return false, true // without a look at the modifiers, which may have gone up before
		}
		return k.modified(modifier), false
	case last == '~' && len(fields) == 3 && fields[0] == "27":
		return number(fields[2]) == k.code && k.modified(fields[1]), false
	}
	return false, false
}

// modified reports whether exactly the right modifiers are down; locks do not count.
func (k detachKey) modified(text string) bool {
	const ctrl, locks = 4, 64 | 128
	down := (number(text) - 1) &^ locks
	if k.ctrl {
		return down == ctrl
	}
	return down == 0
}

// number reads a parameter; none is 1, what is not a number is -1.
func number(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
