package claude

import "strings"

// leftover tells whether the input line still holds the last message: claude may show one again that it took while
// the machine was busy, and the next message would be added to it. Other text is somebody's draft, which the
// session knows of, or claude's own hint.
func leftover(rows []string, last string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(last), "\n")
	for i := len(rows) - 1; i > 0; i-- {
		text, ok := strings.CutPrefix(rows[i], "❯")
		if !ok || !strings.HasPrefix(rows[i-1], "──") {
			continue
		}
		text = strings.TrimSpace(text)
		return text != "" && (strings.HasPrefix(first, text) || strings.HasPrefix(text, first))
	}
	return false
}
