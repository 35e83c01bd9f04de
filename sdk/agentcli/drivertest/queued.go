package drivertest

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// Person types a prompt and enters it, and waits until it is taken.
func (a *Agent) Person(prompt string) {
	a.tb.Helper()
	a.Keys(prompt)
	a.WaitScreen(prompt)
	a.Type([]agentcli.Step{{Wait: enterGap}})
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
}

// enterGap is between words that are typed and Enter: gemini takes an Enter right behind text for a part of a paste.
const enterGap = 300 * time.Millisecond

// Queue types a prompt while a turn runs, and enters it.
func (a *Agent) Queue(prompt string) {
	a.tb.Helper()
	a.Keys(prompt)
	a.WaitScreen(prompt)
	a.Type([]agentcli.Step{{Wait: enterGap}})
	a.Keys("\r")
}

// WantTurn wants the next turn to end with an answer.
func (a *Agent) WantTurn(want string) Seen {
	a.tb.Helper()
	end := a.Turn()
	if end.Text != want || end.Error != nil {
		a.tb.Errorf("the turn ended with %+v, error %+v, and not with %q\n%s\n%s", end.Signal, end.Error, want, a.History(), a.Screen())
	}
	return end
}

// WantTook wants the next thing that is taken, before a turn ends, to be a message.
func (a *Agent) WantTook(message string) {
	a.tb.Helper()
	if took := a.Wait(agentcli.SignalTook, agentcli.SignalTurnEnd); took.Kind != agentcli.SignalTook || took.Text != message {
		a.tb.Errorf("%s of %q, and not of %q\n%s\n%s", took.Kind, took.Text, message, a.History(), a.Screen())
	}
}

// WantLast sends a message, which is that of the last of so many turns.
func (a *Agent) WantLast(turns int) {
	a.tb.Helper()
	a.Send("after it")
	a.WantTurn("ANSWER[after it]")
	if n := a.Count(agentcli.SignalTurnEnd); n != turns {
		a.tb.Errorf("%d turns, want %d\n%s\n%s", n, turns, a.History(), a.Screen())
	}
}
