package dialog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of what is read of a dialog.
const (
	maxEntries = 40
	maxLabel   = 300 // bytes
	regionRows = 30  // of a dialog without a frame
)

// Standing is a dialog that is known by nothing but the screen: words, and a list of entries of which one is marked.
type Standing struct {
	Text    string  `json:"text"`
	Entries []Entry `json:"entries,omitempty"` // none: nothing could be read as a choice
	Marked  int     `json:"marked,omitempty"`  // the entry that Enter takes
}

// Entry is one choice of a Standing.
type Entry struct {
	Label  string `json:"label"`
	Number int    `json:"number,omitempty"` // 0: it has none
	Escape bool   `json:"escape,omitempty"` // it is taken by Escape, and no part of the list
}

// cancel is the entry of a dialog whose last ones are below the screen: with them may be what refuses.
var cancel = Entry{Label: "Cancel (Esc)", Escape: true}

// Read reads the dialog that stands at the end of a screen: in the last frame, or below the last rule. Only a list of
// entries with a mark is taken for choices, so that a list in somebody's text is not.
func Read(rows []string) Standing {
	region := lastRegion(rows)
	list, first, last := entries(region)
	s := Standing{}
	words := make([]string, 0, len(region))
	for i, row := range region {
		if len(list) > 0 && i >= first && i <= last {
			continue
		}
		if row = strings.TrimSpace(row); row != "" {
			words = append(words, row)
		}
	}
	s.Text = clip.Marked(strings.Join(words, "\n"), maxText, "...")
	for i, e := range list {
		s.Entries = append(s.Entries, Entry{Label: e.label, Number: e.number})
		if e.marked {
			s.Marked = i
		}
	}
	if len(list) > 0 && list[len(list)-1].more && strings.Contains(strings.ToLower(s.Text), "esc to cancel") {
		s.Entries = append(s.Entries, cancel)
	}
	return s
}

// Equal reports whether two readings are of one dialog: the mark may have moved.
func (s *Standing) Equal(o *Standing) bool {
	return s.Text == o.Text && slices.Equal(s.Entries, o.Entries)
}

// Clipped reports whether Text is not all that the dialog says.
func (s *Standing) Clipped() bool { return len(s.Text) > maxText }

// Prompt returns the dialog as a question. The ids of its options are their places, from 1.
func (s *Standing) Prompt(id string) *runtime.Prompt {
	p := &runtime.Prompt{ID: id, Kind: runtime.PromptQuestion, Text: s.Text}
	for i, e := range s.Entries {
		p.Options = append(p.Options, runtime.Option{ID: strconv.Itoa(i + 1), Label: e.Label})
	}
	p.Text = cmp.Or(p.Text, "The agent shows a dialog: see its terminal.")
	return p
}

// Answer returns the keys that take what was chosen, by id or label. INVALID_ARGUMENT.
func (s *Standing) Answer(a runtime.Answer) (steps []agentcli.Step, choice string, err error) {
	if len(s.Entries) == 0 {
		return nil, "", invalid("choice", "nothing of this dialog could be read as a choice; answer it in the agent's terminal, or by keys")
	}
	labels := make([]string, len(s.Entries))
	for i, e := range s.Entries {
		labels[i] = e.Label
	}
	field, said := "choice", a.Choice
	if said == "" {
		field, said = "text", strings.TrimSpace(a.Text)
	} else if a.Text != "" {
		return nil, "", invalid("text", "this dialog takes a choice or a text, not both")
	}
	i, ok := option(labels, said, a.Choice != "")
	if !ok {
		return nil, "", invalid(field, "%q is not a choice of this dialog; the choices are %s", said, list(labels))
	}
	return s.keys(i), strconv.Itoa(i + 1), nil
}

