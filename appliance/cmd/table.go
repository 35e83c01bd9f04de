package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/wardroom/wardroom/core"
)

// screen gathers what a command shows to a person.
type screen struct {
	buf   bytes.Buffer
	paint func(style, string) string
	now   time.Time
	wide  bool // columns that are left out otherwise are shown, and nothing is cut
	width int  // of the terminal; 0 elsewhere, or if it is not known
	high  int  // its rows; 0 likewise
}

// screen returns an empty screen for stdout.
func (c *cli) screen() *screen {
	width, high := c.size()
	return &screen{paint: c.painter(c.deps.Stdout), now: c.now(), wide: c.output == "wide", width: width, high: high}
}

// size returns the columns and rows of the terminal that stdout is; 0 if it is none.
func (c *cli) size() (columns, rows int) {
	if f, ok := c.deps.Stdout.(*os.File); ok && isTerminal(f) {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, rows
		}
	}
	return 0, 0
}

// frame returns what was gathered as a drawing over the one before, from the first row of the terminal on: as many lines as it has
// rows for, without the last one, where the cursor stays.
func (s *screen) frame() string {
	lines := strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
	columns, room := cmp.Or(s.width, wideTerminal), max(cmp.Or(s.high, defaultHeight)-1, 1)
	takes := make([]int, len(lines))
	needed := 0
	for i, line := range lines {
		takes[i] = max((uniseg.StringWidth(colours.ReplaceAllString(line, ""))+columns-1)/columns, 1)
		needed += takes[i]
	}
	if needed > room {
		used, fits := 1, 0 // a row is for the last line
		for fits < len(lines) && used+takes[fits] <= room {
			used += takes[fits]
			fits++
		}
		left := fmt.Sprintf("and %d more lines", len(lines)-fits)
		if fits == 0 {
			left = lines[0] // which is the most telling
		}
		lines = append(lines[:fits], cutColumns(left, columns, ""))
	}
	var out strings.Builder
	out.WriteString("\x1b[H")
	for i, line := range lines {
		out.WriteString(line)
		if width := uniseg.StringWidth(colours.ReplaceAllString(line, "")); width == 0 || width%columns != 0 {
			out.WriteString(clearLine) // behind a full row the cursor is still on its last column
		}
		if i < len(lines)-1 || s.high != 1 {
			out.WriteString("\n")
		}
	}
	if s.high != 1 {
		out.WriteString(clearBelow)
	}
	return out.String()
}

// colours are the sequences of a painter.
var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

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

// Bounds of the columns of a table that is cut to a terminal.
const (
	leastCut = 8  // the narrowest that a column is cut to, unless its head is wider
	leastID  = 22 // of one of ids: enough of its beginning to name it by
)

// uncut, as the cut of a column, has its texts kept: where the table is too narrow they stand below their rows.
const uncut = -1

// grid writes aligned columns below a head. Those with a cut are no wider than that; a table that is wider than the
// terminal is cut further. Widths are those of a terminal: wide characters count twice, colours not at all.
func (s *screen) grid(head []string, cuts []int, rows [][]cell) {
	all := make([][]cell, 0, len(rows)+1)
	if head != nil {
		all = append(all, plain(head...))
	}
	all = append(all, rows...)
	for _, row := range all {
		for i := range row {
			row[i].text = clean(row[i].text)
		}
	}
	widths := widthsOf(all)
	var below [][]string
	cuts = slices.Concat(cuts, make([]int, len(widths)-len(cuts)))
	for i, most := range cuts {
		if most > 0 && !s.wide {
			widths[i] = min(widths[i], max(most, uniseg.StringWidth(head[i])))
		}
	}
	if s.width > 0 && !s.wide && head != nil && total(widths) > s.width {
		all, widths, below = s.fit(all, widths, cuts)
	}
	for n, row := range all {
		var line strings.Builder
		for i, field := range row[:min(len(row), len(widths))] {
			if uniseg.StringWidth(field.text) > widths[i] {
				field.text = cutColumns(field.text, widths[i], "...")
			}
			line.WriteString(s.paint(field.style, field.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(field.text)+2))
			}
		}
		s.line("%s", strings.TrimRight(line.String(), " "))
		if below != nil {
			for _, text := range below[n] {
				s.line("  %s", text)
			}
		}
	}
}

