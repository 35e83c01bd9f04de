package claude

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

// spare is a message that may yet come, and is not to run: it was taken, and typed once more before that was seen, or its caller was
// answered that it was not delivered. What claude takes comes in the order in which it was typed.
type spare struct {
	text string    // without white space
	n    int       // how often it may come
	left bool      // the line may hold it
	over time.Time // when it is not waited for any more: the same text is meant then
}

// spareTime is how long a message that is not to run may be on its way.
const spareTime = 2 * time.Minute

// over ends the message that was submitted last, of which so many were taken beside those that were refused.
func (s *submission) over(taken int, now time.Time) {
	text, n := composer.Solid(s.last), -taken-s.turned
	left := false
	for i, w := range s.ways {
		w.shut.Store(true)
		if w.entered.Load() {
			n++
		}
		left = left || i > 0 && w.begun.Load()
	}
	if s.spare.text == text {
		n += s.spare.n
	}
	s.text, s.ways, s.turned, s.spare = "", nil, 0, spare{text: text, n: max(n, 0), left: left, over: now.Add(spareTime)}
}

// isSpare reports whether a prompt is that of a message which is not to run, and counts it.
func (s *submission) isSpare(prompt string, now time.Time) bool {
	if s.spare.n == 0 || now.After(s.spare.over) || composer.Solid(prompt) != s.spare.text || s.text != "" && composer.Solid(s.last) == s.spare.text {
		return false
	}
	s.spare.n--
	s.spare.left = true // claude puts back what is refused
	return true
}
