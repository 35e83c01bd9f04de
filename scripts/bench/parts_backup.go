package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// backupCalls is how many API calls a second are made before and while a backup is made.
const backupCalls = 100

// backups has the command line back up a server that holds 2 GiB, while lists are read and executions run.
func (b *bench) backups(ctx context.Context) error {
	size := int64(2 << 30)
	if b.quick {
		size = 256 << 20
	}
	if err := seedBytes(ctx, filepath.Join(b.dir, "backup"), size); err != nil {
		return fmt.Errorf("store %d bytes: %w", size, err)
	}
	s, err := b.serve(ctx, "backup")
	if err != nil {
		return err
	}
	defer s.stop()
	agents, err := b.withAgents(ctx, s)
	if err != nil {
		return err
	}
	defer stop(agents)
	calls := []request{
		{method: http.MethodPost, path: "/api/patterns/bench-echo/execute", body: []byte(echoBody), want: http.StatusOK},
		{method: http.MethodGet, path: "/api/executions?pattern=seeded-3&status=completed", want: http.StatusOK},
		{method: http.MethodGet, path: "/api/patterns/bench-echo", want: http.StatusOK},
		{method: http.MethodGet, path: "/api/agents", want: http.StatusOK},
	}
	measured := func(over <-chan struct{}) (load, error) { return paceUntil(ctx, s.Host, backupCalls, over, calls...) }
	var quiet load
	for _, span := range []time.Duration{2 * time.Second, 10 * time.Second} {
		over := make(chan struct{})
		end := time.AfterFunc(b.span(span), func() { close(over) })
		quiet, err = measured(over)
		end.Stop()
		if err != nil {
			return err
		}
	}
	file := filepath.Join(b.dir, "bench.backup")
	// As the timer of the package has it.
	cmd := exec.CommandContext(ctx, "nice", "-n", "10", b.binary, "backup", "create", file, "-o", "json", "--server", "unix:"+filepath.Join(storePath(s.Dir), "admin.sock"))
	var took time.Duration
	var failed error
	spent := testbed.CPUTime(s.PID())
	over := make(chan struct{})
	go func() {
		defer close(over)
		started := time.Now()
		text, err := cmd.CombinedOutput()
		took = time.Since(started)
		if err != nil {
			failed = fmt.Errorf("backup create: %w: %s", err, text)
		}
	}()
	during, err := measured(over)
	<-over
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	spent = testbed.CPUTime(s.PID()) - spent
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	rate := float64(size) / 1e6 / took.Seconds()
	b.add("backup", fmt.Sprintf("backup create of %d MiB, proved and on disk", size>>20), rate, "%.0f MB/s", 150, false,
		fmt.Sprintf("%.1f s, a file of %d MiB", took.Seconds(), info.Size()>>20))
	b.add("backup", "CPU of the server meanwhile, calls included", spent.Seconds(), "%.1f s", 0, true,
		fmt.Sprintf("%.1f s of the command", (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()))
	b.add("backup", fmt.Sprintf("p99 of %d calls/s before", backupCalls), quiet.quantile(.99), "%.2f ms", 0, true, "")
	b.add("backup", "p99 meanwhile against before", during.quantile(.99)/quiet.quantile(.99), "%.2f", 2, true,
		fmt.Sprintf("%.2f ms; p50 %.2f ms against %.2f ms", during.quantile(.99), during.quantile(.5), quiet.quantile(.5)))
	return nil
}

// seedBytes stores executions of ten patterns with inputs of 8 KiB of text, until their records are so large.
func seedBytes(ctx context.Context, path string, size int64) error {
	s, err := store.Open(ctx, store.Options{Path: storePath(path), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	const piece, text, perWord = 100, 8 << 10, 8
	clock := &spread{now: time.Now().Add(-24 * time.Hour).UTC(), step: 24 * time.Hour / time.Duration(size/text+1)}
	ids := core.NewIDs(clock)
	words := newProse()
	var stored int64
	for n := 0; stored < size; {
		err := s.Update(ctx, func(tx core.Tx) error {
			for range piece {
				e := seeded(ids, clock, n)
				e.Input = json.RawMessage(`{"text":"` + words.text(text/perWord) + `"}`)
				if err := tx.PutExecution(e); err != nil {
					return err
				}
				n, stored = n+1, stored+text
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.Close()
}
