package threads

import (
	"cmp"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/report"
)

// Bounds of what an agent says while a turn runs.
const (
	outputInterval = 100 * time.Millisecond // between two thread_output of a turn
	maxPending     = 256 << 10              // bytes that wait for that; what is beyond is cut
	maxPieces      = 256                    // kept of a turn, to tell nothing twice
)

// setSpeech replaces what was said by what fn makes of a copy of it.
func (c *change) setSpeech(fn func(s *core.ThreadSpeech)) {
	next := core.ThreadSpeech{}
	if c.rec.Speech != nil {
		next = *c.rec.Speech
	}
	fn(&next)
	c.rec.Speech = &next
}

// onMessage handles what an agent said while its turn runs. It is reported at most each outputInterval: what comes in
// between waits for the next time, or for the end of the turn.
func (c *change) onMessage(sig *core.AgentSignal) {
	if sig.Text == "" {
		return
	}
	c.rec.LastText = clip.Text(sig.Text, maxText)
	c.say(sig.Text, sig.Truncated)
	if c.report(sig.Text) {
		c.setSpeech(func(s *core.ThreadSpeech) { s.Reported = true })
	}
	if untilOutput(c.rec.Speech, c.now) <= 0 {
		c.tellOutput()
	}
}

// say keeps text for the next thread_output.
func (c *change) say(text string, truncated bool) {
	c.setSpeech(func(s *core.ThreadSpeech) {
		pieces := append(s.Pieces[:len(s.Pieces):len(s.Pieces)], clip.Text(text, maxText))
		size := 0
		for i := len(pieces) - 1; i >= 0; i-- {
			if size += len(pieces[i]); size > maxText || len(pieces)-i > maxPieces {
				pieces = pieces[i+1:]
				break
			}
		}
		if len(pieces) == 0 {
			pieces = []string{clip.Text(text, maxText)}
		}
		s.Pieces = pieces
		if s.Pending != "" && !strings.HasSuffix(s.Pending, "\n") {
			s.Pending += "\n"
		}
		room := max(0, maxPending-len(s.Pending))
		s.Cut = s.Cut || truncated || len(text) > room
		s.Pending += clip.Text(text, room)
	})
}

// untilOutput is how long it is until what was said may be told. A clock that was set back does not hold it.
func untilOutput(s *core.ThreadSpeech, now time.Time) time.Duration {
	if s == nil || s.ToldAt.After(now) {
		return 0
	}
	return max(0, s.ToldAt.Add(outputInterval).Sub(now))
}

// tellOutput reports what was said and not told yet.
func (c *change) tellOutput() {
	s := c.rec.Speech
	if s == nil || s.Pending == "" {
		return
	}
	turn := c.rec.TurnCount + c.rec.FailedTurns + 1
	c.event(core.EventThreadOutput, outputData{Text: s.Pending, Turn: turn, Truncated: s.Cut})
	c.setSpeech(func(s *core.ThreadSpeech) { s.Pending, s.Cut, s.ToldAt = "", false, c.now })
}

// endSpeech tells the rest of a turn: what waits, and of its whole text what was not said in pieces before.
func (c *change) endSpeech(text string, truncated bool) {
	if rest := untold(text, c.rec.Speech); rest != "" {
		if c.rec.Speech == nil || !c.rec.Speech.Reported {
			c.report(text)
		}
		c.say(rest, truncated)
	}
	c.tellOutput()
	if c.rec.Speech != nil {
		c.rec.Speech = &core.ThreadSpeech{ToldAt: c.rec.Speech.ToldAt}
	}
}

// untold returns what of the text of a turn was not said in pieces: the text without those that it begins with, one
// after the other. White space does not count.
func untold(text string, said *core.ThreadSpeech) string {
	rest := strings.TrimSpace(text)
	if said == nil {
		return rest
	}
	for _, piece := range said.Pieces {
		rest = strings.TrimSpace(withoutPrefix(rest, piece))
	}
	if rest != "" && strings.Contains(words(strings.Join(said.Pieces, " ")), words(rest)) {
		return ""
	}
	return rest
}

// withoutPrefix returns text without the words of prefix, or text if it does not begin with them.
func withoutPrefix(text, prefix string) string {
	rest := text
	for word := range strings.FieldsSeq(prefix) {
		after, ok := strings.CutPrefix(strings.TrimSpace(rest), word)
		if !ok {
			return text
		}
		rest = after
	}
	return rest
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// report takes in what the agent reports of its outcome, and reports whether it did. Its last word on each thing
// counts, and what it leaves out stays as it was; what it made adds up. A report that the work goes on takes an earlier
// end back, and keeps what was reported with that.
func (c *change) report(text string) bool {
	said, ok := report.Read(text)
	if !ok {
		return false
	}
	if old := c.rec.Report; old != nil {
		said.Summary = cmp.Or(said.Summary, old.Summary)
		said.Tests = cmp.Or(said.Tests, old.Tests)
		said.Artifacts = addUp(old.Artifacts, said.Artifacts)
	}
	for _, finding := range said.Decisions {
		c.note(core.DecisionFinding, finding, nil)
	}
	c.rec.Report = &said
	return true
}
