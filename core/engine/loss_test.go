package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// losses are the agents that are lost in lives of a talk, and whether another agent of the role is there instead.
var losses = []struct {
	agent   string
	instead bool
}{{"dev", true}, {"dev", false}, {"lead", true}, {"lead", false}, {"cto", false}, {"ceo", false}}

// loseOne drops an agent for good, and adds another one of its role if there is to be one.
func (k *talk) loseOne(agent string, instead bool) {
	k.agents.mu.Lock()
	_, known := k.agents.slots[agent]
	k.agents.mu.Unlock()
	if !known {
		return
	}
	if instead {
		k.agents.offer(agent+"-b", 1, agent)
	}
	k.agents.lose(agent)
}

// liveOn plays a life to its end, with any agents of the roles.
func (k *talk) liveOn(id string, answers map[string]string, people string, kind core.QuestionKind) *core.Execution {
	k.tb.Helper()
	done := map[string]bool{}
	once := func(what ...any) bool {
		key := fmt.Sprint(what...)
		first := !done[key]
		done[key] = true
		return first
	}
	role := func(agent string) string { r, _, _ := strings.Cut(agent, "-"); return r }
	coretest.WaitFor(k.tb, "the end", func() bool {
		if e, err := k.store.FindExecution(k.tb.Context(), id); err == nil && e.Status.Terminal() {
			return true
		}
		k.agents.mu.Lock()
		asks, replies := slices.Clone(k.agents.asked), slices.Clone(k.agents.replies)
		k.agents.mu.Unlock()
		for _, h := range k.agents.held() {
			if once("say", h.agent, h.task.ID, h.task.Attempt) {
				m := core.TaskMessage{AgentID: h.agent, TaskID: h.task.ID, AskID: "ask " + h.agent, Kind: kind}
				if kind != "" {
					m.Options = yesNo
				}
				k.say(m)
			}
			for _, r := range replies {
				if r.agent == h.agent && r.reply.TaskID == h.task.ID && once("report", h.agent, h.task.ID, h.task.Attempt) {
					k.agents.report(h.agent, h.task, string(r.reply.Content), nil)
				}
			}
		}
		for _, a := range asks {
			if content, ok := answers[role(a.agent)]; ok && once("answer", a.agent, a.message.MessageID) {
				k.answer(a.agent, a.message.MessageID, content)
			}
		}
		open, _, err := k.FindQuestions(k.tb.Context(), core.QuestionFilter{ExecutionID: id, Status: core.QuestionOpen})
		if err != nil {
			k.tb.Fatal(err)
		}
		if len(open) > 0 && people != "" {
			_, err := k.AnswerQuestion(k.tb.Context(), id, open[0].ID, json.RawMessage(people))
			if err != nil && core.ErrorCode(err) != core.CodeConflict {
				k.tb.Fatal(err)
			}
		}
		switch {
		case len(open) > 0 && people == "":
			k.clock.Advance(24 * stdtime.Hour)
		case len(k.agents.held()) == 0: // no agent is there for it
			k.clock.Advance(10 * stdtime.Minute)
		default:
			k.clock.Advance(15 * stdtime.Second)
		}
		return false
	})
	return k.wait(id)
}

// checkEnd wants nothing left of an execution that is over: no question, no slot, no timer, and one end of each message.
func (k *talk) checkEnd(what string, id string) {
	k.tb.Helper()
	coretest.WaitFor(k.tb, "an engine that keeps nothing", func() bool {
		s := k.Stats()
		return s.Active+s.Running+s.Waiting+s.Parked == 0 && k.clock.Pending() == 0
	})
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	ends, over := map[string]int{}, 0
	for _, ev := range k.store.events[id] {
		var d struct{ MessageID string }
		switch ev.Type {
		case core.EventMessageReplied, core.EventMessageClosed:
			mustUnmarshal(ev.Data, &d)
			ends[d.MessageID]++
		case core.EventExecutionCompleted, core.EventExecutionFailed:
			over++
		}
	}
	for message, n := range ends {
		if n > 1 {
			k.tb.Errorf("%s: message %s ended %d times", what, message, n)
		}
	}
	if over != 1 {
		k.tb.Errorf("%s: the execution ended %d times", what, over)
	}
	for _, q := range k.store.questions {
		if q.Status == core.QuestionOpen {
			k.tb.Errorf("%s: question %s is open after the end", what, q.ID)
		}
	}
	k.agents.mu.Lock()
	defer k.agents.mu.Unlock()
	for agent, free := range k.agents.slots {
		if free < k.agents.sizes[agent] { // tasks that are adopted take no slot of these agents
			k.tb.Errorf("%s: %s has %d free slots of %d after the end", what, agent, free, k.agents.sizes[agent])
		}
	}
}

