package cmd

import (
	"fmt"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// turnEnd returns how a turn ended that was not answered; else "".
func turnEnd(o *wire.TurnOutcome) string {
	switch {
	case o == nil:
		return ""
	case o.Error != nil:
		return "failed: " + o.Error.Code + ": " + o.Error.Message
	case o.Interrupted:
		return "interrupted"
	case o.Refused:
		return "an approval was refused"
	}
	return ""
}

// usageText sums up what turns used; "" of an agent that does not tell.
func usageText(u *wire.Usage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens)
	if cached := u.CacheReadTokens + u.CacheWriteTokens; cached > 0 {
		text += fmt.Sprintf(", %d cached", cached)
	}
	if u.CostUSD != nil {
		text += fmt.Sprintf(", $%.4f", *u.CostUSD)
	}
	if u.Model != "" {
		text += " (" + u.Model + ")"
	}
	return text
}

// lastTurnText returns how the last turn of a thread ended, unless it was plainly answered.
func lastTurnText(t *client.ThreadTurn) string {
	if t == nil {
		return ""
	}
	if text := turnEnd(&t.TurnOutcome); text != "" {
		return fmt.Sprintf("turn %d %s", t.Turn, text)
	}
	return ""
}
