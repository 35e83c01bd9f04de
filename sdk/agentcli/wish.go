package agentcli

import (
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// redoGrace is how long after a recovery what was wished before it may show its effect.
const redoGrace = time.Second

// wish is what somebody wanted of the turn that runs and was told that it is done, until it shows an effect: keys wait for
// their dialog to be drawn, and are pressed again where a busy CLI took none. A process that ends meanwhile leaves that to
// the next one.
type wish struct {
	Prompt string          `json:"prompt,omitempty"` // that Answer is for
	Answer *runtime.Answer `json:"answer,omitempty"`
	Stop   int             `json:"stop,omitempty"` // number of the turn that is to be interrupted; 0: none
}

// giveAnswer answers the open prompt, and stores the answer before whoever gives it hears that it is taken.
func (s *session) giveAnswer(p *runtime.Prompt, answer runtime.Answer) ([]Step, error) {
	before := s.wish
	s.wish.Prompt, s.wish.Answer = p.ID, &answer
	steps, err := s.driver.Answer(p, answer)
	if err != nil {
		s.wish = before // of an answer that is on its way
		return nil, err
	}
	s.dirty = true
	s.store()
	return steps, nil
}

// stopTurn interrupts the turn that runs, and stores that this is wanted.
func (s *session) stopTurn() []Step {
	s.wish.Stop = s.agent.Turn + 1
	s.dirty = true
	s.store()
	if d, ok := s.driver.(Interrupter); ok {
		return d.Interrupt()
	}
	return []Step{{Write: []byte("\x1b")}}
}

// redo does again what an earlier process was asked for, if it had no effect.
func (s *session) redo() {
	var steps []Step
	switch p, w := s.agent.Prompt, s.wish; {
	case p != nil && w.Answer != nil && w.Prompt == p.ID:
		var err error
		if steps, err = s.giveAnswer(p, *w.Answer); err != nil {
			s.logger.Warn("the answer to a prompt cannot be given again", "prompt", p.ID, "error", err)
		}
	case s.fusion.turn != nil && w.Stop == s.agent.Turn+1:
		steps = s.stopTurn()
	}
	if len(steps) > 0 {
		s.typist.put(&typing{steps: steps, done: func(error, uint64) {}})
	}
}
