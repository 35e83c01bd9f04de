package gemini

import (
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

const (
	belowComposer = 40 // rows that may be below the composer's first one: a long message, completions, the footer
	aboveComposer = 5  // rows above it, of which one tells what gemini does
	shownEnd      = 16 // bytes of a message by whose end it is known
)

// emptyTexts are what gemini draws in a composer without text.
var emptyTexts = []string{"Type your message", "Type your shell command", "Press 'Esc' for NORMAL mode", "Press 'i' for INSERT mode"}

// composerAt returns the row of the composer's first line, or -1 if it is not on the screen. Dialogs take its place, and
// what was said before stands above it.
func composerAt(rows []string) int {
	for len(rows) > 0 && strings.TrimSpace(rows[len(rows)-1]) == "" {
		rows = rows[:len(rows)-1]
	}
	for i := len(rows) - 1; i >= max(0, len(rows)-belowComposer); i-- {
		row := strings.TrimSpace(rows[i])
		if row == "" {
			continue
		}
		switch first, rest, _ := strings.Cut(row, " "); first {
		case ">", "*", "!", "(r:)":
			if held(rest) || i > 0 && lined(rows[i-1]) {
				return i
			}
		case "✦", "ℹ", "✕", "⚠", "✓":
			return -1 // what was said
		}
		if strings.ContainsAny(row, "╭╮╰╯│") {
			return -1 // a dialog, or a tool
		}
	}
	return -1
}

// held reports whether a line's text is one of emptyTexts.
func held(text string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(emptyTexts, func(words string) bool { return strings.HasPrefix(text, words) })
}

// lined reports whether a row is the upper edge of the composer.
func lined(row string) bool {
	row = strings.TrimSpace(row)
	return row != "" && (strings.Trim(row, "▄") == "" || strings.Trim(row, "─") == "")
}

// underlined reports whether a row is the lower edge of the composer.
func underlined(row string) bool {
	row = strings.TrimSpace(row)
	return row != "" && (strings.Trim(row, "▀") == "" || strings.Trim(row, "─") == "")
}

var _ agentcli.Lined = (*driver)(nil)

// InputLine implements agentcli.Lined. A blank row ends a composer without edges, and so a message with one is not read whole there.
func (d *driver) InputLine(rows []string) (string, bool) {
	at := composerAt(rows)
	if at < 0 {
		return "", false
	}
	_, first, _ := strings.Cut(strings.TrimSpace(rows[at]), " ")
	below := rows[at+1:]
	edged := at > 0 && lined(rows[at-1]) && slices.ContainsFunc(below, underlined)
	end := slices.IndexFunc(below, func(row string) bool { return underlined(row) || !edged && strings.TrimSpace(row) == "" })
	if end < 0 {
		end = len(below)
	}
	return strings.TrimSpace(strings.Join(append([]string{first}, below[:end]...), " ")), true
}

// written reports whether text stands in the composer. An Enter that comes before gemini has drawn a paste submits what stood
// there before it, without the paste.
func (d *driver) written(rows []string) bool {
	line, ok := d.InputLine(rows)
	return ok && strings.TrimSpace(line) != "" && !held(line)
}

// shows reports whether the end of a message stands in the composer, or that gemini shows in its place.
func (d *driver) shows(rows []string, text string) bool {
	line, ok := d.InputLine(rows)
	words := strings.Join(strings.Fields(text), "")
	return ok && (strings.Contains(strings.Join(strings.Fields(line), ""), words[max(0, len(words)-shownEnd):]) || strings.Contains(line, "[Pasted Text"))
}

// ClearLine implements agentcli.Lined.
func (d *driver) ClearLine() []agentcli.Step { return composer.Clear(composer.Backspace, "") }

// working reports whether the line above the composer at a row says that a turn can be cancelled.
func working(rows []string, composer int) bool {
	for _, row := range rows[max(0, composer-aboveComposer):composer] {
		if strings.Contains(row, "(esc to cancel") {
			return true
		}
	}
	return false
}
