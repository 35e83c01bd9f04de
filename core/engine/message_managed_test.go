package engine_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// newManagedTalk is newTalk with a spawner whose agents are ready at once.
func newManagedTalk(tb testing.TB, shape func(*core.Chart)) (*talk, *spawner) {
	tb.Helper()
	var s *spawner
	k := newTalkOn(tb, newMemory(), shape, func(r *rig) {
		s = r.spawns()
		s.auto = true
	})
	return k, s
}

// asksOf returns what spawned agents were asked, and repliesOf what they were answered.
func (s *spawner) asksOf() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.agents.asked)
}

func (s *spawner) repliesOf() []replied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.replies)
}

// A spawned agent's prompt is answered through the spawner, and a connected one's question by a spawned manager.
func TestMessagesOfSpawnedAgents(t *testing.T) {
	k, s := newManagedTalk(t, func(c *core.Chart) {
		c.Roles[0].Managed, c.Roles[0].AgentTypes = true, []string{"claude"}
		c.Roles[1].Managed, c.Roles[1].AgentTypes = true, []string{"claude"}
	})
	k.exec = k.start("chart")
	k.task = s.await(t, 1)[0].task
	k.say(core.TaskMessage{AgentID: "dev-0", AskID: "p1", Kind: core.QuestionApproval, Options: yesNo})
	if _, err := k.answerPeople(k.question().ID, `"allow"`); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the reply", func() bool { return len(s.repliesOf()) == 1 })
	if back := s.repliesOf()[0]; back.agent != "dev-0" || back.reply.AskID != "p1" || string(back.reply.Content) != `"1"` {
		t.Errorf("dev got %+v", back)
	}
	k.say(core.TaskMessage{AgentID: "dev-0", AskID: "p2", Kind: core.QuestionDialog})
	coretest.WaitFor(t, "the message", func() bool { return len(s.asksOf()) == 1 })
	m := s.asksOf()[0]
	if m.agent != "lead-0" {
		t.Fatalf("%s was asked, want lead-0", m.agent)
	}
	k.answer("lead-0", m.message.MessageID, `"so"`)
	coretest.WaitFor(t, "the reply", func() bool { return len(s.repliesOf()) == 2 })
	if len(k.agents.asked)+len(k.agents.replies) > 0 {
		t.Error("the connected agents were told what is for spawned ones")
	}
}

// A role that needs nobody until it is asked gets an agent spawned for the message.
func TestAgentIsSpawnedForMessage(t *testing.T) {
	shape := func(c *core.Chart) {
		c.Roles[1].Min, c.Roles[1].Max, c.Roles[1].Managed, c.Roles[1].AgentTypes = 0, 1, true, []string{"claude"}
	}
	t.Run("OK", func(t *testing.T) {
		k, s := newManagedTalk(t, shape)
		k.begin()
		k.say(core.TaskMessage{AskID: "a1"})
		coretest.WaitFor(t, "the message", func() bool { return len(s.asksOf()) == 1 })
		k.answer("lead-0", s.asksOf()[0].message.MessageID, `1`)
		k.answeredWith(1)
		k.finish()
		if got := s.stoppedExecutions(); !slices.Equal(got, []string{k.exec.ID}) {
			t.Errorf("agents of %v were stopped", got)
		}
	})
	t.Run("ErrSpawn", func(t *testing.T) {
		k, s := newManagedTalk(t, shape)
		s.roleMu.Lock()
		s.auto = false
		s.roleMu.Unlock()
		k.begin()
		k.say(core.TaskMessage{AskID: "a1"})
		for failed := 0; failed < 3; failed++ {
			coretest.WaitFor(t, "a spawn", func() bool { return len(s.specs()) > failed })
			s.fail(s.specs()[failed], core.Errorf(core.CodeInternal, "no terminal"))
		}
		if got := k.askedOf(1); got.agent != "cto" {
			t.Fatalf("%s was asked, want cto", got.agent)
		}
		k.finish()
	})
}
