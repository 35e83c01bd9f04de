package cmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

// screen gathers what a command shows to a person.
type screen struct {
	buf   bytes.Buffer
	paint func(style, string) string
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
func status(word string) cell { return cell{word, statusStyle(word)} }

// WriteTo writes what was gathered.
func (s *screen) WriteTo(w io.Writer) (int64, error) { return s.buf.WriteTo(w) }

// line writes one line of text.
func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(&s.buf, format+"\n", args...)
}

// table writes aligned columns below a head. Widths are those of a terminal: wide characters count twice,
// colours not at all.
func (s *screen) table(head []string, rows [][]cell) {
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
	for _, row := range all {
		var line strings.Builder
		for i, field := range row {
			line.WriteString(s.paint(field.style, field.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(field.text)+2))
			}
		}
		s.buf.WriteString(strings.TrimRight(line.String(), " "))
		s.buf.WriteByte('\n')
	}
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
