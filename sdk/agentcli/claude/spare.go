package claude

import "github.com/wardroom/wardroom/sdk/agentcli/internal/composer"

// spare is a message that may yet come, and is not to run: it was taken, and typed once more before that was seen, or its caller was
// answered that it was not delivered. What claude takes comes in the order in which it was typed.
type spare struct {
	text string // without white space
	n    int    // how often it may come
	left bool   // the line may hold it
}

// over ends the message that was submitted last, of which so many were taken.
func (s *submission) over(taken int) {
	text, n := composer.Solid(s.last), -taken
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
	s.text, s.ways, s.spare = "", nil, spare{text: text, n: max(n, 0), left: left}
}

// isSpare reports whether a prompt is that of a message which is not to run, and counts it.
func (s *submission) isSpare(prompt string) bool {
	if s.spare.n == 0 || composer.Solid(prompt) != s.spare.text || s.text != "" && composer.Solid(s.last) == s.spare.text {
		return false
	}
	s.spare.n--
	s.spare.left = true // claude puts back what is refused
	return true
}
