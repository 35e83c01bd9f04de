package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// hosts are the connected agents that host threads, each a process.
type hosts struct {
	ledgers string
	server  string
	all     []*hostProcess
}

// hostProcess is one of them.
type hostProcess struct {
	name, log, state string
	process          *testbed.Process
}

// newHosts names two hosts, whose scribes write into one folder: ids of threads are unique.
func newHosts(dir, server string) (*hosts, error) {
	h := &hosts{ledgers: filepath.Join(dir, "ledgers"), server: server}
	for i := range 2 {
		name := fmt.Sprintf("host-%d", i)
		h.all = append(h.all, &hostProcess{
			name: name, log: filepath.Join(dir, name+".log"), state: filepath.Join(dir, name),
		})
	}
	return h, os.Mkdir(h.ledgers, 0o700)
}

// start starts all hosts and waits until they are registered.
func (h *hosts) start(ctx context.Context) error {
	for _, p := range h.all {
		if err := h.launch(p); err != nil {
			return err
		}
	}
	for _, p := range h.all {
		select {
		case <-p.process.Ready:
		case <-p.process.Done:
			return fmt.Errorf("%s ended (%s), see %s", p.name, p.process.Outcome(), p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s was not registered in time, see %s", p.name, p.log)
		}
	}
	return nil
}

func (h *hosts) launch(p *hostProcess) error {
	if err := os.MkdirAll(p.state, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.process, err = testbed.Launch(p.log, self, hostCommand, "-server", h.server, "-name", p.name, "-ledgers", h.ledgers, "-state", p.state)
	return err
}

// crash kills a host and starts it again: with its session and its threads, or as a new one that knows of none.
func (h *hosts) crash(i int, fresh bool) error {
	p := h.all[i]
	if err := h.alive(); err != nil {
		return err
	}
	p.process.Kill()
	if fresh {
		if err := os.RemoveAll(p.state); err != nil {
			return err
		}
	}
	return h.launch(p)
}

// alive returns an error if a host has ended by itself.
func (h *hosts) alive() error {
	for _, p := range h.all {
		if p.process.Ended() {
			return fmt.Errorf("%s ended by itself (%s), see %s", p.name, p.process.Outcome(), p.log)
		}
	}
	return nil
}

func (h *hosts) kill() {
	for _, p := range h.all {
		if p.process != nil {
			p.process.Kill()
		}
	}
}
