package agentcli

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// maxTypedLine bounds how much is remembered of the line that persons type, in bytes.
const maxTypedLine = 4 << 10

// pressed is what persons did, as far as it begins or ends turns.
type pressed struct {
	enter     bool   // a line was entered
	interrupt bool   // ... or the key that interrupts was pressed
	at        place  // before the keys of the first Enter
	line      string // what was typed on it, as far as that can be told from the keys; "" otherwise
}

// keyboard reads what persons type, from whichever viewer or call: the typist puts it into one order. Enters that were not
// taken yet are one, so that nobody who leans on the key fills the mailbox of the session.
type keyboard struct {
	notify func() // something was pressed: take it

	// The typist's goroutine owns these.
	line    []byte // typed since the last Enter
	edited  bool   // ... and changed by keys whose effect is not known
	pasting bool   // within a bracketed paste
	rest    []byte // the begin of a paste's mark, at the end of the last keys

	mu      sync.Mutex // guards waiting
	waiting *pressed   // not taken yet
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// typed takes the keys that were typed next; before is where the terminal was before them.
func (k *keyboard) typed(keys []byte, before place) {
	p := append(k.rest, keys...)
	k.rest = nil
	for len(p) > 0 {
		switch {
		case bytes.HasPrefix(p, pasteBegin), bytes.HasPrefix(p, pasteEnd):
			k.pasting = p[4] == '0'
			p = p[len(pasteBegin):]
			continue
		case p[0] == '\x1b' && len(p) < len(pasteBegin) && (bytes.HasPrefix(pasteBegin, p) || bytes.HasPrefix(pasteEnd, p)) && len(p) > 1:
			k.rest = bytes.Clone(p)
			return
		}
		k.key(p[0], before)
		p = p[1:]
	}
}

func (k *keyboard) key(c byte, before place) {
	switch {
	case k.pasting, c >= ' ' && c != 0x7f, c == '\t':
		if len(k.line) < maxTypedLine {
			k.line = append(k.line, c)
		}
		k.edited = k.edited || c == '\t' && !k.pasting // a completion
	case c == '\r', c == '\n':
		line := ""
		if !k.edited && utf8.Valid(k.line) {
			line = string(k.line)
		}
		k.line, k.edited = nil, false
		k.hand(pressed{enter: true, at: before, line: line})
	case c == 0x03:
		k.line, k.edited = nil, false
		k.hand(pressed{interrupt: true})
	case c == 0x15:
		k.line, k.edited = nil, false
	default: // erasing, moving, searching
		k.edited = true
	}
}

// hand adds to what was pressed and not taken. Of several Enters the first counts: what follows them
// is one turn to whoever reads them together.
func (k *keyboard) hand(p pressed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.waiting; w != nil {
		if p.enter && !w.enter {
			*w = p // what was interrupted before was nothing
		}
		w.interrupt = w.interrupt || p.interrupt
		return
	}
	k.waiting = &p
	k.notify()
}

// take returns what was pressed since the last call.
func (k *keyboard) take() pressed {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.waiting
	k.waiting = nil
	if p == nil {
		return pressed{}
	}
	return *p
}
