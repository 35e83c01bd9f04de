package main

import (
	"bytes"
	"context"
	"sync"
	"time"

	api "github.com/wardroom/wardroom/sdk/client"
)

// blockedSigns are what the command lines write to their terminals when they wait for an answer.
var blockedSigns = map[string][]byte{
	"claude": []byte("Do you want to"),
	"codex":  []byte("\x1b]7501;state=blocked"),
	"gemini": []byte("\x1b]0;✋"),
}

// signs reads an agent's terminal for a sign: the first that anybody outside the agent can know.
type signs struct {
	v    *viewer
	sign []byte
	done chan struct{}

	mu    sync.Mutex
	first time.Time // when the sign was read; zero: it was not since the last reset
}

func watchSigns(ctx context.Context, c *api.Client, id string, sign []byte) (*signs, error) {
	address, header := c.TerminalRequest(id)
	v, err := view(ctx, address, header)
	if err != nil {
		return nil, err
	}
	s := &signs{v: v, sign: sign, done: make(chan struct{})}
	go s.read()
	return s, nil
}

// read ends with the terminal. A sign may be cut by a frame.
func (s *signs) read() {
	defer close(s.done)
	var tail []byte
	for {
		frame, err := s.v.Recv()
		if err != nil {
			return
		}
		now := time.Now()
		tail = append(tail, frame.Data...)
		if bytes.Contains(tail, s.sign) {
			s.mu.Lock()
			if s.first.IsZero() {
				s.first = now
			}
			s.mu.Unlock()
			tail = tail[:0]
		}
		if keep := len(s.sign) - 1; len(tail) > keep {
			tail = append(tail[:0], tail[len(tail)-keep:]...)
		}
	}
}

func (s *signs) reset() {
	s.mu.Lock()
	s.first = time.Time{}
	s.mu.Unlock()
}

// since returns how long after the sign, or after another moment if that was earlier, t was.
func (s *signs) since(t, other time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.first.IsZero() && s.first.Before(other) {
		other = s.first
	}
	return t.Sub(other)
}

func (s *signs) stop() {
	_ = s.v.Close()
	<-s.done
}
