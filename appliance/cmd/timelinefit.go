package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
)

// timelineLine is one line of a drawing: a row, or the number of rows left out at its place.
type timelineLine struct {
	node   *timelineNode // nil: hidden rows
	row    []piece
	guide  string // before the number
	hidden int
	busy   int // of the hidden ones, those that run
}

// lines returns all rows.
func (tree *timelineTree) lines(s *timelineStyle) []timelineLine {
	lines := make([]timelineLine, len(tree.rows))
	for i, n := range tree.rows {
		lines[i] = timelineLine{node: n, row: s.left(tree, n)}
	}
	return lines
}

// fit returns the rows that matter most in at most height lines: open questions, what runs, what failed, then what
// ended last, each with the steps around it. What is left out is counted at its place.
func (tree *timelineTree) fit(s *timelineStyle, height int) []timelineLine {
	if len(tree.rows) <= height {
		return tree.lines(s)
	}
	order := slices.Clone(tree.rows)
	slices.SortStableFunc(order, func(a, b *timelineNode) int {
		ra, rb := a.rank(), b.rank()
		if ra != rb || ra <= rankRuns {
			return cmp.Compare(ra, rb)
		}
		return cmp.Compare(b.index, a.index)
	})
	for budget := height; budget > 0; {
		shown := tree.choose(order, budget)
		lines := tree.gather(shown)
		if len(lines) <= height {
			for i := range lines {
				if lines[i].node != nil {
					lines[i].row = s.left(tree, lines[i].node)
				}
			}
			return lines
		}
		budget -= max(len(lines)-height, 1)
	}
	return nil
}

// Ranks of rows, the most wanted first.
const (
	rankQuestion = iota
	rankRuns
	rankFailed
	rankStep // at the top level, finished
	rankRest
	rankRole
)

func (n *timelineNode) rank() int {
	e := n.entry
	if e == nil {
		if n.parent != nil {
			return n.parent.rank() // a hint goes with what it is about
		}
		return rankRole
	}
	switch {
	case e.Kind == client.TimelineRole:
		return rankRole
	case e.Status == client.QuestionOpen:
		return rankQuestion
	case e.EndedAt == nil:
		return rankRuns
	case e.Kind == client.TimelineStep && statusStyle(e.Status) == styleBad:
		return rankFailed
	case e.Kind == client.TimelineStep && n.parent == nil:
		return rankStep
	}
	return rankRest
}

// choose marks up to budget rows in the order of their rank, each with those around it.
func (tree *timelineTree) choose(order []*timelineNode, budget int) []bool {
	shown := make([]bool, len(tree.rows))
	for _, n := range order {
		more := 0
		for at := n; at != nil && !shown[at.index]; at = at.parent {
			more++
		}
		if more > budget {
			continue
		}
		for at := n; at != nil && !shown[at.index]; at = at.parent {
			shown[at.index] = true
		}
		if budget -= more; budget == 0 {
			break
		}
	}
	return shown
}

// gather lists the shown rows with a line for each gap between them.
func (tree *timelineTree) gather(shown []bool) []timelineLine {
	var lines []timelineLine
	gap := -1 // index of the line that counts the present gap
	for i, n := range tree.rows {
		if shown[i] {
			lines, gap = append(lines, timelineLine{node: n}), -1
			continue
		}
		if gap < 0 {
			gap = len(lines)
			lines = append(lines, timelineLine{guide: n.guide[:len(n.guide)-3]})
		}
		lines[gap].hidden++
		if n.runs() {
			lines[gap].busy++
		}
	}
	return lines
}

// draw renders lines, each as one line of text. late is how long ago the timeline was read.
func (tree *timelineTree) draw(s *timelineStyle, lines []timelineLine, late time.Duration) []string {
	longest := 0
	for i := range lines {
		if n := lines[i].node; n != nil && n.entry != nil {
			longest = max(longest, rowWidth(lines[i].row))
		}
	}
	s.widest = max(s.widest, longest)
	at := s.columns(s.widest)
	out := make([]string, len(lines))
	var b strings.Builder
	for i := range lines {
		b.Reset()
		if l := &lines[i]; l.node != nil {
			if l.node.entry != nil && l.node.runs() {
				l.row[1] = s.mark(l.node.entry) // the spinner goes on
			}
			s.render(&b, tree, l.node, l.row, at, late)
		} else {
			s.gap(&b, l)
		}
		out[i] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// gap renders the number of rows left out.
func (s *timelineStyle) gap(b *strings.Builder, l *timelineLine) {
	guide := l.guide
	if s.unicode {
		guide = guides.Replace(guide)
	}
	text := fmt.Sprintf("%s%s %d more", guide, pick(s.unicode, "⋮", ":"), l.hidden)
	switch {
	case l.busy == l.hidden:
		text += ", all running"
	case l.busy > 0:
		text += fmt.Sprintf(", %d of them running", l.busy)
	}
	if s.width > 0 {
		text = fitColumns(text, s.width, s.unicode)
	}
	b.WriteString(s.paint(styleFaint, text))
}

func rowWidth(row []piece) int {
	width := 0
	for _, p := range row {
		width += uniseg.StringWidth(p.text)
	}
	return width
}
