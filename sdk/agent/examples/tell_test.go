package examples_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// testTellLimited drops what an agent says without waiting for a reply, for its rate: it says that again while the task runs,
// and not after it.
func testTellLimited(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	tell := func() (id, task string) {
		t.Helper()
		var m protocol.Message
		f, err := c.Next(testContext(t), protocol.TypeMessage, &m)
		must(t, err)
		return f.ID, m.TaskID
	}
	limit := func(id string) {
		t.Helper()
		must(t, c.Send(protocol.TypeError, id, protocol.Error{Code: "RATE_LIMITED", Message: "frames are dropped"}))
	}
	must(t, c.Task(task("t1", 1, "tell and wait")))
	id, _ := tell()
	for _, of := range []string{id, "of something else"} {
		limit(of)
		if again, task := tell(); again != id || task != "t1" {
			t.Fatalf("told again as %s of %s, first as %s", again, task, id)
		}
	}
	// Of a task that is over nothing is said: the next word is of another task.
	limit(id)
	must(t, c.Cancel("t1", "not needed"))
	must(t, c.Task(task("t2", 1, "tell and wait")))
	other, of := tell()
	if other == id || of != "t2" {
		t.Fatalf("told %s of %s", other, of)
	}
	limit(other)
	if again, _ := tell(); again != other {
		t.Errorf("told again as %s, first as %s", again, other)
	}
	must(t, c.Send(protocol.TypeError, other, protocol.Error{Code: "CONFLICT", Message: "it goes nowhere"}))
	must(t, c.Task(task("t3", 1, ""))) // the agent works on
	if r := result(t, c); r.TaskID != "t3" {
		t.Errorf("got %+v", r)
	}
}

// testTellAgain breaks the connection after what a task said and its answer: both come again, in this order, until the answer is
// acknowledged.
func testTellAgain(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "tell and end")))
	var m protocol.Message
	first, err := c.Next(testContext(t), protocol.TypeMessage, &m)
	must(t, err)
	result(t, c)
	c.Drop()
	c = accept(t, srv)
	result(t, c)
	if !slices.Contains(c.Types(), protocol.TypeMessage) { // frames are there in the order in which they came
		t.Fatal("what was told did not come again before the answer")
	}
	if f, err := c.Next(testContext(t), protocol.TypeMessage, &m); err != nil || f.ID != first.ID {
		t.Errorf("told again as %s, first as %s: %v", f.ID, first.ID, err)
	}
	must(t, c.Ack("t1"))
	must(t, c.Task(task("t2", 1, ""))) // after its answer, the acknowledgement was read
	result(t, c)
	must(t, c.Ack("t2"))
	must(t, c.Task(task("t3", 1, "")))
	result(t, c)
	c.Drop()
	c = accept(t, srv)
	if result(t, c); slices.Contains(c.Types(), protocol.TypeMessage) {
		t.Error("what was told came again after the answer was acknowledged")
	}
}

// testTellMuch has a task say more than the server takes at once: it comes at a pace, and the answer after all of it.
func testTellMuch(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	began := time.Now()
	must(t, c.Task(task("t1", 1, "tell much")))
	result(t, c)
	if n := len(slices.DeleteFunc(c.Types(), func(k protocol.Type) bool { return k != protocol.TypeMessage })); n != 60 {
		t.Errorf("%d messages came before the answer, want 60", n)
	}
	if took := time.Since(began); took < 400*time.Millisecond { // 40 at once, and 20 at 40 a second
		t.Errorf("60 messages and the answer took %v", took)
	}
}

// testTellMuchAgain breaks the connection while much waits for its turn, and after the answer: a session gets nothing twice, and of
// what is sent again no more at once than the server takes, which are the last words.
func testTellMuchAgain(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	p := start(t, srv, command)
	c := accept(t, srv)
	// told returns what came before the answer, in order.
	told := func() (words []string) {
		result(t, c)
		ids, twice := map[string]bool{}, 0
		for range slices.DeleteFunc(c.Types(), func(k protocol.Type) bool { return k != protocol.TypeMessage }) {
			var m protocol.Message
			f, err := c.Next(testContext(t), protocol.TypeMessage, &m)
			must(t, err)
			if ids[f.ID] {
				twice++
			}
			ids[f.ID] = true
			words = append(words, string(m.Content))
		}
		if twice > 0 {
			t.Errorf("%d words came twice in a session", twice)
		}
		return words
	}
	must(t, c.Task(task("t1", 1, "tell more")))
	next(t, c, protocol.TypeMessage, nil)
	c.Drop()
	c = accept(t, srv)
	if words := told(); len(words) == 0 || words[len(words)-1] != "109" {
		t.Errorf("told %v before the answer", words)
	}
	c.Drop()
	c = accept(t, srv)
	if words := told(); len(words) != 64 || words[0] != "46" || words[63] != "109" {
		t.Errorf("%d were told again: %v", len(words), words)
	}
	p.terminate(t)
	if err := p.wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if text := p.output.String(); strings.Contains(text, "Warning") {
		t.Errorf("it warns: %s", text)
	}
}

// testTellCancelled cancels a task that has more to say than is said in minutes: it takes no turns from those that come after it.
func testTellCancelled(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "tell for ever")))
	next(t, c, protocol.TypeMessage, nil)
	must(t, c.Cancel("t1", "not needed"))
	must(t, c.Task(task("t2", 1, "tell and end")))
	var m protocol.Message
	for m.TaskID != "t2" {
		next(t, c, protocol.TypeMessage, &m)
	}
	if r := result(t, c); r.TaskID != "t2" {
		t.Errorf("got %+v", r)
	}
}
