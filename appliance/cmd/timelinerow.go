package cmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
)

// timelineStyle is how rows are drawn.
type timelineStyle struct {
	paint   func(style, string) string
	width   int  // columns of the terminal; 0: unknown, nothing is cut
	unicode bool // the terminal shows more than ASCII
	widest  int  // the longest row drawn so far, so that columns stay where they are
	spin    int  // which picture of the spinner what runs shows; below 0 it stands still
}

// Widths, in columns.
const (
	wideTerminal    = 99 // from which on bars are drawn
	longestBar      = 60
	timelineNumbers = 9  // of a duration
	plainColumn     = 78 // where durations stand when the width is unknown and rows are shorter
)

// piece is a part of a row in one colour.
type piece struct {
	style style
	text  string
}

// Spinners.
var (
	spinUnicode = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	spinASCII   = []string{"|", "/", "-", "\\"}
)

// mark is the sign before a row that says how things stand.
func (s *timelineStyle) mark(e *client.TimelineEntry) piece {
	how := entryStyle(e.Status)
	signs := map[style][2]string{styleGood: {"✓", "+"}, styleBad: {"✗", "x"}, styleFaint: {"–", "-"}, stylePlain: {"·", "."}}
	sign, known := signs[how]
	switch {
	case rejected(e):
		sign, known, how = [2]string{"↻", "~"}, true, styleBusy
		if e.Verdict == verdictReject {
			sign, how = [2]string{"✗", "x"}, styleBad
		}
	case e.Status == client.QuestionOpen:
		sign, known = [2]string{"?", "?"}, true
	case e.EndedAt == nil && s.spin >= 0:
		return piece{styleBusy, pick(s.unicode, spinUnicode[s.spin%len(spinUnicode)], spinASCII[s.spin%len(spinASCII)])}
	case e.EndedAt == nil:
		sign, known = [2]string{"▸", ">"}, true
		how = styleBusy
	}
	if !known {
		sign = [2]string{"·", "."}
	}
	return piece{how, pick(s.unicode, sign[0], sign[1])}
}

// verdictReject is the verdict that ends work; revise sends it back.
const verdictReject = "reject"

// rejected reports whether a review or approve step did its work, and did not approve.
func rejected(e *client.TimelineEntry) bool {
	return e.Kind == client.TimelineStep && e.Verdict != "" && e.Verdict != "approve" && entryStyle(e.Status) == styleGood
}

// entryStyle is the colour of an entry's status. What was cancelled did nothing wrong.
func entryStyle(status string) style {
	if status == client.StatusCancelled {
		return styleFaint
	}
	return statusStyle(status)
}

func pick(unicode bool, yes, no string) string {
	if unicode {
		return yes
	}
	return no
}

var guides = strings.NewReplacer("|- ", "├─ ", "`- ", "└─ ", "|  ", "│  ")

// left is the part of a row that names things.
func (s *timelineStyle) left(tree *timelineTree, n *timelineNode) []piece {
	guide := n.guide
	if s.unicode {
		guide = guides.Replace(guide)
	}
	row := []piece{{styleFaint, guide}}
	e := n.entry
	if e == nil {
		how := styleFaint
		if strings.HasPrefix(n.title, "answer") {
			how = styleBusy
		}
		return append(row, piece{how, n.title})
	}
	row = append(row, s.mark(e), piece{stylePlain, " "})
	add := func(how style, text string) {
		if text = shorten(clean(strings.TrimSpace(text)), 200); text != "" {
			row = append(row, piece{how, text}, piece{stylePlain, "  "})
		}
	}
	to := pick(s.unicode, " → ", " -> ")
	again, detail := "", e.Detail
	switch e.Kind {
	case client.TimelineStep:
		add(stylePlain, e.ID+" "+e.Type)
		add(stylePlain, quoted(e.Name))
		add(stylePlain, e.Role)
		if n.task != nil {
			add(styleFaint, tree.agent(n.task))
			detail = cmp.Or(detail, n.task.Detail)
		}
		if e.Attempt > 1 {
			again = fmt.Sprintf("run %d", e.Attempt)
		}
		if e.Type == "condition" && detail != "" {
			detail = strings.TrimSpace(to) + " " + detail
		}
	case client.TimelineTask:
		add(stylePlain, tree.agent(e))
		if e.Attempt > 1 {
			again = fmt.Sprintf("attempt %d", e.Attempt)
		}
	case client.TimelineRole:
		add(stylePlain, e.Role)
		add(styleFaint, cmp.Or(tree.agents[e.AgentID], e.AgentID)+by(e))
		if entryStyle(e.Status) == styleGood {
			detail = "" // that the execution is over
		}
	case client.TimelineMessage:
		add(stylePlain, e.Role+arrow(to, e.To))
		add(stylePlain, e.Type)
	case client.TimelineEscalation:
		add(stylePlain, pick(s.unicode, "↑ ", "^ ")+clean(e.To))
	case client.TimelineQuestion:
		add(stylePlain, e.Role+" asks")
	case client.TimelineApproval:
		add(stylePlain, spaced(e.Role, quoted(e.Name), "asks to use", e.Type))
		if r := e.Ruling; r != nil {
			add(styleBusy, spaced(r.Answer+" by", r.By, r.Rule, r.Person, r.Reason))
		}
	case client.TimelineThread:
		add(stylePlain, "thread "+quoted(e.Name))
		add(stylePlain, e.Role)
		add(styleFaint, e.ID+by(&client.TimelineEntry{Type: e.Type}))
	default:
		add(stylePlain, string(e.Kind)+" "+e.ID)
	}
	add(styleFaint, again)
	if how := entryStyle(e.Status); how != styleGood && e.Status != client.StatusRunning && e.Status != client.QuestionOpen {
		add(how, e.Status)
	}
	if rejected(e) {
		how := styleBusy
		if e.Verdict == verdictReject {
			how = styleBad
		}
		add(how, strings.TrimSuffix(e.Verdict+": "+detail, ": "))
		return row[:len(row)-1]
	}
	add(styleFaint, detail)
	return row[:len(row)-1] // the last gap
}