// Whichever agent is lost after any transaction of an execution, or is gone after a crash at any event of it: the execution ends, and
// nothing is left of it.
func TestLossesAtEveryPrefix(t *testing.T) {
	for _, life := range talkLives {
		for _, loss := range losses {
			t.Run(fmt.Sprint(life.name, "/", loss.agent, loss.instead), func(t *testing.T) {
				t.Parallel()
				var crashes []*memory
				id := ""
				for n := 1; ; n++ {
					k := newTalk(t, life.shape)
					commits, keep := 0, n == 1
					k.store.onCommit = func(int) {
						if commits++; commits == n && !keep {
							k.loseOne(loss.agent, loss.instead)
						}
						k.store.mu.Lock()
						known := maps.Clone(k.store.executions)
						k.store.mu.Unlock()
						for id, e := range known {
							before := 0
							if len(crashes) > 0 {
								before = len(crashes[len(crashes)-1].events[id])
							}
							for i := before + 1; keep && i <= len(k.store.types(id)) && !e.Status.Terminal(); i++ {
								crash := k.store.upTo(id, i)
								crash.asJournaled(t, id)
								crashes = append(crashes, crash)
							}
						}
					}
					k.exec = k.start("chart")
					k.liveOn(k.exec.ID, life.answers, life.people, life.kind)
					k.checkEnd(fmt.Sprint("lost after ", n), k.exec.ID)
					k.Close()
					if keep {
						id = k.exec.ID
					}
					if commits < n || n > 40 {
						break
					}
				}
				for i, left := range crashes {
					k := newTalkOn(t, left, life.shape, func(r *rig) {
						r.agents.mu.Lock()
						delete(r.agents.slots, loss.agent)
						r.agents.order = slices.DeleteFunc(r.agents.order, func(a string) bool { return a == loss.agent })
						r.agents.mu.Unlock()
						if loss.instead {
							r.agents.offer(loss.agent+"-b", 1, loss.agent)
						}
					})
					k.liveOn(id, life.answers, life.people, life.kind)
					k.checkEnd(fmt.Sprint("gone at ", i, " ", left.types(id)), id)
					k.Close()
				}
			})
		}
	}
}

// An agent that is lost while it is being bound to its role serves it no more: what it is asked goes on to others.
func TestLostWhileBound(t *testing.T) {
	k := newTalk(t, nil)
	k.agents.mu.Lock()
	k.agents.reserved = func(ids []string) {
		if slices.Contains(ids, "lead") {
			k.agents.mu.Lock()
			k.agents.reserved = nil
			k.agents.mu.Unlock()
			k.agents.lose("lead")
		}
	}
	k.agents.mu.Unlock()
	k.begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.waitEvents(core.EventMessageSent, 1)
	k.sync()
	if got := k.askedOf(1); got.agent != "cto" {
		t.Errorf("%s was asked, want cto", got.agent)
	}
	k.agents.offer("lead-b", 1, "lead")
	k.say(core.TaskMessage{AskID: "a2"})
	if got := k.askedOf(2); got.agent != "lead-b" {
		t.Errorf("%s was asked, want lead-b", got.agent)
	}
	if n := k.store.count(k.exec.ID, core.EventMessageEscalated); n > 2 {
		t.Errorf("%d messages were escalated", n)
	}
	k.finish()
}
