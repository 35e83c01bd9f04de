package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// screen gathers what a command shows to a person.
type screen struct {
	buf   bytes.Buffer
	paint func(style, string) string
	now   time.Time
	wide  bool // columns that are left out otherwise are shown, and nothing is cut
	width int  // of the terminal; 0 elsewhere
}

// screen returns an empty screen for stdout.
func (c *cli) screen() *screen {
	return &screen{paint: c.painter(c.deps.Stdout), now: c.now(), wide: c.output == "wide", width: c.width()}
}

// width returns the columns of the terminal that stdout is; 0 if it is none.
func (c *cli) width() int {
	if f, ok := c.deps.Stdout.(*os.File); ok && isTerminal(f) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

// plain makes cells without colour.
func plain(texts ...string) []cell {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i] = cell{text: text}
	}
	return cells
}

// status makes the cell of a status word.
func status[S ~string](word S) cell { return cell{string(word), statusStyle(string(word))} }

// WriteTo writes what was gathered.
func (s *screen) WriteTo(w io.Writer) (int64, error) { return s.buf.WriteTo(w) }

// line writes one line of text.
func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(&s.buf, format+"\n", args...)
}

// table writes aligned columns below a head.
func (s *screen) table(head []string, rows [][]cell) { s.grid(head, nil, rows) }

// leastCut is the narrowest that a column is cut to, unless its head is wider.
const leastCut = 8

// grid writes aligned columns below a head. Those with a cut are no wider than that; on a terminal that is narrower than
// the table they are cut further, the widest first. Widths are those of a terminal: wide characters count twice, colours
// not at all.
func (s *screen) grid(head []string, cuts []int, rows [][]cell) {
	all := make([][]cell, 0, len(rows)+1)
	if head != nil {
		all = append(all, plain(head...))
	}
	all = append(all, rows...)
	var widths []int
	for _, row := range all {
		for i := range row {
			row[i].text = clean(row[i].text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(row[i].text))
		}
	}
	if s.wide {
		cuts = nil
	}
	for i, most := range cuts {
		if most > 0 {
			widths[i] = min(widths[i], max(most, uniseg.StringWidth(head[i])))
		}
	}
	for s.width > 0 && total(widths) > s.width {
		widest := -1
		for i, most := range cuts {
			if most > 0 && widths[i] > max(leastCut, uniseg.StringWidth(head[i])) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break // what is left is needed whole
		}
		widths[widest]--
	}
	for _, row := range all {
		var line strings.Builder
		for i, field := range row {
			if uniseg.StringWidth(field.text) > widths[i] {
				field.text = cutColumns(field.text, widths[i], "...")
			}
			line.WriteString(s.paint(field.style, field.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(field.text)+2))
			}
		}
		s.buf.WriteString(strings.TrimRight(line.String(), " "))
		s.buf.WriteByte('\n')
	}
}

// total returns the width of a table with these columns.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// due is a time to come, or nil.
type due struct{ at *time.Time }

// cell renders a value of a list: a cell as it is, a time by its age.
func (s *screen) cell(value any) cell {
	switch v := value.(type) {
	case cell:
		return v
	case string:
		return cell{text: strings.TrimSpace(v)}
	case time.Time:
		return s.cell(&v)
	case *time.Time:
		if v == nil || v.IsZero() {
			return cell{}
		}
		return cell{text: age(s.now.Sub(*v))}
	case due:
		if v.at == nil || v.at.IsZero() {
			return cell{}
		}
		if !v.at.After(s.now) {
			return cell{text: "now"}
		}
		return cell{text: "in " + age(v.at.Sub(s.now))}
	}
	return cell{text: fmt.Sprint(value)}
}

// age renders a stretch of time in two units at most: 42s, 5m, 3h12m, 6d23h.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// fields writes "name: value" lines, aligned; a field with an empty value is left out.
func (s *screen) fields(pairs ...any) {
	var rows [][]cell
	for i := 0; i+1 < len(pairs); i += 2 {
		value, ok := pairs[i+1].(cell)
		if !ok {
			value = cell{text: fmt.Sprint(pairs[i+1])}
		}
		if value.text != "" {
			rows = append(rows, []cell{{text: fmt.Sprint(pairs[i]) + ":"}, value})
		}
	}
	s.table(nil, rows)
}

// moment renders a time in the local zone; empty for none.
func moment(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// span renders a duration with three digits that matter.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// bytesText renders a number of bytes with three digits that matter; empty for none.
func bytesText(n int64) string {
	if n <= 0 {
		return ""
	}
	size, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for size >= 1000 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.3g %s", size, units[0])
}