// by returns what kind of agent serves a role, and its id unless that is its name.
func by(e *client.TimelineEntry) string {
	var parts []string
	if e.Name != "" && e.AgentID != "" {
		parts = append(parts, e.AgentID)
	}
	if e.Type != "" {
		parts = append(parts, e.Type)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func arrow(to, role string) string {
	if role == "" {
		return ""
	}
	return to + role
}

func quoted(name string) string {
	if name == "" {
		return ""
	}
	return `"` + name + `"`
}

// timelineColumns are the widths that all rows of one drawing share.
type timelineColumns struct {
	left, bar int // 0: no bars
}

// columns finds the widths for the longest of the rows, in columns.
func (s *timelineStyle) columns(longest int) timelineColumns {
	if s.width == 0 {
		return timelineColumns{left: min(longest, plainColumn)}
	}
	const gaps = 2 + timelineNumbers
	if s.width < wideTerminal {
		return timelineColumns{left: max(min(longest, s.width-gaps), 10)}
	}
	left := min(longest, max(s.width-gaps-2-longestBar, s.width*55/100))
	return timelineColumns{left: left, bar: min(s.width-left-gaps-2, longestBar)}
}

// render draws a row. late is how long ago the timeline was read: what runs has run so much longer.
func (s *timelineStyle) render(b *strings.Builder, tree *timelineTree, n *timelineNode, row []piece, at timelineColumns, late time.Duration) {
	limit := at.left
	if n.entry == nil && s.width > 0 {
		limit = s.width
	} else if s.width == 0 {
		limit = 0
	}
	used := s.write(b, row, limit)
	if n.entry == nil {
		return
	}
	took := n.entry.Duration.Duration()
	if n.runs() {
		took += late
	}
	text := lasted(took)
	fmt.Fprintf(b, "%*s  %*s", max(at.left-used, 0), "", timelineNumbers, text)
	if at.bar > 0 {
		b.WriteString("  ")
		s.bar(b, tree, n.entry, at.bar, took, late)
	}
}

// write draws pieces, cut to limit columns (0: not at all), and returns how many they took.
func (s *timelineStyle) write(b *strings.Builder, row []piece, limit int) int {
	used := 0
	for _, p := range row {
		text := p.text
		if limit > 0 {
			text = fitColumns(text, limit-used, s.unicode)
		}
		used += uniseg.StringWidth(text)
		b.WriteString(s.paint(p.style, text))
		if text != p.text {
			break
		}
	}
	return used
}

// fitColumns cuts text to so many columns of a terminal.
func fitColumns(text string, columns int, unicode bool) string {
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	return cutColumns(text, columns, pick(unicode, "…", "~"))
}

// cutColumns cuts a text that is longer to so many columns of a terminal, with tail at its end.
func cutColumns(text string, columns int, tail string) string {
	if columns < uniseg.StringWidth(tail) {
		return ""
	}
	used, end := uniseg.StringWidth(tail), 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if used += g.Width(); used > columns {
			break
		}
		_, end = g.Positions()
	}
	return text[:end] + tail
}

// bar draws when something began and ended, on an axis from the execution's begin to its end, or to now.
func (s *timelineStyle) bar(b *strings.Builder, tree *timelineTree, e *client.TimelineEntry, cells int, took, late time.Duration) {
	total := tree.length(late)
	if total <= 0 {
		return
	}
	place := func(d time.Duration) int { return int(float64(d) / float64(total) * float64(cells)) }
	begin := min(max(place(e.StartedAt.Sub(tree.from)), 0), cells-1)
	end := min(max(place(e.StartedAt.Sub(tree.from)+took), begin+1), cells)
	sign := pick(s.unicode, "█", "#")
	switch e.Kind {
	case client.TimelineMessage, client.TimelineEscalation, client.TimelineRole, client.TimelineThread:
		sign = pick(s.unicode, "─", "-")
	case client.TimelineQuestion, client.TimelineApproval:
		sign = pick(s.unicode, "░", "?")
	}
	how := entryStyle(e.Status)
	if e.Kind == client.TimelineRole {
		how = styleFaint
	}
	b.WriteString(strings.Repeat(" ", begin))
	b.WriteString(s.paint(how, strings.Repeat(sign, end-begin)))
}

// length is how long the execution took so far, from the first entry on.
func (tree *timelineTree) length(late time.Duration) time.Duration {
	t := tree.timeline
	if t.StartedAt != nil {
		total := t.StartedAt.Sub(tree.from) + t.Duration.Duration()
		if !client.Terminal(t.Status) {
			total += late
		}
		return total
	}
	return tree.longest + late
}
