package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

const (
	// maxBatch is how many changes go into the index at once.
	maxBatch = 500
	// maxPending is how many changes wait before they are dropped, and found again in the store.
	maxPending = 5000
	// overlap is how much further back than its watermark the index is caught up with: transactions end in another
	// order than their ids were made.
	overlap = time.Hour
)

// work owns the index until Close.
func (s *Service) work() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
		}
		for s.ctx.Err() == nil && s.step() {
		}
	}
}

// step does the next thing that is due, and reports whether there was one.
func (s *Service) step() bool {
	s.mu.Lock()
	ready, failed, damaged, retain := s.ready, s.failed, s.damaged, s.retain
	fill := !ready && !failed // after a failure only when the timer of the retry ran
	var batch []change
	switch {
	case fill:
		s.pending, s.lost, s.damaged = nil, false, false // all of it lies in the store
	case ready && len(s.pending) > 0:
		n := min(len(s.pending), maxBatch)
		batch, s.pending = s.pending[:n:n], s.pending[n:]
	case retain: // also without an index: nothing is kept longer for the lack of one
		s.retain = false
	default:
		s.mu.Unlock()
		return false
	}
	upTo := s.queued
	s.mu.Unlock()

	switch {
	case fill:
		err := s.catchUp(damaged)
		s.settled(upTo, err)
	case batch != nil:
		if err := s.apply(batch); err != nil {
			s.broken(err)
			return true
		}
		s.mu.Lock()
		s.done += uint64(len(batch))
		s.tell()
		s.mu.Unlock()
	default:
		if err := s.retainNow(); err != nil && s.ctx.Err() == nil {
			s.log.Warn("experiences that are too old could not be removed", "error", err)
		}
		s.mu.Lock()
		if s.open {
			s.later("retain", retainEvery, func() { s.retain = true })
		}
		s.mu.Unlock()
	}
	return true
}

// settled notes how catching up went; upTo is what was queued when it began.
func (s *Service) settled(upTo uint64, err error) {
	if err != nil && s.ctx.Err() == nil {
		s.log.Error("the index of experiences cannot be used; it is tried again", "in", retryAfter, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = true
		if s.open {
			s.later("retry", retryAfter, func() { s.failed = false })
		}
	} else {
		s.ready, s.done = !s.lost && !s.damaged, max(s.done, upTo)
	}
	s.tell()
}

// broken gives an index up that failed: it is built anew from what the store has. It does not block.
func (s *Service) broken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.damaged {
		return
	}
	s.log.Error("the index of experiences failed, and is built anew", "error", err)
	s.ready, s.damaged = false, true
	s.tell()
	s.kick()
}

// scrap closes the index and removes its files.
func (s *Service) scrap() error {
	if err := s.dropIndex(); err != nil {
		s.log.Warn("the index could not be closed", "error", err)
	}
	if s.path == "" {
		return nil
	}
	return discard(s.path)
}

// dropIndex closes the index once no search runs in it.
func (s *Service) dropIndex() error {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	if s.index == nil {
		return nil
	}
	err := s.index.close()
	s.index = nil
	return err
}

// catchUp opens the index, or makes a new one when there is none or it is damaged, and gives it what the store has and
// it has not.
func (s *Service) catchUp(damaged bool) error {
	if damaged {
		if err := s.scrap(); err != nil {
			return err
		}
	}
	if s.index == nil {
		x, err := s.openIndex()
		if err != nil {
			return err
		}
		s.indexMu.Lock()
		s.index = x
		s.indexMu.Unlock()
	}
	err := s.fill()
	if err != nil && s.ctx.Err() == nil {
		err = errors.Join(err, s.scrap()) // what is wrong may lie in the files; they cost only time
	}
	return err
}

