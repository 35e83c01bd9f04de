package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// trigger fires when the n-th task since it was armed reaches an agent.
type trigger struct {
	mu    sync.Mutex // guards all below
	left  int
	fired chan struct{}
}

func (tr *trigger) arm(n int) <-chan struct{} {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.left, tr.fired = n, make(chan struct{})
	return tr.fired
}

func (tr *trigger) hit() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.left--; tr.left == 0 {
		close(tr.fired)
	}
}

// The process is killed at many instants of the same work, while requests are under way. Their clients send
// them again under their keys. In the end every request made one execution with the outcome it must have,
// no outcome ever changes, and no agent did a task twice.
func TestKillAtAnyInstant(t *testing.T) {
	s := dev(t)
	var work trigger
	f := s.join(3, "vote", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		work.hit()
		return voter(ctx, n, task)
	})
	s.put(vote, "vote", "vote")
	persistent := s.client(client.Options{Retry: client.RetryPolicy{MaxElapsed: patience, Base: 20 * time.Millisecond, Max: 50 * time.Millisecond}})
	outcomes := map[string]json.RawMessage{}
	const each, items = 12, 4
	stored := 0
	for round, at := range []int{1, 2, 3, 5, 8, 13, 20, 28, 35, 44} {
		killed := work.arm(at)
		var requests sync.WaitGroup
		ids := make([]string, each)
		for i := range ids {
			requests.Add(1)
			go func() {
				defer requests.Done()
				req := client.ExecuteRequest{
					Pattern: "vote", Input: number(round*each + i), IdempotencyKey: fmt.Sprintf("%d-%d", round, i),
				}
				start := persistent.ExecuteAsync
				if i%3 == 0 {
					start = persistent.Execute
				}
				e, err := start(t.Context(), req)
				if err != nil {
					t.Errorf("round %d, request %d: %v", round, i, err)
					return
				}
				ids[i] = e.ExecutionID
			}()
		}
		var batch *client.Batch
		requests.Add(1)
		go func() {
			defer requests.Done()
			inputs := make([]json.RawMessage, items)
			for i := range inputs {
				inputs[i] = number(i)
			}
			var err error
			if batch, err = persistent.StartBatch(t.Context(), client.BatchRequest{
				Pattern: "vote", Inputs: inputs, IdempotencyKey: fmt.Sprintf("batch-%d", round),
			}); err != nil {
				t.Errorf("round %d, batch: %v", round, err)
			}
		}()
		<-killed
		s.kill()
		s.start()
		requests.Wait()
		if t.Failed() {
			return
		}
		f.wait(t)
		for i, id := range ids {
			e := s.settled(id)
			checkVote(t, round*each+i, e)
			outcomes[id] = e.Body
		}
		for i, item := range s.batchDone(batch.BatchID, items).Results {
			checkKind(t, i, item.Result)
		}
		stored += each + items
		list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{Page: client.Page{Limit: 1}})
		if err != nil || list.Total != stored {
			t.Fatalf("round %d: %d executions are stored (%v), %d were asked for", round, list.Total, err, stored)
		}
	}
	for id, before := range outcomes {
		if after := s.get(id).Body; string(after) != string(before) {
			t.Errorf("%s changed over a kill: %s\nbefore %s", id, after, before)
		}
	}
	if again := f.repeated(); len(again) > 0 {
		t.Errorf("%d tasks were worked on twice: %v", len(again), again)
	}
}

// What a server that was killed leaves among the temporary files goes with its data, at the start of the next server.
func TestKilledServerLeavesNoRunDirectory(t *testing.T) {
	temp, err := os.MkdirTemp("/tmp", "w") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	left := func() []string {
		found, err := filepath.Glob(filepath.Join(temp, "wardroom-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	started := func() *server {
		dir := t.TempDir()
		s := &server{t: t, dir: dir, args: []string{"dev", "--data-dir", dir, "--listen"}, env: []string{"TMPDIR=" + temp}}
		s.start()
		return s
	}
	first := started()
	first.kill()
	of := left()
	if len(of) != 1 {
		t.Fatalf("the run directories are %v", of)
	}
	second := started() // the data of the first is still there
	if found := left(); len(found) != 2 {
		t.Fatalf("the run directories are %v", found)
	}
	second.stop()
	if err := os.RemoveAll(first.dir); err != nil {
		t.Fatal(err)
	}
	third := started()
	if found := left(); len(found) != 1 || found[0] == of[0] {
		t.Errorf("the run directories are %v, and %v was that of the killed server", found, of)
	}
	third.stop()
	if found := left(); len(found) != 0 {
		t.Errorf("a server that ended leaves %v", found)
	}
}
