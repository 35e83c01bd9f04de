package examples_test

import (
	"testing"

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
