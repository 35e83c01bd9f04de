package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// mark is the variable by which processes of an agent are known.
const mark = "WARDROOM_AGENT_ID="

// running returns the processes of a program of that name in a folder.
func running(dir, name string) ([]int, error) {
	return find(func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && filepath.Base(exe) == name && strings.HasPrefix(exe, dir+"/")
	})
}

// holders returns the processes that hold the terminals: each room has its own copy of the program. One whose agent has
// ended, which the file exit beside it says, may stay for some minutes, for a plugin that was killed to ask how it ended.
func (s *shells) holders() ([]int, error) {
	all, err := running(s.data, "holder")
	return slices.DeleteFunc(all, func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil {
			return false
		}
		_, err = os.Stat(filepath.Join(filepath.Dir(exe), "exit"))
		return err == nil
	}), err
}

// processes returns all processes of the shells, and of the holders of their terminals.
func (s *shells) processes() ([]int, error) {
	holders, err := s.holders()
	if err != nil {
		return nil, err
	}
	marked, err := find(func(pid int) bool {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return false
		}
		for pair := range bytes.SplitSeq(env, []byte{0}) {
			if id, ok := bytes.CutPrefix(pair, []byte(mark)); ok {
				return slices.ContainsFunc(s.all, func(sh *shellAgent) bool { return sh.id == string(id) })
			}
		}
		return false
	})
	return append(holders, marked...), err
}

// find returns the processes for which cond holds. One that ends meanwhile is none.
func find(cond func(pid int) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("processes can only be looked at through /proc: %w", err)
	}
	var found []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && cond(pid) {
			found = append(found, pid)
		}
	}
	return found, nil
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
	pids, err := running(s.plugins, runtimePlugin)
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
	pids, _ := s.processes()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
