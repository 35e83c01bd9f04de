package cmd

import (
	"fmt"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// outcomeText tells how a turn ended that has no plain answer; else "".
func outcomeText(o *wire.TurnOutcome) string {
	switch {
	case o.Error != nil:
		return "failed: " + o.Error.Code + ": " + o.Error.Message
	case o.Interrupted:
		return "interrupted"
	case o.Refused:
		return "an approval was refused"
	}
	return ""
}

// lastTurnText tells how the last turn of a thread ended, unless it was plainly answered.
func lastTurnText(t *client.ThreadTurn) string {
	if t == nil {
		return ""
	}
	if text := outcomeText(&t.TurnOutcome); text != "" {
		return fmt.Sprintf("turn %d %s", t.Turn, text)
	}
	return ""
}

// turnUsage sums up what turns used; "" of an agent that does not tell.
func turnUsage(u *wire.Usage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("%d tokens", u.Tokens())
	if u.CostUSD != nil {
		text += fmt.Sprintf(", $%.4f", *u.CostUSD)
	}
	if u.Model != "" {
		text += " (" + u.Model + ")"
	}
	return text
}
