package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// crew is the agents of a run, each a process.
type crew struct{ members []*member }

type member struct {
	name         string
	capabilities []string
	server       string
	log, state   string
	record       recordReader
	process      *testbed.Process
}

// newCrew names five agents: all work, three of them review too.
func newCrew(dir, server string) *crew {
	c := &crew{}
	for i := range 5 {
		name := fmt.Sprintf("rig-%d", i)
		m := &member{
			name: name, capabilities: []string{"work"}, server: server,
			log: filepath.Join(dir, name+".log"), state: filepath.Join(dir, name+".state"),
			record: recordReader{path: filepath.Join(dir, name+".record")},
		}
		if i < 3 {
			m.capabilities = append(m.capabilities, "review")
		}
		c.members = append(c.members, m)
	}
	return c
}

// start starts an agent. It resumes its session if it has a state file; without, it comes as a new agent.
func (m *member) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m.process, err = testbed.Launch(m.log, self, agentCommand, "-server", m.server, "-name", m.name,
		"-capabilities", strings.Join(m.capabilities, ","), "-record", m.record.path, "-state", m.state)
	return err
}

// crash kills an agent and starts it again, with its session or as a new agent.
func (m *member) crash(fresh bool) error {
	if m.process.Ended() {
		return fmt.Errorf("agent %s ended by itself (%s), see %s", m.name, m.process.Outcome(), m.log)
	}
	m.process.Kill()
	if fresh {
		if err := os.Remove(m.state); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return m.start()
}

// start starts all agents and waits until they are registered.
func (c *crew) start(ctx context.Context) error {
	for _, m := range c.members {
		if err := m.start(); err != nil {
			return err
		}
	}
	timer := time.NewTimer(readyLimit)
	defer timer.Stop()
	for _, m := range c.members {
		select {
		case <-m.process.Ready:
		case <-m.process.Done:
			return fmt.Errorf("agent %s ended (%s), see %s", m.name, m.process.Outcome(), m.log)
		case <-timer.C:
			return fmt.Errorf("agent %s was not registered after %s, see %s", m.name, readyLimit, m.log)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// alive returns an error if an agent has ended by itself: the library must bear the server being away.
func (c *crew) alive() error {
	for _, m := range c.members {
		if m.process.Ended() {
			return fmt.Errorf("agent %s ended by itself (%s), see %s", m.name, m.process.Outcome(), m.log)
		}
	}
	return nil
}

// entries returns what the agents recorded since the last call.
func (c *crew) entries() ([]proof.Entry, error) {
	var all []proof.Entry
	for _, m := range c.members {
		entries, err := m.record.next()
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

func (c *crew) kill() {
	for _, m := range c.members {
		if m.process != nil {
			m.process.Kill()
		}
	}
}
