package agent

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// TestRecentAnswers_LimitThatShrank checks that an answer which the server does not take any more counts as what it is: what is
// remembered beside it is not less from then on.
func TestRecentAnswers_LimitThatShrank(t *testing.T) {
	l := newLedger(1, time.Now)
	l.attach(newOutbox(), true)
	settle := func(id string, size int) {
		l.finish(l.admit(&Task{Task: protocol.Task{TaskID: id}}), answer{taskID: id, result: make([]byte, size)}, true)
		l.acknowledge(id)
	}
	settle("large", recentBytes/2)
	l.frames.Store(10000)
	l.admit(&Task{Task: protocol.Task{TaskID: "large", Attempt: 2}})
	var want int
	for _, a := range l.recent.byID {
		want += a.size()
	}
	if l.recent.bytes != want {
		t.Errorf("%d bytes are counted, %d are there", l.recent.bytes, want)
	}
}
