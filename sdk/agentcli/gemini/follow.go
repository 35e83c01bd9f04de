package gemini

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// readWait is somebody who waits for a read of the transcript.
type readWait struct {
	then   func(err error)
	cancel func()
	over   bool
}

func (w *readWait) finish(err error) {
	if w.over {
		return
	}
	w.over = true
	w.cancel()
	w.then(err)
}

var (
	errSlow    = errors.New("the transcript takes long to be read")
	errNoBegin = errors.New("nobody knows where the turn begins in the transcript")
)

// canRead reports whether there is a transcript, and a way to it.
func (d *driver) canRead() bool {
	return d.state.Transcript != "" && (d.room.ReadFrom != nil || d.room.ReadFile != nil)
}

// known reports whether what was read of the turn may be looked at.
func (d *driver) known() bool { return d.reader != nil && !d.reading }

// forgetReader begins to read the turn anew.
func (d *driver) forgetReader() {
	d.reader = nil
	if d.state.Begin > 0 {
		d.reader = &reader{at: d.state.Begin - 1}
	}
}

// anchor notes that what follows in the transcript is of the next turn. Gemini waits for the hook that then answers.
func (d *driver) anchor(then func()) {
	if !d.canRead() {
		then()
		return
	}
	name, length, told := d.state.Transcript, int64(-1), false
	tell := func() {
		if told {
			return
		}
		told = true
		d.state.Begin, d.state.Told = length+1, 0
		d.forgetReader()
		then()
	}
	cancel := d.host.After(readLimit, func() {
		length = -1
		tell()
	})
	n, err := int64(0), error(nil)
	d.host.Do(func() { n, err = size(&d.room, name) }, func() {
		cancel()
		if err == nil && !told {
			length = n
		}
		tell()
	})
}

// read reads the transcript on, tells what was said, and calls then.
func (d *driver) read(then func(err error)) {
	switch {
	case !d.canRead():
		then(nil)
		return
	case d.reader == nil:
		then(errNoBegin)
		return
	}
	w := &readWait{then: then}
	w.cancel = d.host.After(readLimit, func() { w.finish(errSlow) })
	if d.reading {
		d.next = append(d.next, w) // what runs may have passed the end already
		return
	}
	d.startRead(w)
}

func (d *driver) startRead(waiting ...*readWait) {
	d.reading = true
	r, name := d.reader, d.state.Transcript
	before, cutAt := d.readAt, r.cutAt
	d.readAt = d.host.Now()
	var err error
	d.host.Do(func() { err = r.read(&d.room, name) }, func() {
		d.reading = false
		if r == d.reader {
			d.tell()
			if r.cutAt != cutAt {
				d.cutSince = before
			}
			d.seeCut(d.host.Rows())
		}
		next := d.next
		d.next = nil
		for _, w := range waiting {
			w.finish(err)
		}
		switch {
		case len(next) == 0:
		case d.reading:
			d.next = append(next, d.next...)
		case d.reader == nil:
			for _, w := range next {
				w.finish(errNoBegin)
			}
		default:
			d.startRead(next...)
		}
	})
}

// tell reports what was said within the turn, and not told yet.
func (d *driver) tell() {
	r := d.reader
	first := r.texts - len(r.said)
	for i, text := range r.said {
		if first+i < d.state.Told {
			continue // an earlier process did
		}
		if d.state.Turn {
			d.host.Signal(agentcli.Signal{Kind: agentcli.SignalText, Source: runtime.SourceHook, Text: text})
		}
	}
	r.said = nil
	d.state.Told = max(d.state.Told, r.texts)
}

// follow reads the transcript now and then while the turn runs.
func (d *driver) follow() {
	if d.follows || !d.state.Turn || !d.canRead() {
		return
	}
	d.follows = true
	d.host.After(followEvery, func() {
		d.follows = false
		if !d.state.Turn {
			return
		}
		if !d.reading {
			d.read(func(error) {})
		}
		d.follow()
	})
}

// seeCut looks whether an answer that the transcript calls cut short stands on the screen: its entry comes when its stream ends, which
// may be much later. Where gemini asks for another one, that begins retryPause behind the note at the earliest.
func (d *driver) seeCut(rows []string) {
	if d.known() && d.reader.cut != "" && d.host.Now().Sub(d.cutSince) < retryPause {
		d.reader.shown = d.reader.shown || saysBelow(rows, d.reader.cut)
	}
}

// saysBelow reports whether words of a model stand right below a note on the screen.
func saysBelow(rows []string, note string) bool {
	const known = 20 // characters by which a note is known, in a narrow terminal too
	at := -1
	for i, row := range rows {
		if strings.Contains(row, note[:min(len(note), known)]) {
			at = i
		}
	}
	for _, row := range rows[at+1:] {
		if row = strings.TrimSpace(row); at < 0 || row == "" || strings.Contains(note, row) {
			continue
		}
		first, _ := utf8.DecodeRuneInString(row)
		if first >= '\u2800' && first <= '\u28ff' { // the sign that turns while gemini works, which a narrow terminal has in a row of its own
			return false
		}
		return !strings.Contains(row, "(esc to cancel") && !strings.Contains(row, "? for shortcuts") && !lined(row) &&
			!strings.ContainsRune(">!ℹ✕⚠╭│", first)
	}
	return false
}
