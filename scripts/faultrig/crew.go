package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// crew is the agents that work, and their records.
type crew struct {
	players
	records []recordReader
}

// newCrew prepares five agents: all work, three of them review too.
func newCrew(dir, server string) (*crew, error) {
	c := &crew{}
	for i := range 5 {
		name, capabilities := fmt.Sprintf("rig-%d", i), "work"
		if i < 3 {
			capabilities += ",review"
		}
		record := filepath.Join(dir, name+".record")
		p, err := newPlayer(dir, name, name+".state", server, agentCommand, "-capabilities", capabilities, "-record", record)
		if err != nil {
			return nil, err
		}
		c.players, c.records = append(c.players, p), append(c.records, recordReader{path: record})
	}
	return c, nil
}

// entries returns what the agents recorded since the last call.
func (c *crew) entries() ([]proof.Entry, error) {
	var all []proof.Entry
	for i := range c.records {
		entries, err := c.records[i].next()
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// hosts are the connected agents that host threads.
type hosts struct {
	players
	ledgers string // folder that the scribes of all write into: ids of threads are unique
}

// newHosts prepares two hosts.
func newHosts(dir, server string) (*hosts, error) {
	h := &hosts{ledgers: filepath.Join(dir, "ledgers")}
	for i := range 2 {
		name := fmt.Sprintf("host-%d", i)
		p, err := newPlayer(dir, name, name, server, hostCommand, "-ledgers", h.ledgers)
		if err != nil {
			return nil, err
		}
		h.players = append(h.players, p)
	}
	return h, os.Mkdir(h.ledgers, 0o700)
}
