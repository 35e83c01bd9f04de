package agentcli

import (
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// What a command of a declared type prints is reported in pieces: whole lines, in order, each once.
const (
	tellEvery = 100 * time.Millisecond // between two pieces
	tellMost  = 32 << 10               // bytes of a piece
)

// tell tells the lines that are complete, now or in a moment: one that the cursor stands on may still change.
func (d *declaredDriver) tell() {
	if !d.saved.Busy || d.telling {
		return
	}
	if wait := d.tellAt.Sub(d.h.Now()); wait > 0 {
		d.telling = true
		d.h.After(min(wait, tellEvery), func() {
			d.telling = false
			d.tell()
		})
		return
	}
	lines, from := d.untold()
	open := d.h.LineStart()
	lines = lines[:min(uint64(len(lines)), open-min(open, from))]
	size, last := 0, 0 // blank lines at the end may be those before the prompt
	for i, line := range lines {
		if size += len(line) + 1; size > tellMost && last > 0 {
			break
		}
		if line != "" {
			last = i + 1
		}
	}
	if last == 0 {
		return
	}
	first := d.saved.Told == 0
	d.saved.Told = from + uint64(last)
	text := strings.Join(lines[:last], "\n") + "\n"
	if first {
		text = strings.TrimLeft(text, "\n")
	}
	d.h.Signal(Signal{Kind: SignalText, Source: runtime.SourceScreen, Text: text})
	d.tellAt = d.h.Now().Add(tellEvery) // from when it was reported: a busy machine takes its time for that
	if last < len(lines) {
		d.tell()
	}
}

// untold returns the lines of the answer from the first on of which nothing was reported, and its number. None as long as it is
// not sure where the answer begins.
func (d *declaredDriver) untold() (lines []string, from uint64) {
	if d.saved.Told > 0 {
		return d.h.Text(d.saved.Told)
	}
	lines, from, where := d.answerLines()
	if where != exactly {
		return nil, from
	}
	return lines, from
}

// tellRest reports what is left of an answer whose text is known: it was printed since the last piece, or nothing was reported.
func (d *declaredDriver) tellRest(text string) {
	if d.saved.Told > 0 {
		text = d.afterTold(text)
	}
	if text != "" {
		d.h.Signal(Signal{Kind: SignalText, Source: runtime.SourceScreen, Text: text})
	}
}

// afterTold returns the end of an answer that was not told yet.
func (d *declaredDriver) afterTold(text string) string {
	lines, from := d.h.Text(d.saved.Told)
	if from != d.saved.Told {
		return "" // more was printed since than is kept
	}
	rest := strings.TrimRight(strings.Join(lines, "\n"), "\n ")
	// The prompt is among the lines, and not in the text.
	for rest != "" && !strings.HasSuffix(text, rest) {
		cut := strings.LastIndexByte(rest, '\n')
		rest = strings.TrimRight(rest[:max(cut, 0)], "\n ")
	}
	return rest
}
