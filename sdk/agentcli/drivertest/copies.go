package drivertest

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// RunCopies runs what becomes of a message that a slow CLI takes late. Start starts one whose hooks have a shell script before them,
// if it is not empty; prompted is the hook that reports what was taken.
func RunCopies(t *testing.T, prompted string, start func(t *testing.T, script string) *Agent) {
	slow := `case "$*" in *` + prompted + `*) sleep 4;; esac; exec "$@"`
	t.Run("TypedTwice", func(t *testing.T) { typedTwice(t, start(t, slow), func(*Agent) {}, "one", "two") })
	t.Run("TypedTwiceReloaded", func(t *testing.T) { typedTwice(t, start(t, slow), (*Agent).Reload, "one") })
	t.Run("GivenUp", func(t *testing.T) { givenUp(t, start(t, ""), func(*Agent) {}) })
	t.Run("GivenUpSlowly", func(t *testing.T) { givenUp(t, start(t, slow), func(*Agent) {}) })
	t.Run("GivenUpReloaded", func(t *testing.T) { givenUp(t, start(t, ""), (*Agent).Reload) })
}

// typedTwice has a message typed again because the CLI was slow to take it: it runs once.
func typedTwice(t *testing.T, a *Agent, meanwhile func(a *Agent), messages ...string) {
	for _, message := range messages {
		before := a.Count(agentcli.SignalTook)
		a.Submit(message)
		a.Type([]agentcli.Step{{Wait: time.Second}})
		a.Confirm()
		a.Type([]agentcli.Step{{Wait: time.Second}})
		a.Submit(message)
		meanwhile(a)
		a.taken(before)
		if u := a.WantTurn("ANSWER[" + message + "]").Usage; u == nil || u.Requests != 1 {
			t.Errorf("usage %+v", u)
		}
	}
	a.WantLast(len(messages) + 1)
}

// givenUp has a message that comes when its caller was answered that it was not delivered: the model does not see it.
func givenUp(t *testing.T, a *Agent, meanwhile func(a *Agent)) {
	a.Freeze(func() {
		a.Submit("given up")
		a.Forget("given up")
		meanwhile(a)
	})
	a.WantLast(1)
	if a.Written("ANSWER[given up]") {
		t.Errorf("it ran\n%s", a.Screen())
	}
	a.Send("given up") // again, and now it is to run
	a.WantTurn("ANSWER[given up]")
}