func (s *Service) openIndex() (*index, error) {
	if s.path == "" {
		return create("")
	}
	x, err := load(s.path)
	if err == nil {
		return x, nil
	}
	if _, missing := os.Stat(s.path); !errors.Is(missing, fs.ErrNotExist) { // else it is the first start
		s.log.Info("the index of experiences is built anew", "path", s.path, "because", hclog.Quote(err.Error()))
	}
	if err := discard(s.path); err != nil {
		return nil, err
	}
	return create(s.path)
}

// fill puts everything into the index that came behind its watermark, and compares the whole if they do not agree then.
func (s *Service) fill() error {
	mark, err := s.index.watermark()
	if err != nil {
		return err
	}
	after := ""
	if at, ok := core.IDTime(mark); ok {
		after = core.IDBound(core.PrefixMemory, at.Add(-overlap))
	}
	if _, err := s.walkInto(after, nil); err != nil {
		return err
	}
	have, err := s.index.count()
	if err != nil {
		return err
	}
	newest, info, err := s.store.FindExperiences(s.ctx, core.ExperienceFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		return err
	}
	// A store that was restored from an older dump may have as many others.
	restored := len(newest) > 0 && newest[0].ID < mark
	if uint64(max(info.Total, 0)) == have && !restored {
		return nil
	}
	known, err := s.index.all(s.ctx)
	if err != nil {
		return err
	}
	added, err := s.walkInto("", known)
	if err != nil {
		return err
	}
	gone := slices.Collect(maps.Keys(known)) // what the walk did not meet
	s.log.Info("the index of experiences was compared with the store", "added", added, "removed", len(gone))
	for len(gone) > 0 {
		n := min(len(gone), maxBatch)
		if err := s.index.put(nil, gone[:n]); err != nil {
			return err
		}
		gone = gone[n:]
	}
	return nil
}

// walkInto puts the experiences behind an id into the index that it does not have, and takes every id that it meets out
// of known.
func (s *Service) walkInto(after string, known map[string]bool) (added int, err error) {
	var batch []*core.Experience
	flush := func() error {
		missing, err := s.index.lacks(batch)
		if err != nil || len(missing) == 0 {
			batch = batch[:0]
			return err
		}
		added += len(missing)
		batch = batch[:0]
		return s.index.put(missing, nil)
	}
	err = s.store.WalkExperiences(s.ctx, after, func(e *core.Experience) error {
		delete(known, e.ID)
		if batch = append(batch, e); len(batch) == maxBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		return s.ctx.Err()
	})
	if err == nil {
		err = flush()
	}
	return added, err
}

// apply gives changes to the index. The last one of an id counts.
func (s *Service) apply(batch []change) error {
	last := make(map[string]*core.Experience, len(batch))
	for _, c := range batch {
		if c.put != nil {
			last[c.put.ID] = c.put
		} else {
			last[c.remove] = nil
		}
	}
	var put []*core.Experience
	var remove []string
	for id, e := range last {
		if e != nil {
			put = append(put, e)
		} else {
			remove = append(remove, id)
		}
	}
	return s.index.put(put, remove)
}

// enqueue hands changes to the goroutine. More than it can hold it finds again in the store.
func (s *Service) enqueue(list ...change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(list) == 0 || !s.open {
		return // after the next start the store tells
	}
	s.queued += uint64(len(list))
	if s.pending = append(s.pending, list...); len(s.pending) > maxPending {
		s.pending, s.lost, s.ready = nil, true, false
	}
	s.kick()
}

// settle waits until the index holds all that was queued before the call. INTERNAL_ERROR with Unavailable when there is
// no index; the error of ctx.
func (s *Service) settle(ctx context.Context) error {
	s.mu.Lock()
	target := s.queued
	for {
		switch {
		case !s.open:
			s.mu.Unlock()
			return core.Unavailable("shutting_down", "the memory is closed")
		case s.failed:
			s.mu.Unlock()
			return unusable
		case s.ready && s.done >= target:
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the index of experiences: %w", ctx.Err())
		}
		s.mu.Lock()
	}
}
