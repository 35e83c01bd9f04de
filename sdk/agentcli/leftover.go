package agentcli

import (
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// The input line is looked at for leftoverTime, every leftoverPause: a CLI may be slow to draw what is in it.
const (
	leftoverPause = 100 * time.Millisecond
	leftoverAgain = 500 * time.Millisecond // for the keys that empty it
	leftoverTime  = 2 * time.Second
)

// leftover is a message that may stand in the input line though it is not being typed: what a person types next must not
// join it.
type leftover struct {
	words string    // sum of its words
	input string    // id of one whose delivery is unknown, or empty: it is of no matter once that is known
	since time.Time // once a person has typed after it, the line is that person's
	sent  int64     // messages that had been taken before
	until time.Time // when it is not looked for any more
	note  string    // for the log, when it is taken out
	found bool      // it was taken out once
}

// clearCutOff empties the input line if the message stands in it, and nothing else, that an earlier process was typing
// when it ended. That says nothing about its delivery, which stays unknown: an Enter may be on its way, and comes before the
// keys that empty the line.
func (d *delivery) clearCutOff() {
	if r := d.inputs.find(d.inputs.cut); r != nil {
		d.clear(&leftover{
			words: r.Words, input: r.ID, sent: d.sent, until: time.Now().Add(leftoverTime),
			note: "a message whose typing was cut off is taken out of the input line",
		})
	}
}

// clearPutBack empties the input line if the CLI puts the message of an interrupted turn back into it: who interrupted the
// turn does not see the line, and does not go on with what is in it.
func (d *delivery) clearPutBack(words string) {
	now := time.Now()
	d.clear(&leftover{
		words: words, since: now, sent: d.sent, until: now.Add(leftoverTime),
		note: "a message whose turn was interrupted is taken out of the input line",
	})
}

// clearGivenUp empties the input line if a message stands in it whose caller was answered that it was not delivered.
func (d *delivery) clearGivenUp(m *message) {
	d.clear(&leftover{
		words: textSum(squeeze(m.text)), since: m.begun, sent: d.sent, until: time.Now().Add(leftoverTime),
		note: "a message that was not taken is taken out of the input line",
	})
}

// clear looks whether a message stands alone in the input line, and empties the line then. It goes on looking: a busy CLI may
// put the message back only after it took the keys.
func (d *delivery) clear(l *leftover) {
	line, ok := d.s.driver.(Lined)
	if !ok || d.s.over || d.cur != nil || d.sent != l.sent || d.s.typist.lastHuman().After(l.since) {
		return
	}
	if r := d.inputs.find(l.input); l.input != "" && (r == nil || r.State != inputUnknown) {
		return
	}
	if !l.until.After(time.Now()) && l.found {
		return
	}
	idle := d.s.agent.Status == runtime.StatusReady && d.s.fusion.turn == nil && d.s.fusion.held == nil && !d.unread()
	if text, shown := line.InputLine(host{d.s}.Rows()); idle && shown && textSum(squeeze(text)) == l.words {
		if !l.found {
			d.s.book.note(l.note)
		}
		l.found = true
		d.s.typist.put(&typing{steps: line.ClearLine()})
		d.s.after(leftoverAgain, func() { d.clear(l) })
		return
	}
	switch {
	case d.unread(): // once it goes on
		d.s.after(backlogRest, func() { d.clear(l) })
	case time.Now().Before(l.until):
		d.s.after(leftoverPause, func() { d.clear(l) })
	}
}
