package composer

import (
	"strings"
	"unicode"
)

// Sent remembers the message that was submitted last, to recognise it when the CLI tells what it took: CLIs cut
// blanks, leave characters out, and complete the names of files.
type Sent struct{ text string }

// Submit remembers a message.
func (s *Sent) Submit(text string) { s.text = text }

// Is tells whether a prompt is the remembered message.
func (s *Sent) Is(prompt string) bool { return s.text != "" && alike(prompt, s.text) }

// Pending reports whether a message was submitted that was not taken yet.
func (s *Sent) Pending() bool { return s.text != "" }

// Taken returns the remembered message if the CLI took it, and forgets it; otherwise what was taken.
func (s *Sent) Taken(prompt string) string {
	if !s.Is(prompt) {
		return prompt
	}
	text := s.text
	s.text = ""
	return text
}

// alike compares letters and digits, which no CLI touches but behind an @.
func alike(prompt, text string) bool {
	p, t := essence(prompt), essence(text)
	if p == t {
		return p != "" || strings.TrimSpace(prompt) == strings.TrimSpace(text)
	}
	before, _, names := strings.Cut(text, "@")
	return names && strings.HasPrefix(p, essence(before))
}

func essence(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}
