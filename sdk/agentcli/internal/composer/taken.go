package composer

import (
	"strings"
	"time"
	"unicode"
)

// Flight is how long a submitted message may be on its way into a prompt.
const Flight = 15 * time.Second

// RefusalReason is why a prompt is refused that is the message with something else.
const RefusalReason = "This prompt was mixed up with other input. It is sent once more."

// Sent remembers the message that was submitted last, to recognise it when the CLI tells what it took: CLIs cut
// blanks, leave characters out, and complete the names of files.
type Sent struct{ text string }

// Submit remembers a message.
func (s *Sent) Submit(text string) { s.text = text }

// Is reports whether a prompt is the remembered message.
func (s *Sent) Is(prompt string) bool { return s.text != "" && alike(prompt, s.text) }

// Pending reports whether a message was submitted that was not taken yet.
func (s *Sent) Pending() bool { return s.text != "" }

// Mixed reports whether a prompt is a message with something else, such as what somebody left in the line, or keys that a busy
// CLI took for text: the model is not to see that. What somebody else asked meanwhile is not.
func Mixed(prompt, message string) bool {
	sent, got := Solid(Plain(message)), Solid(prompt)
	switch {
	case sent == "" || got == sent:
		return false
	case strings.ContainsFunc(prompt, isKey): // no message has them
		rest := Solid(Plain(prompt))
		return rest == "" || strings.Contains(rest, sent)
	case strings.Contains(sent, "@") && alike(prompt, message): // the name of a file was completed
		return false
	}
	return strings.HasPrefix(got, sent) || strings.HasSuffix(got, sent)
}

func isKey(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }

// Solid returns a text without white space, of which CLIs change some.
func Solid(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

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
