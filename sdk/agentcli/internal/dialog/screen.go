package dialog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of what is read from a screen.
const (
	maxOptions = 20
	maxLines   = 30 // of the text above the options
)

// optionLine is a row with an option: a marker or nothing, a number, and a label.
var optionLine = regexp.MustCompile(`^\s*(\S?)\s*([1-9][0-9]?)[.)]\s+(\S.*?)\s*$`)

// OnScreen reads a dialog that nobody announced from the rows of a screen: the lowest list of numbered options, counted from
// 1, of which one bears the marker of the CLI, and the text above it. False if there is none. A list without the marker is
// something that the agent said.
func OnScreen(rows []string, marker string) (text string, options []runtime.Option, ok bool) {
	for end := len(rows); end > 0; {
		first, last := lastList(rows[:end])
		if first < 0 {
			return "", nil, false
		}
		if options = optionsOf(rows[first:last+1], marker); options != nil {
			return above(rows[:first]), options, true
		}
		end = first
	}
	return "", nil, false
}

// ScreenPrompt makes the prompt of a dialog, or of a screen on which none is recognised, that nobody announced. Its options
// have their numbers as ids.
func ScreenPrompt(id string, rows []string, marker string) *runtime.Prompt {
	p := &runtime.Prompt{ID: id, Kind: runtime.PromptQuestion}
	text, options, ok := OnScreen(rows, marker)
	if !ok {
		text = above(rows)
	}
	p.Text, p.Options = cut(text), options
	if p.Text == "" {
		p.Text = "The agent waits for something: see its terminal."
	}
	return p
}

// lastList returns the rows from option 1 to the last option of the lowest list, or -1.
func lastList(rows []string) (first, last int) {
	want := 0
	last = -1
	for i := len(rows) - 1; i >= 0; i-- {
		m := optionLine.FindStringSubmatch(unboxed(rows[i]))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2]) // two digits
		switch {
		case last < 0 || n > want: // of another list
			last, want = i, n
		case n < want:
			continue
		}
		if n == 1 {
			return i, last
		}
		want = n - 1
	}
	return -1, -1
}

// optionsOf returns the options of a list, or nil if none bears the marker or there is only one.
func optionsOf(rows []string, marker string) []runtime.Option {
	var options []runtime.Option
	marked := false
	for _, row := range rows {
		row = unboxed(row)
		m := optionLine.FindStringSubmatch(row)
		switch {
		case m != nil && m[2] == strconv.Itoa(len(options)+1) && len(options) < maxOptions:
			options = append(options, runtime.Option{ID: m[2], Label: m[3]})
			marked = marked || m[1] == marker
		case len(options) > 0 && strings.TrimSpace(row) != "" && strings.HasPrefix(row, "   "): // the label goes on
			o := &options[len(options)-1]
			o.Label = cut(o.Label + " " + strings.TrimSpace(row))
		}
	}
	if !marked || len(options) < 2 {
		return nil
	}
	return options
}

// above returns the text of the lowest rows, up to a rule over the whole width.
func above(rows []string) string {
	var lines []string
	for i := len(rows) - 1; i >= 0 && len(lines) < maxLines; i-- {
		line := strings.TrimRight(unboxed(rows[i]), " ")
		if isRule(line) {
			if len(lines) > 0 {
				break
			}
			continue
		}
		if line != "" || len(lines) > 0 {
			lines = append([]string{line}, lines...)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// isRule tells whether a row is nothing but a line.
func isRule(row string) bool {
	row = strings.TrimSpace(row)
	return len(row) > 0 && strings.Trim(row, "─━═╌┄-╭╮╰╯┌┐└┘▔▁") == ""
}

// unboxed cuts the sides of a box off a row.
func unboxed(row string) string {
	row = strings.TrimRight(row, " \u00a0")
	for _, side := range []string{"│", "┃", "║"} {
		if cut, ok := strings.CutPrefix(strings.TrimLeft(row, " "), side); ok {
			row = strings.TrimRight(strings.TrimSuffix(cut, side), " \u00a0")
			break
		}
	}
	return strings.ReplaceAll(row, "\u00a0", " ")
}
