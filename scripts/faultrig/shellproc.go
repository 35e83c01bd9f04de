package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// holders returns the processes that hold the terminals: each room has its own copy of the program. One whose agent has
// ended, which the file exit beside it says, may stay for some minutes, for a plugin that was killed to ask how it ended. Those
// in containers are the first process of each, and while the engine is away none is seen.
func (s *shells) holders() ([]int, error) {
	if s.engine != nil {
		return s.contained()
	}
	all, err := testbed.Running("holder", s.data)
	return slices.DeleteFunc(all, func(pid int) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(testbed.Executable(pid)), "exit"))
		return err == nil
	}), err
}

// contained returns the first process of each container that an agent has; 0 of one that has ended and is left of an agent that
// the core does not know. Those of agents that it knows stay until it forgets them.
func (s *shells) contained() (pids []int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
	defer cancel()
	ids, err := s.engine.Containers(ctx, "io.wardroom.role=agent")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		var one struct {
			State  struct{ Pid int }
			Config struct{ Labels map[string]string }
		}
		var refused *testbed.EngineError
		switch err := s.engine.Call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, &one); {
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound: // it went meanwhile
		case err != nil:
			return nil, err
		default:
			known := false
			if one.State.Pid == 0 && s.caller != nil {
				if _, known, err = s.caller.get(ctx, managedAgents+"/"+one.Config.Labels["io.wardroom.agent"], new(agentRecord)); err != nil {
					return nil, err
				}
			}
			if !known {
				pids = append(pids, one.State.Pid)
			}
		}
	}
	return pids, nil
}

// processes returns all processes of the shells, and of the holders of their terminals.
func (s *shells) processes() ([]int, error) {
	holders, err := s.holders()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, sh := range s.all {
		ids = append(ids, sh.id)
	}
	marked, err := testbed.OfAgents(ids...)
	return append(holders, marked...), err
}

// orphans wants one holder and one process for each shell: messages are over, so nothing else runs.
func (s *shells) orphans() error {
	holders, err := s.holders()
	if err != nil {
		return err
	}
	all, err := s.processes()
	if err != nil {
		return err
	}
	if len(holders) != len(s.all) || len(all) != 2*len(s.all) {
		return fmt.Errorf("orphans: %d agents have %d holders and %d processes: %v", len(s.all), len(holders), len(all), all)
	}
	return nil
}

// killPlugin ends the runtime's plugin as a crash does; none may be there at the moment.
func (s *shells) killPlugin() (killed bool, err error) {
	pids, err := testbed.Running(s.plugin, s.plugins)
	for _, pid := range pids {
		err := syscall.Kill(pid, syscall.SIGKILL)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return killed, fmt.Errorf("kill the plugin %d: %w", pid, err)
		}
		killed = killed || err == nil
	}
	return killed, err
}

// kill ends everything of the shells, after a run that went wrong.
func (s *shells) kill() {
	s.caller = nil // the core is gone
	pids, _ := s.processes()
	for _, pid := range pids {
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
