package roles

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// eventPage is how many stored events are read at once.
const eventPage = 500

// follow keeps up with the events of an agent until it is gone or let go.
func (s *Service) follow(a *agent) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("following an agent failed", "agent", a.id, "panic", fmt.Sprint(r))
			s.lost(a)
		}
	}()
	if !s.readStored(a) {
		return
	}
	var retry pause.Backoff
	for a.ctx.Err() == nil {
		stream, err := s.agents.ManagedAgentEvents(a.ctx, a.id, s.seqOf(a))
		if core.ErrorCode(err) == core.CodeNotFound {
			s.lost(a)
			return
		}
		if err == nil {
			err = s.consume(a, stream, &retry)
		}
		if errors.Is(err, errGone) || a.ctx.Err() != nil {
			return
		}
		if !s.pause(a.ctx, retry.Next()) {
			return
		}
	}
}

// readStored takes in what happened until now, without a word to the sink: most of it is long over. It returns
// false when the agent is gone or the service ends.
func (s *Service) readStored(a *agent) bool {
	var st state
	var retry pause.Backoff
	for {
		page, more, err := s.opts.Store.Events(a.ctx, a.id, st.seq, eventPage)
		if err != nil {
			s.log.Debug("the events of an agent cannot be read yet", "agent", a.id, "error", err)
			if !s.pause(a.ctx, retry.Next()) {
				return false
			}
			continue
		}
		for _, e := range page {
			st.fold(e)
		}
		if !more {
			break
		}
	}
	if st.seq == 0 { // events are not kept for ever, and an agent may wait for an answer for days
		if found, err := s.agents.FindManagedAgent(a.ctx, a.id); err == nil {
			st.fromRecord(found)
		}
	}
	st.read, st.began = true, 0
	s.mu.Lock()
	a.state = st
	a.touch()
	s.mu.Unlock()
	if st.gone {
		s.lost(a)
		return false
	}
	s.surface(a)
	return true
}

func (s *Service) seqOf(a *agent) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.state.seq
}

// consume takes in events as they come. It returns errGone once the agent is.
func (s *Service) consume(a *agent, stream core.EventStream, retry *pause.Backoff) error {
	defer stream.Close()
	for {
		e, err := stream.Next(a.ctx)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
				return err
			}
			s.log.Debug("the events of an agent broke off", "agent", a.id, "error", err)
			return err
		}
		retry.Reset()
		s.mu.Lock()
		h := a.state.fold(e)
		gone := a.state.gone
		s.mu.Unlock()
		s.surface(a)
		s.progress(a, e, h)
		// Who waits for the event finds that the sink received everything up to it.
		s.mu.Lock()
		a.touch()
		s.mu.Unlock()
		if gone {
			s.lost(a)
			return errGone
		}
	}
}