// widthsOf returns how wide the columns of these rows are.
func widthsOf(rows [][]cell) []int {
	var widths []int
	for _, row := range rows {
		for i, field := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(field.text))
		}
	}
	return widths
}

// fit makes a table with a head as narrow as the terminal. What must stay whole goes behind the other columns, and below
// its row where there is no room; times lose what matters least; then columns are cut, and the last ones go if that is not
// enough.
func (s *screen) fit(all [][]cell, widths, cuts []int) (rows [][]cell, kept []int, below [][]string) {
	rows, below = make([][]cell, len(all)), make([][]string, len(all))
	var keptCuts, rest []int
	for i, most := range cuts {
		if most == uncut {
			rest = append(rest, i)
			continue
		}
		kept, keptCuts = append(kept, widths[i]), append(keptCuts, most)
		for n, row := range all {
			rows[n] = append(rows[n], slices.Concat(row, make([]cell, len(widths)))[i])
		}
	}
	kept = s.narrow(rows, kept, keptCuts)
	if len(rest) == 0 {
		return rows, kept, nil
	}
	room := s.width - total(kept) - 2
	for n, row := range all {
		rows[n] = rows[n][:len(kept)]
		for k, i := range rest {
			switch {
			case i >= len(row) || row[i].text == "":
			case k == 0 && uniseg.StringWidth(row[i].text) <= room:
				rows[n] = append(rows[n], row[i])
			case n > 0: // of a head nothing stands below
				below[n] = append(below[n], wrapColumns(row[i].text, s.width-2)...)
			}
		}
	}
	return rows, append(kept, room), below
}

// narrow returns the widths of as many columns as fit the terminal when they are cut, the widest first: those with a cut,
// then the others, and of ids, by whose beginnings things can be named, last. Times are shortened, and never cut.
func (s *screen) narrow(rows [][]cell, widths, cuts []int) []int {
	times := make([]bool, len(widths))
	for i := range widths {
		if total(widths) > s.width {
			widths[i], times[i] = s.shortTimes(rows, i, widths[i])
		}
	}
	for n := len(widths); ; n-- {
		now := slices.Clone(widths[:n])
		s.cut(now, func(i int) int {
			if cuts[i] <= 0 {
				return now[i]
			}
			return max(leastCut, uniseg.StringWidth(rows[0][i].text))
		})
		for _, ofID := range []int{s.width, leastID} {
			s.cut(now, func(i int) int {
				switch {
				case times[i]:
					return now[i]
				case i == 0 || areIDs(rows[1:], i):
					return ofID
				}
				return leastCut
			})
		}
		if total(now) <= s.width || n <= 1 {
			return now
		}
	}
}

// cut takes columns from the widest that is wider than the least of it, the last of several, until all fit the
// terminal or none is left.
func (s *screen) cut(widths []int, least func(i int) int) {
	for total(widths) > s.width {
		widest := -1
		for i, w := range widths {
			if w > least(i) && (widest < 0 || w >= widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return // what is left is needed
		}
		widths[widest]--
	}
}

// areIDs reports whether a column is of ids.
func areIDs(rows [][]cell, column int) bool {
	return !slices.ContainsFunc(rows, func(row []cell) bool {
		_, made := core.IDTime(row[column].text)
		return row[column].text != "" && !made
	})
}

// nearTime is how near a time is to have its time of day shown rather than its year, where there is no room for both.
const nearTime = 180 * 24 * time.Hour

// shortTimes shortens the times of a column, and returns how wide it is then, and whether it has any.
func (s *screen) shortTimes(rows [][]cell, column, width int) (int, bool) {
	found := false
	for _, row := range rows[1:] {
		at, err := time.ParseInLocation(time.DateTime, row[column].text, time.Local)
		found = found || err == nil
		switch {
		case err != nil:
		case at.Sub(s.now).Abs() < nearTime:
			row[column].text = at.Format("01-02 15:04")
		default:
			row[column].text = at.Format(time.DateOnly)
		}
	}
	now := 0
	for _, row := range rows {
		now = max(now, uniseg.StringWidth(row[column].text))
	}
	return min(now, width), found
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