// keys returns what takes an entry: its number, or the way to it and Enter.
func (s *Standing) keys(i int) []agentcli.Step {
	if s.Entries[i].Escape {
		return []agentcli.Step{{Write: []byte(composer.Escape), Wait: keyGap}}
	}
	if n := s.Entries[i].Number; n >= 1 && n <= 9 && len(s.Entries) <= 9 {
		return []agentcli.Step{{Write: []byte(strconv.Itoa(n)), Wait: keyGap}}
	}
	key, way := composer.Down, i-s.Marked
	if way < 0 {
		key, way = composer.Up, -way
	}
	var steps []agentcli.Step
	for range way {
		steps = append(steps, agentcli.Step{Write: []byte(key), Wait: keyGap})
	}
	return append(steps, agentcli.Step{Write: []byte(composer.Enter), Wait: keyGap})
}

// lastRegion returns the rows of the last frame of a screen without the frame, if only a few rows follow it; else
// those below the last rule, at most regionRows.
func lastRegion(rows []string) []string {
	const below = 4 // rows of hints, and of a warning
	for len(rows) > 0 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	for end, n := len(rows)-1, 0; end >= 0 && n <= below; end-- {
		if blank(rows[end]) {
			continue
		}
		n++
		column := strings.IndexAny(rows[end], "╰└╚")
		if column < 0 || !blank(rows[end][:column]) {
			continue
		}
		column = utf8.RuneCountInString(rows[end][:column])
		for begin := end - 1; begin >= 0; begin-- {
			if r, ok := runeAt(rows[begin], column); ok && strings.ContainsRune("╭┌╔", r) {
				return bare(append(append([]string{}, rows[begin+1:end]...), rows[end+1:]...))
			}
		}
		return bare(rows[max(0, end-regionRows):]) // its begin has left the screen
	}
	return bare(belowRule(rows))
}

// belowRule returns the rows below the last rule of a screen, at most regionRows.
func belowRule(rows []string) []string {
	begin := max(0, len(rows)-regionRows)
	for i := len(rows) - 2; i >= begin; i-- { // a rule at the very end belongs to the dialog
		if rule(rows[i]) && !dashed(rows[i]) && !blank(strings.Join(bare(rows[i+1:]), "")) {
			return rows[i+1:]
		}
	}
	return rows[begin:]
}

// Sections returns the rows of a dialog without a frame, which stands at the end of a screen: those before its first dashed line, those
// up to the next one, and so on. Blank ones are left out, and white space around them.
func Sections(rows []string) [][]string {
	var sections [][]string
	section := []string{}
	for _, row := range belowRule(rows) {
		if rule(row) && dashed(row) {
			sections, section = append(sections, section), nil
			continue
		}
		for _, row := range bare([]string{row}) {
			if !blank(row) {
				section = append(section, strings.TrimSpace(row))
			}
		}
	}
	return append(sections, section)
}

// bare returns rows without frames and rules.
func bare(rows []string) []string {
	out := make([]string, 0, len(rows))
	for _, row := range rows {
		if rule(row) {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			if r >= 0x2500 && r <= 0x257F { // box drawing
				return ' '
			}
			return r
		}, row))
	}
	return out
}

// rule reports whether a row is nothing but a line from side to side.
func rule(row string) bool {
	n := 0
	for _, r := range strings.TrimSpace(row) {
		if (r < 0x2500 || r > 0x257F) && (r < 0x2580 || r > 0x259F) { // box drawing, blocks
			return false
		}
		n++
	}
	return n >= 8
}

// dashed reports whether a rule is a dashed line, which is within a dialog.
func dashed(row string) bool { return strings.ContainsAny(row, "┄┅┈┉╌╍") }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func runeAt(s string, column int) (rune, bool) {
	for _, r := range s {
		if column == 0 {
			return r, true
		}
		column--
	}
	return 0, false
}

// line is a row that may be an entry.
type line struct {
	label  string
	column int // of the number, or of the label where there is none
	inner  int // of the label
	number int
	marked bool
	open   bool // it has the sign of an entry that is not chosen
	more   bool // it has the sign that others follow below the screen
}

const (
	marks     = "●❯›▶▸➤◉→"
	openMarks = "○◯"
	moreUp    = '↑' // beside an entry: others are above the screen
	moreDown  = '↓'
)

