package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// player is an agent that is connected to the core: this program once more, as a process of its own.
type player struct {
	name    string
	state   string // file or folder of the session that it resumes
	command testbed.Command
	process *testbed.Process
}

// newPlayer prepares an agent that keeps its log and its state in a folder. args begin with the part that it plays.
func newPlayer(dir, name, state, server string, args ...string) (*player, error) {
	p := &player{name: name, state: filepath.Join(dir, state)}
	var err error
	p.command, err = testbed.Self(filepath.Join(dir, name+".log"), append(args, "-server", server, "-name", name, "-state", p.state)...)
	return p, err
}

func (p *player) start() (err error) {
	p.process, err = p.command.Start()
	return err
}

// crash kills the agent and starts it again: with its session, or as a new one that knows nothing of it.
func (p *player) crash(fresh bool) error {
	if err := p.process.Check(); err != nil {
		return err
	}
	p.process.Kill()
	if fresh {
		if err := os.RemoveAll(p.state); err != nil {
			return err
		}
	}
	return p.start()
}

// players are agents of a run.
type players []*player

// start starts all and waits until they are registered.
func (all players) start(ctx context.Context) error {
	for _, p := range all {
		if err := p.start(); err != nil {
			return err
		}
	}
	for _, p := range all {
		if err := p.process.Await(ctx, readyLimit); err != nil {
			return err
		}
	}
	return nil
}

// alive returns an error if one has ended by itself: the library must bear the server being away.
func (all players) alive() error {
	for _, p := range all {
		if err := p.process.Check(); err != nil {
			return err
		}
	}
	return nil
}

func (all players) kill() {
	for _, p := range all {
		if p.process != nil {
			p.process.Kill()
		}
	}
}
