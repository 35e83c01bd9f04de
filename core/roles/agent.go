package roles

import (
	"context"
	"errors"

	"github.com/wardroom/wardroom/core"
)

// agent is a managed agent that serves a role, from its spawn or from Hold on until it is gone.
type agent struct {
	id   string
	name string
	kind string // its type
	who  instance

	ctx    context.Context // of its goroutines; ends when it is gone, and in Close
	cancel context.CancelFunc

	failures int // tasks in a row that failed for a reason that passes; of the goroutine of work

	// Service.mu guards all below.
	state   state
	changed chan struct{} // closed and replaced when something below or the state changed
	task    *job          // that is out at it, or nil
	asks    []*job        // that wait for its task to be over, in order
	current *job          // whose turn it has now
	known   []string      // ids of messages that it was given, oldest first
	over    bool          // gone, or let go
	ended   bool          // its record said so at the last look
}

// errLate is that something did not come in time.
var errLate = errors.New("it did not come in time")

// take begins to follow an agent. The caller holds mu.
func (s *Service) take(id, name, kind string, who instance) *agent {
	a := &agent{id: id, name: name, kind: kind, who: who, changed: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(s.ctx)
	s.crew[id] = a
	s.tasks.Go(func() { s.follow(a) })
	s.tasks.Go(func() { s.work(a) })
	return a
}

// touch wakes who waits: something changed. The caller holds mu.
func (a *agent) touch() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// await waits until cond holds, which is called under mu. It returns errLate after limit, if that is not 0, or the
// error of ctx.
func (s *Service) await(ctx context.Context, a *agent, limit wait, cond func() bool) error {
	due, stop := limit.begin(s.opts.Clock)
	defer stop()
	for {
		s.mu.Lock()
		ok, changed := cond(), a.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
			return errLate
		case <-changed:
		}
	}
}

// find returns an agent that serves a role, or nil. The caller holds mu.
func (s *Service) find(id string) *agent {
	a := s.crew[id]
	if a == nil || a.over {
		return nil
	}
	return a
}

// Hold implements core.RoleSpawner.
func (s *Service) Hold(agentID string) bool {
	found, err := s.agents.FindManagedAgent(s.ctx, agentID)
	if err != nil || found.Gone() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks.Ended() || s.ending[agentID] {
		return false
	}
	if s.crew[agentID] != nil {
		return s.find(agentID) != nil
	}
	for who, ids := range s.left {
		if ids[agentID] {
			s.took(who, agentID)
			s.take(agentID, found.Name, found.Type, who)
			return true
		}
	}
	return false // stopped by somebody, or none of ours
}

// took notes that an agent of an earlier life was taken up. The caller holds mu.
func (s *Service) took(who instance, id string) {
	delete(s.left[who], id)
	if len(s.left[who]) == 0 {
		delete(s.left, who)
	}
}

// lost ends the service of an agent that is gone, and tells the sink once.
func (s *Service) lost(a *agent) {
	s.mu.Lock()
	if a.over || s.tasks.Ended() {
		s.mu.Unlock()
		return
	}
	var tasks []string
	if a.task != nil {
		tasks = []string{a.task.task.ID}
	}
	_, unborn := s.spawning[a.who]
	s.letGo(a)
	s.mu.Unlock()
	s.log.Warn("an agent of a role is gone", "agent", a.id, "execution", a.who.execution, "role", a.who.role)
	if !unborn { // else its spawn fails, and the sink never knew it
		s.sink.AgentLost(a.id, tasks)
	}
	// A person who starts it again would have an agent that is never ended.
	s.end(a.id, "it is gone, and its role has another agent")
}

// letGo ends the service of an agent. The caller holds mu.
func (s *Service) letGo(a *agent) {
	a.over = true
	delete(s.crew, a.id)
	a.cancel()
	a.touch()
}

// labelled reads whose an agent is; false if it serves no role.
func labelled(r *core.ManagedAgentRecord) (instance, bool) {
	return fromLabels(r.Spec.Labels)
}
