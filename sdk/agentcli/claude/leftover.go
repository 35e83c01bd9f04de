package claude

import (
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

// leftover reports whether the input line still holds the last message: claude may show one again that it took while
// the machine was busy, and the next message would be added to it. Other text is somebody's draft, which the
// session knows of, or claude's own hint.
func leftover(rows []string, last string) bool {
	first, _, _ := strings.Cut(visible(strings.TrimSpace(last)), "\n")
	line := lineAt(rows)
	if line < 0 || first == "" { // of a message that is not shown nothing can be seen
		return false
	}
	text := visible(strings.TrimPrefix(strings.TrimSpace(lineText(rows[line])), noCommand))
	return text != "" && (strings.HasPrefix(first, text) || strings.HasPrefix(text, first))
}

// mark begins the input line, and edge the rows above and below it.
const mark, edge = "❯", "──"

// lineAt returns the row in which the input line begins, or -1.
func lineAt(rows []string) int {
	for i := len(rows) - 1; i > 0; i-- {
		if strings.HasPrefix(rows[i], mark) && strings.HasPrefix(rows[i-1], edge) {
			return i
		}
	}
	return -1
}

// lineText returns what a row of the input line says. On a busy machine claude may draw the line over an edge of its box, and
// skip what it takes for blank there: the edge shows between the words.
func lineText(row string) string {
	return strings.ReplaceAll(strings.TrimPrefix(row, mark), "─", " ")
}

var _ agentcli.Lined = (*driver)(nil)

// InputLine implements agentcli.Lined.
func (d *driver) InputLine(rows []string) (string, bool) {
	line := lineAt(rows)
	if line < 0 {
		return "", false
	}
	lines := []string{lineText(rows[line])}
	for _, row := range rows[line+1:] {
		if strings.HasPrefix(row, edge) || strings.HasPrefix(row, mark) {
			break
		}
		lines = append(lines, row)
	}
	return strings.Join(lines, " "), true
}

// ClearLine implements agentcli.Lined: from its end, line after line.
func (d *driver) ClearLine() []agentcli.Step {
	lines := composer.ClearLines + min(d.sent.lines, maxClear)
	return []agentcli.Step{
		{Write: []byte(keyLineEnd + strings.Repeat(keyKillLine+keyBackspace, lines)), Wait: clearGap},
		{Write: []byte(keyBackspace), Wait: clearGap},
	}
}
