package agentcli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
)

const (
	checkEvery = 250 * time.Millisecond // between two checkpoints at least
	checkShare = 20                     // checkpoints take at most one part in so many of the time
	maxNote    = 4 << 20                // bytes, as Checkpointer has it
)

// checkpoint decides when the screen is kept for a later process. The session's loop owns it.
type checkpoint struct {
	offset uint64 // of the last one
	next   time.Time
	busy   bool
	timer  func()
}

// moved handles that output came: a checkpoint follows soon.
func (c *checkpoint) moved(s *session) {
	if c.busy || c.timer != nil {
		return
	}
	c.timer = s.after(max(time.Until(c.next), checkEvery/2), func() {
		c.timer = nil
		c.save(s)
	})
}

// save keeps the screen, without holding up the loop.
func (c *checkpoint) save(s *session) {
	if c.busy || c.offset == s.display.offset() {
		return
	}
	state, err := json.Marshal(s.state())
	if err != nil {
		return
	}
	c.busy = true
	begin := time.Now()
	var offset uint64
	s.do(func() {
		if offset, err = s.keepScreen(s.ctx, state); err != nil && s.ctx.Err() == nil {
			s.logger.Debug("the screen is not kept", "error", err)
		}
	}, func() {
		c.busy = false
		cost := time.Since(begin)
		c.next = time.Now().Add(max(checkEvery, checkShare*cost))
		if err == nil {
			c.offset = offset
		}
		if s.display.offset() != offset {
			c.moved(s)
		}
	})
}

// keepScreen stores the state and the screen where a later process finds them.
func (s *session) keepScreen(ctx context.Context, state []byte) (offset uint64, err error) {
	screen, offset := s.display.snapshot()
	note := encodeNote(state, screen)
	if cp, ok := s.proc.(Checkpointer); ok && len(note) <= maxNote {
		return offset, cp.SaveCheckpoint(ctx, offset-s.base, note)
	}
	return offset, saveScreen(s.a.dir, s.life, offset, note)
}

// saveScreen keeps a note in the agent's directory, where the launcher has no place for it, and for the last
// screen of an agent that ended.
func saveScreen(dir string, life int, offset uint64, note []byte) error {
	data, err := json.Marshal(savedScreen{Version: recordVersion, Life: life, Offset: offset, Note: note})
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, screenFile), data, false)
}

type savedScreen struct {
	Version int    `json:"version"`
	Life    int    `json:"life"`
	Offset  uint64 `json:"offset"`
	Note    []byte `json:"note"`
}

// loadScreen returns the note of a life, or none.
func loadScreen(dir string, life int) (offset uint64, note []byte) {
	data, err := durable.ReadFile(filepath.Join(dir, screenFile), 8*maxNote)
	if err != nil {
		return 0, nil
	}
	var saved savedScreen
	if json.Unmarshal(data, &saved) != nil || saved.Version != recordVersion || saved.Life != life {
		return 0, nil
	}
	return saved.Offset, saved.Note
}

// loadNote returns the checkpoint of a process that was found again.
func (s *session) loadNote(ctx context.Context) (offset uint64, state *lifeState, screen []byte) {
	var note []byte
	if cp, ok := s.proc.(Checkpointer); ok {
		at, kept, err := cp.LoadCheckpoint(ctx)
		if err != nil {
			s.logger.Warn("the checkpoint of the agent cannot be read", "error", err)
		}
		offset, note = at+s.base, kept
	}
	if at, kept := loadScreen(s.a.dir, s.life); kept != nil && (note == nil || at > offset) {
		offset, note = at, kept
	}
	if note == nil {
		return s.base, nil, nil
	}
	stateData, screen, err := decodeNote(note)
	if err != nil {
		s.logger.Warn("the checkpoint of the agent is not usable", "error", err)
		return s.base, nil, nil
	}
	return offset, decodeState(stateData, s.life), screen
}
