package chartdraw

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// TextOptions say what a terminal can show.
type TextOptions struct {
	Width int  // columns; longer lines are cut. 0: not cut, but for long texts of steps
	ASCII bool // no characters beyond ASCII of our own
}

// maxText is how many columns of a step's task or subject are shown where the width is not known.
const maxText = 100

// glyphs are what lines are drawn with.
type glyphs struct{ branch, last, down, none, arrow, dot, cut string }

var (
	boxGlyphs   = glyphs{branch: "├─ ", last: "└─ ", down: "│  ", none: "   ", arrow: " → ", dot: " · ", cut: "…"}
	plainGlyphs = glyphs{branch: "|- ", last: "`- ", down: "|  ", none: "   ", arrow: " -> ", dot: ", ", cut: "..."}
)

// textWriter gathers the lines of a drawing.
type textWriter struct {
	glyphs
	width int
	out   strings.Builder
}

// Text draws for a terminal.
func (d *Drawing) Text(opts TextOptions) string {
	w := &textWriter{glyphs: boxGlyphs, width: opts.Width}
	if opts.ASCII {
		w.glyphs = plainGlyphs
	}
	w.line(d.Name + " " + d.Version)
	columns := maxText
	if w.width > 0 {
		columns = min(columns, w.width)
	}
	for _, part := range wrap(d.Description, columns) {
		w.line(part)
	}
	if len(d.Roles) > 0 {
		w.line("")
		w.line("Roles")
		for _, role := range d.Roles {
			w.role(role, "", "")
		}
	}
	if d.Escalation != nil {
		w.line("")
		w.line("Messages")
		for _, r := range d.Rules {
			w.line(r.From + w.arrow + r.To + w.dot + about(r))
		}
		w.line(sentence(d.Escalation))
	}
	w.line("")
	w.line("Workflow")
	for _, step := range d.Steps {
		w.step(step, "", "")
	}
	return w.out.String()
}

// role draws a role and those that report to it. first is what its line begins with, rest what the lines below do.
func (w *textWriter) role(r *Role, first, rest string) {
	all := append([]string{title(r)}, details(r)...)
	w.line(first + strings.Join(all, w.dot))
	for i, report := range r.Reports {
		if i == len(r.Reports)-1 {
			w.role(report, rest+w.last, rest+w.none)
		} else {
			w.role(report, rest+w.branch, rest+w.down)
		}
	}
}

func (w *textWriter) step(s *Step, first, rest string) {
	head := s.Path + "  " + s.Kind
	if s.Branch != "" {
		head = s.Branch + "  " + head
	}
	if s.Role != "" {
		head += w.arrow + s.Role
	}
	if s.Name != "" {
		head += "  " + s.Name
	}
	if len(s.Notes) > 0 {
		head += "  [" + strings.Join(s.Notes, w.dot) + "]"
	}
	if s.Text != "" {
		head += "  " + cut(s.Text, maxText, w.cut)
	}
	w.line(first + head)
	for i, kid := range s.Steps {
		if i == len(s.Steps)-1 {
			w.step(kid, rest+w.last, rest+w.none)
		} else {
			w.step(kid, rest+w.branch, rest+w.down)
		}
	}
}

func (w *textWriter) line(text string) {
	if w.width > 0 {
		text = cut(text, w.width, w.cut)
	}
	fmt.Fprintln(&w.out, strings.TrimRight(text, " "))
}

// mostBytes is how many bytes a column may have on average: a text of more is cut without a look at all of it.
const mostBytes = 64

// cut shortens a text to a number of columns; wide characters take two.
func cut(text string, columns int, mark string) string {
	if len(text) <= columns || len(text) <= columns*mostBytes && uniseg.StringWidth(text) <= columns {
		return text
	}
	room := max(columns-uniseg.StringWidth(mark), 0)
	used, end := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if used += g.Width(); used > room {
			break
		}
		_, end = g.Positions()
	}
	return text[:end] + mark
}

// wrap breaks a text at spaces into lines of at most so many columns, where a word fits.
func wrap(text string, columns int) []string {
	var all []string
	current, used := "", 0
	for _, word := range strings.Fields(text) {
		width := uniseg.StringWidth(word)
		if used > 0 && used+1+width > columns {
			all = append(all, current)
			current, used = "", 0
		}
		if used > 0 {
			current += " "
			used++
		}
		current += word
		used += width
	}
	if used > 0 {
		all = append(all, current)
	}
	return all
}
