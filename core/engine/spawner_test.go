package engine_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// spawner is a core.RoleSpawner whose agents are spawned when the test says so, and carried like connected ones.
type spawner struct {
	*agents
	roleMu  sync.Mutex
	sink    core.RoleSink
	cannot  string // why nothing can be spawned, or ""
	lacks   string // the type whose command is missing
	asked   []core.RoleSpec
	stopped []string // executions
	ended   []string // agents
	swept   int
	auto    bool // agents are ready at once
}

func newSpawner() *spawner { return &spawner{agents: newAgents()} }

func (s *spawner) CanSpawn([]string, string) (bool, string) {
	s.roleMu.Lock()
	defer s.roleMu.Unlock()
	return s.cannot == "", s.cannot
}

func (s *spawner) Lacking(types []string, _ string) bool {
	return slices.Equal(types, []string{s.lacks})
}

func (s *spawner) Spawn(spec core.RoleSpec) {
	s.roleMu.Lock()
	s.asked = append(s.asked, spec)
	auto := s.auto
	s.roleMu.Unlock()
	if auto {
		s.ready(spec)
	}
}

// specs returns what was asked for.
func (s *spawner) specs() []core.RoleSpec {
	s.roleMu.Lock()
	defer s.roleMu.Unlock()
	return slices.Clone(s.asked)
}

// ready brings an agent up.
func (s *spawner) ready(spec core.RoleSpec) {
	id := fmt.Sprintf("%s-%d", spec.Role, spec.Instance)
	s.mu.Lock()
	s.slots[id] = 1
	s.mu.Unlock()
	s.sink.RoleSpawned(spec, id, "claude", nil)
}

func (s *spawner) fail(spec core.RoleSpec, err error) { s.sink.RoleSpawned(spec, "", "", err) }

func (s *spawner) Hold(agent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.slots[agent]
	return ok
}

func (s *spawner) Stop(agent, _ string) {
	s.roleMu.Lock()
	s.ended = append(s.ended, agent)
	s.roleMu.Unlock()
}

func (s *spawner) StopExecution(id, _ string) {
	s.roleMu.Lock()
	s.stopped = append(s.stopped, id)
	s.roleMu.Unlock()
}

func (s *spawner) stoppedExecutions() []string {
	s.roleMu.Lock()
	defer s.roleMu.Unlock()
	return slices.Clone(s.stopped)
}

func (s *spawner) Sweep(func(string) bool) {
	s.roleMu.Lock()
	s.swept++
	s.roleMu.Unlock()
}

var _ core.RoleSpawner = (*spawner)(nil)

// spawns gives the rig a spawner.
func (r *rig) spawns() *spawner {
	r.roles = newSpawner()
	return r.roles
}
