package agentcli

import (
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// After a recovery the input line is looked at for leftoverTime, every leftoverPause: a CLI that is slow to draw shows late
// what was typed.
const (
	leftoverPause = 100 * time.Millisecond
	leftoverTime  = 2 * time.Second
)

// clearLeftover empties the input line if the message stands in it, and nothing else, that an earlier process was typing
// when it ended: what a person types next must not join it. That says nothing about its delivery, which stays unknown: an
// Enter may be on its way, and comes before the keys that empty the line. It looks until a time.
func (d *delivery) clearLeftover(until time.Time) {
	line, ok := d.s.driver.(Lined)
	r := d.inputs.find(d.inputs.cut)
	if !ok || r == nil || r.State != inputUnknown || d.s.over || d.cur != nil || !d.s.typist.lastHuman().IsZero() {
		return
	}
	idle := d.s.agent.Status == runtime.StatusReady && d.s.fusion.turn == nil && d.s.fusion.held == nil
	if text, shown := line.InputLine(host{d.s}.Rows()); idle && shown && textSum(squeeze(text)) == r.Words {
		d.s.book.note("a message whose typing was cut off is taken out of the input line")
		d.s.typist.put(&typing{steps: line.ClearLine()})
		return
	}
	if time.Now().Before(until) {
		d.s.after(leftoverPause, func() { d.clearLeftover(until) })
	}
}
