package workspace_test

import (
	"errors"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

var errDisk = errors.New("the disk is gone")

// memory is a store in memory, with the threads that tests say there are.
type memory struct{ *storetest.Memory }

func newMemory(tb testing.TB) memory { return memory{storetest.NewMemory(tb)} }

func (m memory) putThread(id string, status core.ThreadStatus) {
	m.Put(func(tx core.Tx) error {
		return tx.PutThread(&core.ThreadRecord{Thread: core.Thread{ID: id, ExecutionID: "exec_1", Status: status}})
	})
}