// parse reads a row as an entry; false if it is blank.
func parse(row string) (line, bool) {
	runes := []rune(row)
	at := 0
	skip := func() {
		for at < len(runes) && unicode.IsSpace(runes[at]) {
			at++
		}
	}
	var l line
	skip()
	if at == len(runes) {
		return l, false
	}
	switch r := runes[at]; {
	case strings.ContainsRune(marks, r), r == '>' && at+1 < len(runes) && runes[at+1] == ' ':
		l.marked = true
	case strings.ContainsRune(openMarks, r):
		l.open = true
	}
	arrow := runes[at] == moreUp || runes[at] == moreDown
	l.more = runes[at] == moreDown
	begun := at
	if l.marked || l.open || arrow {
		at++
		skip()
	}
	l.column = at
	digits := at
	for digits < len(runes) && digits-at < 2 && runes[digits] >= '0' && runes[digits] <= '9' {
		digits++
	}
	if digits > at && digits+1 < len(runes) && (runes[digits] == '.' || runes[digits] == ')') && unicode.IsSpace(runes[digits+1]) {
		l.number, _ = strconv.Atoi(string(runes[at:digits])) // two digits at most
		at = digits + 1
		skip()
	}
	if arrow && l.number == 0 { // words that begin with one
		at, l.column, l.more = begun, begun, false
	}
	l.inner = at
	l.label = strings.TrimSpace(string(runes[at:]))
	return l, true
}

// entries returns the list around the last mark of a region that is in a list, and the rows that it takes.
func entries(region []string) (list []line, first, last int) {
	lines := make([]line, len(region))
	for i, row := range region {
		if l, ok := parse(row); ok {
			lines[i] = l
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if !lines[i].marked || lines[i].label == "" {
			continue
		}
		if lines[i].number > 0 {
			list, first, last = numbered(lines, i)
		} else {
			list, first, last = plain(lines, i)
		}
		if len(list) > 1 || len(list) == 1 && lines[i].number > 0 {
			return list, first, last
		}
	}
	return nil, 0, 0
}

// numbered returns the list of numbered entries around a marked one. What is indented below an entry belongs to it.
func numbered(lines []line, marked int) (list []line, first, last int) {
	first = marked
	for i, want := marked-1, lines[marked].number-1; i >= 0 && want > 0; i-- {
		if lines[i].number == want && lines[i].column == lines[marked].column && !lines[i].marked {
			first = i
			want--
		} else if lines[i].label != "" && lines[i].column < lines[marked].column {
			break
		}
	}
	return collect(lines, first, func(l line, n int) bool {
		return l.number == lines[first].number+n && l.column == lines[marked].column
	})
}

// plain returns the list of entries without numbers around a marked one: rows that begin in the same column.
func plain(lines []line, marked int) (list []line, first, last int) {
	same := func(l line) bool { return l.label != "" && l.number == 0 && l.column == lines[marked].column }
	first = marked
	for i := marked - 1; i >= 0 && lines[i].label != "" && lines[i].column >= lines[marked].column; i-- {
		if same(lines[i]) && !lines[i].marked {
			first = i
		}
	}
	return collect(lines, first, func(l line, _ int) bool { return same(l) })
}

// collect returns the entries from a row on: is reports whether a line is the entry of a place in the list.
func collect(lines []line, first int, is func(l line, place int) bool) (list []line, begin, last int) {
	marked, gap := false, false
	last = first
	for i := first; i < len(lines) && len(list) < maxEntries; i++ {
		l := lines[i]
		switch {
		case l.label == "":
			gap = true
			continue
		case is(l, len(list)) && !(l.marked && marked) && !(gap && l.number == 0):
			marked = marked || l.marked
			l.label = clip.Text(l.label, maxLabel)
			list = append(list, l)
		case len(list) > 0 && !gap && !l.marked && l.number == 0 && l.column >= list[len(list)-1].inner:
			e := &list[len(list)-1]
			e.label = clip.Text(e.label+" "+l.label, maxLabel)
		default:
			return list, first, last
		}
		last, gap = i, false
	}
	return list, first, last
}
