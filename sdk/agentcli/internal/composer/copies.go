package composer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// AgainReason is why a prompt is refused that is a message which is not to run: it was taken before, or its caller was answered that it
// was not, and may have sent it again.
const AgainReason = "This message was taken once, or given up before it was taken. Send it again if it is to run."

// spareTime is how long a message that is not to run may be on its way.
const spareTime = 2 * time.Minute

// Copies follows a message each time that it is typed, so that it runs once, and not at all once it is given up: it is not typed any
// more then, and what of it comes later is spare. What a CLI takes comes in the order in which it was typed.
type Copies struct {
	sum    string // of the message that is on its way; "": none is
	at     time.Time
	ways   []*way // of each time that it was typed
	turned int    // how often it was refused for what came with it
	spares []Spare
}

// Spare is a message that may yet come. It is stored with the state of a driver.
type Spare struct {
	Sum string `json:"sum"`
	N   int    `json:"n,omitempty"`   // how often it may come
	Due bool   `json:"due,omitempty"` // the first that comes is to run: it was on its way when a process of the runtime ended
	Ran bool   `json:"ran,omitempty"` // it was taken once
	// Left: the line may hold it.
	Left bool      `json:"left,omitempty"`
	Over time.Time `json:"over"` // when it is not waited for any more: the same text is meant then
}

// solidSum returns a sum of a text without its white space.
func solidSum(text string) string {
	sum := sha256.Sum256([]byte(Solid(text)))
	return hex.EncodeToString(sum[:12])
}

// Submit begins with a message, or with the next time that it is typed.
func (c *Copies) Submit(text string, now time.Time) {
	if sum := solidSum(Plain(text)); sum != c.sum {
		c.sum, c.ways, c.turned = sum, nil, 0
	}
	c.at = now
}

// Type returns the steps of typing the message that was submitted, of which the last presses Enter.
func (c *Copies) Type(steps []agentcli.Step) []agentcli.Step {
	w := &way{}
	c.ways = append(c.ways, w)
	return w.guard(steps)
}

// Enter returns the steps of pressing Enter once more behind what was typed last.
func (c *Copies) Enter(steps []agentcli.Step) []agentcli.Step {
	if n := len(c.ways); n > 0 {
		return c.ways[n-1].guard(steps)
	}
	return steps
}

// Turned notes that the message was refused for what came with it, and is to be typed again.
func (c *Copies) Turned() { c.turned++ }

// Typed returns how often the message on its way was typed, and whether Enter was pressed behind it.
func (c *Copies) Typed() (times int, entered bool) {
	return len(c.ways), slices.ContainsFunc(c.ways, func(w *way) bool { return w.entered.Load() })
}

// Left reports whether the line may hold a message that is not to run.
func (c *Copies) Left() bool {
	return slices.ContainsFunc(c.spares, func(s Spare) bool { return s.Left })
}

// Over ends the message on its way, of which so many were taken beside those that were refused: the rest is spare.
func (c *Copies) Over(taken int, now time.Time) {
	n, left := -taken-c.turned, false
	for i, w := range c.ways {
		w.shut.Store(true)
		if w.entered.Load() {
			n++
		}
		left = left || i > 0 && w.begun.Load()
	}
	n += c.spared(c.sum)
	c.spares = []Spare{{Sum: c.sum, N: max(n, 0), Ran: taken > 0, Left: left, Over: now.Add(spareTime)}}
	c.sum, c.ways, c.turned = "", nil, 0
}

// spared returns how many of a message are spare.
func (c *Copies) spared(sum string) (n int) {
	for _, s := range c.spares {
		if s.Sum == sum {
			n += s.N
		}
	}
	return n
}

// IsSpare reports whether a prompt is a message that is not to run, and whether that is because it was taken before. It counts it.
func (c *Copies) IsSpare(prompt string, now time.Time) (spare, ran bool) {
	sum := solidSum(prompt)
	if sum == c.sum {
		return false, false // it was sent again
	}
	i := slices.IndexFunc(c.spares, func(s Spare) bool { return s.Sum == sum && s.N > 0 && !now.After(s.Over) })
	if i < 0 {
		return false, false
	}
	s := &c.spares[i]
	s.N--
	if s.Due {
		s.Due, s.Ran = false, true
		return false, false
	}
	s.Left = true // a CLI may put back what is refused
	return true, s.Ran
}

// Kept returns what a later process has to know, which Keep takes. Each time that a message on its way was typed may yet come.
func (c *Copies) Kept() []Spare {
	kept := slices.DeleteFunc(slices.Clone(c.spares), func(s Spare) bool { return s.N == 0 && !s.Left })
	if n := len(c.ways) - c.turned + c.spared(c.sum); c.sum != "" && n > 0 {
		kept = slices.DeleteFunc(kept, func(s Spare) bool { return s.Sum == c.sum })
		kept = append(kept, Spare{Sum: c.sum, N: n, Due: true, Left: true, Over: c.at.Add(spareTime)})
	}
	return kept
}

// Keep takes what Kept returned.
func (c *Copies) Keep(kept []Spare) { c.spares = kept }
