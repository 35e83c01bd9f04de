package composer

import (
	"sync/atomic"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// way is that of a message into the input line, one time that it is typed: a slow CLI may take the message while it is typed again.
// It is safe for concurrent use.
type way struct {
	shut    atomic.Bool // no more of it is typed
	begun   atomic.Bool // something of it was typed
	entered atomic.Bool // Enter was pressed
}

// guard returns steps, the last of which presses Enter, that leave themselves out once the way is shut.
func (w *way) guard(steps []agentcli.Step) []agentcli.Step {
	for i := range steps {
		is, last := steps[i].If, i == len(steps)-1
		steps[i].If = func(rows []string) bool {
			if w.shut.Load() || is != nil && !is(rows) {
				return false
			}
			w.begun.Store(true)
			w.entered.Store(w.entered.Load() || last)
			return true
		}
	}
	return steps
}
