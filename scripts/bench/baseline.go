package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// storePath is where the core keeps its store inside a data directory.
func storePath(data string) string { return filepath.Join(data, "store") }

// baselines measures what the machine gives to everybody: a synced append to a file, and a synced
// transaction of one small event with no other to share its fsync.
func (b *bench) baselines(ctx context.Context) error {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 512)
	n, start := 0, time.Now()
	for time.Since(start) < b.span(2*time.Second) && ctx.Err() == nil {
		if _, err := f.Write(block); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		n++
	}
	b.add("baseline", "write and fsync of 512 bytes", float64(n)/time.Since(start).Seconds(), "%.0f/s", 0, false, "")

	s, err := store.Open(ctx, store.Options{Path: filepath.Join(b.dir, "baseline"), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	n, start = 0, time.Now()
	for time.Since(start) < b.span(2*time.Second) && ctx.Err() == nil {
		err := s.Update(ctx, func(tx core.Tx) error {
			return tx.Append(core.Event{Type: core.EventTaskCompleted, Subject: fmt.Sprint("exec_", n), Time: start, Data: []byte(`{}`)})
		})
		if err != nil {
			return err
		}
		n++
	}
	b.commitPerSecond = float64(n) / time.Since(start).Seconds()
	b.add("baseline", "synced transactions, one writer", b.commitPerSecond, "%.0f/s", 0, false, "")
	return s.Close()
}
