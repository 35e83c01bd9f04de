package runtimes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

var errDisk = errors.New("the disk is gone")

// memory is a store in memory that opens no streams.
type memory struct{ *storetest.Memory }

func newMemory(tb testing.TB) memory { return memory{storetest.NewMemory(tb)} }

// kinds returns the types of an agent's events, in order.
func (m memory) kinds(id string) []core.EventType {
	var kinds []core.EventType
	for _, e := range m.Appended() {
		if e.Subject == id {
			kinds = append(kinds, e.Type)
		}
	}
	return kinds
}

// record returns an agent as it is stored, or nil.
func (m memory) record(id string) *core.ManagedAgentRecord {
	all, err := m.AllManagedAgents(context.Background())
	if err != nil {
		panic(err)
	}
	for _, r := range all {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (m memory) Stream(context.Context, string, uint64, func(core.Event) bool) (core.EventStream, error) {
	return nil, errors.New("no streams here")
}
