package threads_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// notices returns what was told outside of a thread: the types of the events, and their data.
func (r *rig) notices(id string) (kinds []core.EventType, data []map[string]any) {
	r.t.Helper()
	r.store.Put(func(core.Tx) error { return nil }) // events are read a moment after what they follow from
	page, _, err := r.store.Events(r.ctx, core.NoticeSubject(id), 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range page {
		var d map[string]any
		if err := json.Unmarshal(e.Data, &d); err != nil || !e.Public() || !core.ValidID(core.PrefixEvent, e.ID) {
			r.t.Errorf("event %+v: %v", e, err)
		}
		kinds, data = append(kinds, e.Type), append(data, d)
	}
	return kinds, data
}

// TestNotices: who waits for whom is told outside, an answer of a rule is not waited for, and the end is told.
func TestNotices(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = fullLife
	r.open()
	id := r.spawn(lifeSpec()).ID
	r.until(id, "the first turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "second"}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadBlocked)
	kinds, data := r.notices(id)
	if !slices.Equal(kinds, []core.EventType{core.EventPublicThreadBlocked}) || data[0]["threadId"] != id || data[0]["executionId"] == "" ||
		data[0]["role"] != "coder" || data[0]["reason"] != "question" || data[0]["prompt"].(map[string]any)["text"] != "Which one?" {
		t.Errorf("%q %v", kinds, data)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Choice: "deny"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the agent to be back", func(rec *core.ThreadRecord) bool { return rec.Restarts == 1 && rec.Status == core.ThreadReady })
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "third"}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadCompleted)
	kinds, data = r.notices(id)
	if !slices.Equal(kinds, []core.EventType{core.EventPublicThreadBlocked, core.EventPublicThreadCompleted}) ||
		data[1]["state"] != "complete" || data[1]["summary"] != "The parser is fixed" {
		t.Errorf("%q %v", kinds, data)
	}
}

func TestNoticeOfFailure(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if text == "limit" {
			a.end("x")
			return
		}
		a.fail(wire.TurnModelError, false)
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadFailed)
	if kinds, data := r.notices(id); !slices.Equal(kinds, []core.EventType{core.EventPublicThreadFailed}) || data[0]["reason"] != "turn_failed" ||
		data[0]["error"].(map[string]any)["code"] != "AGENT_ERROR" {
		t.Errorf("%q %v", kinds, data)
	}
	s := shellSpec("limit")
	s.Policy.MaxTurns = 1
	id = r.spawn(s).ID
	r.untilStatus(id, core.ThreadStopped)
	if kinds, data := r.notices(id); !slices.Equal(kinds, []core.EventType{core.EventSystemAlert}) {
		t.Errorf("%q %v", kinds, data)
	}
}

// TestWaitAlert: a thread that waits for long is told of once, over a restart of the service, and anew when it waits
// for something else. The time may change while it waits.
func TestWaitAlert(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	r.config.WaitAlert = time.Hour
	r.agents.script = func(a *scripted, text string) {
		if text == "one" {
			a.busy()
		}
		if text != "answer p-2 allow" {
			a.ask(map[bool]string{true: "p-1", false: "p-2"}[text == "one"], "question", "", "Which?")
		}
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadBlocked)
	alerts := func() (n int) {
		kinds, _ := r.notices(id)
		for _, kind := range kinds {
			if kind == core.EventSystemAlert {
				n++
			}
		}
		return n
	}
	clock.Advance(59 * time.Minute)
	r.reopen()
	coretest.WaitFor(t, "the alert", func() bool {
		clock.Advance(10 * time.Second)
		return alerts() == 1
	})
	r.reopen()
	clock.Advance(3 * time.Hour)
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Choice: "allow"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the next question", func(rec *core.ThreadRecord) bool {
		return rec.Status == core.ThreadBlocked && !rec.WaitAlerted && rec.BlockedSince.Equal(clock.Now())
	})
	if alerts() != 1 {
		t.Errorf("%d alerts", alerts())
	}
	r.ApplyConfig(r.config) // with 1 h
	soon := r.config
	soon.WaitAlert = time.Second
	r.ApplyConfig(soon)
	coretest.WaitFor(t, "the second alert", func() bool {
		clock.Advance(time.Second)
		return alerts() == 2
	})
	_, data := r.notices(id)
	if details, _ := data[len(data)-1]["details"].(map[string]any); details["threadId"] != id || details["promptId"] != "p-2" || fmt.Sprint(details["text"]) != "Which?" {
		t.Errorf("alert %v", data[len(data)-1])
	}
}
