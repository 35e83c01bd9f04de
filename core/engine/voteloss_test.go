package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// voteOf has a, b and c vote, in the order of moves: an agent's letter is its answer, in upper case its loss, "+" the coming of another
// one, "!" a restart. It returns how the vote ends.
func voteOf(t *testing.T, step core.Step, retries int, moves string) *core.Execution {
	t.Helper()
	r := newRig(t)
	r.config.TaskRetries = retries
	r.pattern("vote", step)
	for _, id := range []string{"a", "b", "c"} {
		r.agents.add(id, 1)
	}
	r.open()
	id := r.start("vote").ID
	r.agents.await(t, 3)
	over := func() bool {
		e, err := r.FindExecution(t.Context(), id)
		return err == nil && e.Status.Terminal()
	}
	for _, move := range strings.Split(moves, "") {
		agent := strings.ToLower(move)
		switch {
		case over():
			return r.wait(id)
		case move == "!":
			r.restart()
		case move == "+":
			r.agents.add("d", 1)
		case move != agent:
			failures := r.store.count(id, core.EventTaskFailed)
			out := slices.ContainsFunc(r.agents.held(), func(h handed) bool { return h.agent == agent })
			r.agents.lose(agent)
			coretest.WaitFor(t, "the loss of "+agent, func() bool { return !out || over() || r.store.count(id, core.EventTaskFailed) > failures })
		default:
			var held []handed
			coretest.WaitFor(t, "the task of "+agent, func() bool {
				held = held[:0]
				for _, h := range r.agents.held() {
					if h.agent == agent {
						held = append(held, h)
					}
				}
				return len(held) > 0
			})
			settled := r.agents.settledCount()
			r.agents.report(agent, held[0].task, fmt.Sprintf("%q", agent), nil)
			coretest.WaitFor(t, "the answer of "+agent, func() bool { return r.agents.settledCount() > settled })
		}
	}
	return r.wait(id)
}

// TestVoteWithLosses has agents of a vote be lost at each moment that makes a difference: the answers of those that are left count, once
// each, as long as they are enough, and the vote fails at the loss that leaves too few.
func TestVoteWithLosses(t *testing.T) {
	all := core.Step{Min: 2, Max: 3, WaitForAll: true}
	most := core.Step{Min: 2, Max: 3, MinResults: 2}
	each := core.Step{Min: 3, WaitForAll: true}
	for _, tt := range []struct {
		name    string
		step    core.Step
		retries int
		moves   string
		want    string // the answers; "" for a vote that fails
	}{
		{"last of three", all, 0, "abC", `["a","b"]`},
		{"first of three", all, 0, "Abc", `["b","c"]`},
		{"two, behind an answer", all, 0, "aBC", ""},
		{"two, before any answer", all, 0, "AB", ""},
		{"after it answered", all, 0, "aAbc", `["a","b","c"]`},
		{"replaced", all, 1, "aB+dc", `["a","d","c"]`},
		{"replaced while another is out", each, 1, "aBc+d", `["a","c","d"]`},
		{"not to be replaced, and enough", all, 1, "abC", `["a","b"]`},
		{"none to spare", each, 0, "abC", ""},
		{"enough before the loss", most, 0, "ab", `["a","b"]`},
		{"over a restart", all, 0, "aB!c", `["a","c"]`},
		{"over a restart, too few", all, 0, "A!B", ""},
		{"replaced over a restart", each, 1, "aB!+dc", `["a","d","c"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := voteOf(t, tt.step, tt.retries, tt.moves)
			switch {
			case tt.want == "" && (got.Status != core.ExecutionFailed || got.Error == nil || !strings.Contains(got.Error.Message, "lost")):
				t.Errorf("it is %s with %s: %+v", got.Status, got.Result, got.Error)
			case tt.want != "" && (got.Status != core.ExecutionCompleted || string(got.Result) != tt.want):
				t.Errorf("it is %s with %s: %+v, want %s", got.Status, got.Result, got.Error, tt.want)
			}
		})
	}
}

// The steps of a parallel step whose agents are lost go to the other agents of the role, at whichever answer that happens: the
// aggregate behind it has each once.
func TestAggregateWithLosses(t *testing.T) {
	for answers := range 3 {
		t.Run(fmt.Sprint(answers, " answers before"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.chart("vote", []core.Role{{Key: "v", ID: "v", Name: "v", Min: 1, Max: 3}}, parallel(many(3, "v")...), aggregate())
			for _, id := range []string{"a", "b", "c"} {
				r.agents.add(id, 1)
			}
			r.open()
			id := r.start("vote").ID
			r.agents.await(t, 3)
			for n := range 3 {
				if n == answers {
					r.agents.lose(r.agents.held()[0].agent)
				}
				var held []handed
				coretest.WaitFor(t, "a task", func() bool { held = r.agents.held(); return len(held) > 0 })
				settled := r.agents.settledCount()
				result, failure := r.chartSay(held[0].task)
				r.agents.report(held[0].agent, held[0].task, result, failure)
				coretest.WaitFor(t, "the answer", func() bool { return r.agents.settledCount() > settled })
			}
			if e := r.wait(id); e.Status != core.ExecutionCompleted || string(e.Result) != `{"count":3}` {
				t.Errorf("it is %s with %s: %+v", e.Status, e.Result, e.Error)
			}
			if n := r.store.count(id, core.EventTaskCompleted); n != 3 {
				t.Errorf("%d answers count", n)
			}
		})
	}
}
