package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// frames empties the outbox and returns how many frames were in it.
func (o *outbox) frames() int {
	buf, ends := o.take()
	n := len(ends)
	o.done(buf, ends)
	return n
}

func TestLedger_Told(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLedger(2, func() time.Time { return now })
	one := l.admit(&Task{Task: protocol.Task{TaskID: "one"}})
	two := l.admit(&Task{Task: protocol.Task{TaskID: "two"}})
	tell := func(task *Task, id string, size int) {
		t.Helper()
		if err := l.tell(&telling{task: task, id: id, payload: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	attach := func() int {
		out := newOutbox()
		l.attach(out, true)
		defer l.detach()
		return out.frames()
	}
	for i := range maxTold + 10 {
		tell(one, fmt.Sprint("a", i), 1)
	}
	if n := attach(); n != maxTold {
		t.Errorf("%d of many were sent again, want %d", n, maxTold)
	}
	tell(two, "large", maxToldBytes-1)
	if n := attach(); n != 2 {
		t.Errorf("%d were sent again beside a large one, want 2 in all", n)
	}
	l.finish(two, answer{taskID: "two"}, false)
	l.acknowledge("two")
	if n := attach(); n != 1 {
		t.Errorf("%d were sent again, want only that of the open task", n)
	}
	now = now.Add(toldFor + time.Second)
	if n := attach(); n != 0 {
		t.Errorf("%d were sent again after their time", n)
	}
	tell(one, "new", 1)
	if len(l.told) != 1 {
		t.Errorf("%d are kept, want those of the last minute", len(l.told))
	}
	out := newOutbox()
	l.attach(out, false) // the server knows nothing of this session's tasks
	if n := out.frames(); n != 0 {
		t.Errorf("%d were sent to a server that has given the task to others", n)
	}
	if err := l.tell(&telling{task: one}); !errors.Is(err, ErrTaskOver) {
		t.Errorf("told after the task was lost: %v", err)
	}
	l.close()
	if err := l.tell(&telling{task: one}); !errors.Is(err, ErrStopped) {
		t.Errorf("told after the end: %v", err)
	}
}

func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	for i := range 10 {
		if wait := p.turn(now, 10); wait != 0 {
			t.Errorf("frame %d of a second's worth waits %s", i, wait)
		}
	}
	for i := range 5 {
		if wait, want := p.turn(now, 10), time.Duration(i+1)*100*time.Millisecond; wait != want {
			t.Errorf("frame %d beyond waits %s, want %s", i, wait, want)
		}
	}
	if wait := p.turn(now.Add(time.Hour), 10); wait != 0 {
		t.Errorf("after a pause: waits %s", wait)
	}
}

func TestLedger_Limit(t *testing.T) {
	l := newLedger(1, time.Now)
	for told, want := range map[int]int{0: framesPerSecond, 1: 1, 10: 4, 100: framesPerSecond, 100000: framesPerSecond} {
		if l.limit(told); l.perSecond != want {
			t.Errorf("%d frames a second where the server takes %d, want %d", l.perSecond, told, want)
		}
	}
}
