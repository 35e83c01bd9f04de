package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadPrinter writes what threads do, a line for each event. Longer texts go on below it.
type threadPrinter struct {
	w     io.Writer
	paint func(style, string) string
	width int // of the terminal; 0 elsewhere: nothing is wrapped
	names int // columns of the names
}

// Columns of the names at least and at most.
const (
	nameLeast = 12
	nameMost  = 24
)

func newThreadPrinter(c *cli) *threadPrinter {
	p := &threadPrinter{w: c.deps.Stdout, paint: c.painter(c.deps.Stdout), names: nameLeast}
	if width, _ := c.size(); width > 0 {
		p.width = width - 1 // terminals differ in where the cursor is after the last column
	}
	return p
}

// event writes what happened to a thread.
func (p *threadPrinter) event(name, id string, at time.Time, kind string, data json.RawMessage) {
	how, text := threadEventText(kind, data)
	p.line(at, name, id, how, threadKind(kind), text)
	if kind != client.EventThreadBlocked {
		return
	}
	d, err := (&client.ThreadEvent{ThreadEvent: wire.ThreadEvent{Type: kind, Data: data}}).Decode()
	if err == nil && d.Prompt != nil && !d.AutoAnswered {
		p.answers(id, d.Prompt)
	}
}

// state writes how a thread is.
func (p *threadPrinter) state(t *client.Thread) {
	text := ""
	if t.Prompt != nil {
		text = spaced(t.Prompt.Text, t.Prompt.Tool, inputText(t.Prompt.Input), t.Prompt.URL)
	}
	p.line(t.UpdatedAt, t.Name, t.ID, threadStyle(t.Status, t.StatusReason), "is "+t.Status, spaced(t.StatusReason, text))
	if t.Prompt != nil && !threadOver(t.Status) {
		p.answers(t.ID, t.Prompt)
	}
}

// note writes something that is of no thread.
func (p *threadPrinter) note(text string) {
	_, _ = fmt.Fprintln(p.w, p.paint(styleFaint, clean(text))) // a closed stdout ends the command by a signal
}

// answers writes the options of a prompt and the command that answers it.
func (p *threadPrinter) answers(id string, prompt *client.ManagedPrompt) {
	var ids []string
	for _, o := range prompt.Options {
		_, _ = fmt.Fprintf(p.w, "    %s  %s\n", clean(o.ID), clean(o.Label))
		ids = append(ids, clean(o.ID))
	}
	choice := cmp.Or(strings.Join(ids, "|"), "--text TEXT")
	_, _ = fmt.Fprintf(p.w, "    answer it: wardroom thread answer %s %s\n", clean(id), choice)
}

func (p *threadPrinter) line(at time.Time, name, id string, how style, word, text string) {
	name = cmp.Or(name, id)
	name = fitColumns(clean(name), nameMost, false)
	p.names = max(p.names, uniseg.StringWidth(name))
	word = fmt.Sprintf("%-15s", clean(word))
	head := fmt.Sprintf("%s %s%s ", at.Local().Format("15:04:05"), name, strings.Repeat(" ", p.names-uniseg.StringWidth(name)))
	indent := uniseg.StringWidth(head) + len(word) + 1
	lines := wrapColumns(text, p.width-indent)
	if len(lines) == 0 {
		lines = []string{""}
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(head+p.paint(how, word)+" "+lines[0], " ") + "\n")
	for _, more := range lines[1:] {
		b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+more, " ") + "\n")
	}
	_, _ = io.WriteString(p.w, b.String())
}

// leastColumns is the narrowest column that text is wrapped in.
const leastColumns = 20

// wrapColumns breaks a text into lines of so many columns at most, at spaces where there are some. Its own line
// breaks stay; control characters do not. 0 columns and less wrap nothing.
func wrapColumns(text string, columns int) []string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.ReplaceAll(cleanLine(line), "\t", "    ")
		if columns <= 0 || uniseg.StringWidth(line) <= columns {
			out = append(out, line)
			continue
		}
		out = append(out, wrapLine(line, max(columns, leastColumns))...)
	}
	return out
}

func wrapLine(line string, columns int) []string {
	var out []string
	for uniseg.StringWidth(line) > columns {
		used, end, space := 0, 0, -1
		for g := uniseg.NewGraphemes(line); g.Next(); {
			if used += g.Width(); used > columns {
				break
			}
			var from int
			from, end = g.Positions()
			if g.Str() == " " && from > 0 {
				space = from
			}
		}
		if rest := line[end:]; space < 0 || strings.HasPrefix(rest, " ") {
			space = end // a word without spaces, or one that ends just here
		}
		if space == 0 {
			break // a sign that is wider than the column
		}
		out = append(out, strings.TrimRight(line[:space], " "))
		line = strings.TrimLeft(line[space:], " ")
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
