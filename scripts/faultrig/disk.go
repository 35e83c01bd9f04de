package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// specialEvery is how often rounds come that have a core of their own; diskRound and poisonRound are which of them.
const (
	specialEvery = 10
	diskRound    = 5
	poisonRound  = 9
)

const (
	// diskSize is that of the small file system, in MiB: the budget of the configuration, the store's own needs, and room
	// for a round.
	diskSize = 320
	// diskRest bounds what is left of it when it is full: less than the budget, and sometimes less than a start needs.
	diskRest = 60 << 20
	// diskTurn is how long the core may take to see that the disk is full, or has room again.
	diskTurn = time.Minute
)

// disk is a small file system that the rig fills and frees.
type disk struct {
	dir     string
	counted diskCounts
}

// diskCounts counts what the rounds of a run did to their disks.
type diskCounts struct{ filled, starts int }

// errNoDisk says that this process may not mount a file system.
var errNoDisk = errors.New("a small file system cannot be mounted (it takes root)")

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill takes all that is free but for a rest.
func (d *disk) fill(rest uint64) (err error) {
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d.counted.filled++
	block := make([]byte, 64<<10)
	for {
		free, err := d.free()
		if err != nil || free <= rest {
			return err
		}
		if _, err := f.Write(block[:min(uint64(len(block)), free-rest)]); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// diskRound runs a round with a core, agents and a store of its own on a small file system, which is full for a while
// around the kill.
func (r *rig) diskRound(ctx context.Context, number int) (result roundResult, err error) {
	dir := filepath.Join(r.dir, "disk-"+strconv.Itoa(number))
	d, err := mountDisk(filepath.Join(dir, "small"), diskSize)
	if errors.Is(err, errNoDisk) {
		fmt.Fprintf(r.out, "round %3d  no small disk: %v\n", number, err)
		return r.round(ctx, number)
	}
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, d.unmount()) }()
	sub := r.sub(dir, number)
	sub.disk = d
	defer sub.end()
	if err := sub.begin(ctx); err != nil {
		return result, err
	}
	f := drawFaults(r.random, len(sub.crew.players))
	f.disk, f.full, f.clock = true, 300*time.Millisecond+time.Duration(r.random.Int64N(int64(time.Second))), clockFaults{}
	if result, err = sub.roundOf(ctx, number, f); err != nil || result.broken() {
		return result, err
	}
	r.diskCounts.filled += d.counted.filled
	r.diskCounts.starts += d.counted.starts
	r.server.memory = max(r.server.memory, sub.server.memory)
	return result, sub.close(ctx)
}

// sub returns a rig for one round, with a core and agents of its own that keep their files in dir.
func (r *rig) sub(dir string, number int) *rig {
	o := r.options
	o.shells, o.threads = 0, 0
	sub := &rig{
		options: o, out: r.out, dir: dir, name: r.name + "-s" + strconv.Itoa(number), random: r.random, bodies: map[string][32]byte{},
	}
	if r.clock != nil {
		sub.clock = testbed.NewClock(filepath.Join(dir, "clock"))
	}
	return sub
}

// full fills the disk and waits until the core takes no writes. It returns what frees it.
func (r *rig) full(ctx context.Context) error {
	if err := r.disk.fill(uint64(r.random.Int64N(diskRest))); err != nil {
		return err
	}
	return r.readiness(ctx, http.StatusServiceUnavailable)
}

// startFull starts the core on the full disk: it must come up, serve what is stored, and take no writes.
func (r *rig) startFull(ctx context.Context) error {
	if err := r.restart(ctx); err != nil {
		return fmt.Errorf("on a full disk: %w", err)
	}
	r.disk.counted.starts++
	if _, _, err := r.caller.get(ctx, "/api/executions?limit=20", &struct{}{}); err != nil {
		return fmt.Errorf("on a full disk: %w", err)
	}
	return r.full(ctx) // what the store gave back of the room that it keeps for a start is taken as well
}

// freed frees the disk and waits until the core takes writes again.
func (r *rig) freed(ctx context.Context) error {
	if err := os.Remove(r.disk.filler()); err != nil {
		return err
	}
	return r.readiness(ctx, http.StatusOK)
}

// readiness waits until the core says that it takes traffic, or that it does not.
func (r *rig) readiness(ctx context.Context, status int) error {
	for deadline := time.Now().Add(diskTurn); ; {
		answer, _, err := r.caller.once(ctx, http.MethodGet, "/api/health/ready", "", nil)
		switch {
		case err == nil && answer.status == status:
			return nil
		case r.server.Ended():
			return fmt.Errorf("on a full disk: %w", r.server.Check())
		case time.Now().After(deadline):
			return fmt.Errorf("%s after the disk was filled or freed the core says %d %s, want %d", diskTurn, answer.status, answer.body, status)
		case !pause(ctx, 20*time.Millisecond):
			return ctx.Err()
		}
	}
}
