package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// crashWriter runs in the test binary as a child: several goroutines store executions and print
// each id once its update was acknowledged, until the parent kills the process.
func crashWriter(dir string) {
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1 << 20})
	must(err)
	ids := core.NewIDs(core.SystemClock{})
	hook := webhook(webhookAt(start, 1))
	err = s.Update(ctx, func(tx core.Tx) error {
		if _, err := tx.FindWebhook(hook.ID); err == nil {
			return nil // a child before this one made it
		}
		return tx.PutWebhook(hook)
	})
	must(err)
	var out sync.Mutex
	for g := range 8 {
		go func() {
			for {
				e := execution(ids.New(core.PrefixExecution), fmt.Sprintf("p%d", g), core.ExecutionRunning)
				err := s.Update(ctx, func(tx core.Tx) error {
					if err := tx.PutExecution(e); err != nil {
						return err
					}
					if err := tx.PutThread(thread(threadOf(e.ID), e.ID, core.ThreadReady)); err != nil {
						return err
					}
					d := delivery(g, hook.ID)
					d.ID = ids.New(core.PrefixDelivery)
					if g%2 == 0 {
						d = ended(d, core.DeliverySucceeded)
					}
					if err := tx.PutDelivery(d); err != nil {
						return err
					}
					return tx.Append(
						threadEvent(threadOf(e.ID), e.ID, core.EventThreadReady),
						core.Event{Type: core.EventExecutionStarted, Subject: e.ID, Time: time.Now()},
						core.Event{Type: core.EventTaskAssigned, Subject: e.ID, Time: time.Now()})
				})
				if err != nil {
					continue
				}
				out.Lock()
				fmt.Println(e.ID)
				out.Unlock()
			}
		}()
	}
	select {}
}

// threadOf is the id of the thread of an execution.
func threadOf(executionID string) string {
	return core.PrefixThread + executionID[len(core.PrefixExecution):]
}

func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "STORE_TEST_CRASH_DIR="+dir)
		var stderr strings.Builder
		child.Stderr = &stderr
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		for n := 0; lines.Scan(); n++ {
			acknowledged[lines.Text()] = true
			if n == 300+round*57 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // it was killed
		if len(acknowledged) < 300*(round+1) {
			t.Fatalf("the child wrote little: %s", stderr.String())
		}
		checkAfterKill(t, dir, acknowledged)
	}
}

// checkAfterKill proves that all acknowledged executions are there whole, and that counters, indexes and
// sequence numbers agree with the records.
func checkAfterKill(t *testing.T, dir string, acknowledged map[string]bool) {
	t.Helper()
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	active, err := s.ActiveExecutions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for _, e := range active {
		stored[e.ID] = true
		events, _, err := s.Events(ctx, e.ID, 0, 0)
		if err != nil || len(events) != 2 || events[0].Seq+1 != events[1].Seq {
			t.Fatalf("execution %s has events %v, %v", e.ID, events, err)
		}
		if group, _, err := s.Events(ctx, core.ThreadGroup(e.ID), 0, 0); err != nil || len(group) != 1 || group[0].Subject != threadOf(e.ID) {
			t.Fatalf("the threads of execution %s have events %v, %v", e.ID, group, err)
		}
	}
	for id := range acknowledged {
		if !stored[id] {
			t.Fatalf("acknowledged execution %s is gone", id)
		}
	}
	counts, _ := s.CountExecutions(ctx)
	sum := 0
	for _, c := range counts {
		sum += c[core.ExecutionRunning]
	}
	if sum != len(stored) {
		t.Fatalf("counters say %d executions, there are %d", sum, len(stored))
	}
	for _, f := range []core.ThreadFilter{{}, {Status: core.ThreadReady}, {Role: "driver", AgentType: "claude"}} {
		if _, info, err := s.FindThreads(ctx, f); err != nil || info.Total != sum {
			t.Fatalf("%+v: the list holds %d threads, %v, want %d", f, info.Total, err, sum)
		}
	}
	checkDeliveryKeys(t, s, sum)
	log, _, err := s.Log(ctx, 0, 0)
	if err != nil || len(log) != len(stored) {
		t.Fatalf("log holds %d events of %d executions, %v", len(log), len(stored), err)
	}
	for i := 1; i < len(log); i++ {
		if log[i].Seq <= log[i-1].Seq {
			t.Fatalf("log goes from %d to %d", log[i-1].Seq, log[i].Seq)
		}
	}
}
