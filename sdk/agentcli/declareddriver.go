package agentcli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

const (
	defaultIdle = 2 * time.Second        // of a declared type without an idle time
	firstQuiet  = 300 * time.Millisecond // a quiet moment, for a type without a pattern
	unproven    = 5                      // a pattern that no turn ended with yet is given up after so many idle times
	typingGap   = 30 * time.Millisecond  // between a text and Enter
	draftLines  = 20                     // a draft on the input line takes at most so many lines
	echoLines   = 200                    // the echo of a message takes at most so many lines
	enterGrace  = 100 * time.Millisecond // a prompt that is not back so long after a person's Enter is gone
	enterMost   = time.Second            // a message waits so long for what follows a person's Enter, if nothing does
)

// declaredDriver reads the terminal of a command that tells nothing by itself. It waits for input when the
// last line matches the pattern and the output paused; without a pattern, when it was quiet for a while. A
// message was taken when anything was printed after Enter: its echo's line break at least. The answer is what
// was printed since, without the echo and the prompt.
type declaredDriver struct {
	h       terminalHost
	pattern *regexp.Regexp
	idle    time.Duration
	asked   bool // the operator gave the idle time: it holds beside a pattern
	exit    string

	typed   bool   // Enter was typed behind saved.Typing
	before  uint64 // offset of the output before it
	saved   declaredState
	cancel  func()    // ends the wait for quiet
	tellAt  time.Time // when lines are reported next at the soonest
	telling bool      // a timer does it
	still   stillness
	asking  bool // who has the terminal
	unowned bool // it waited before this process, and whose its prompt is was not kept, as by earlier versions

	// A person's Enter of which nothing followed yet, or not enough to tell whether a turn began; nil: there is none.
	entered   *pressed
	enteredAt time.Time
}

// declaredState is what survives the process.
type declaredState struct {
	Ready  bool   `json:"ready"`
	Busy   bool   `json:"busy"`
	Proven bool   `json:"proven"` // a turn ended with the pattern
	Text   string `json:"text,omitempty"`
	From   uint64 `json:"from,omitempty"`
	Above  uint64 `json:"above,omitempty"`  // the message may begin so many lines above From
	Broken bool   `json:"broken,omitempty"` // the turn was interrupted
	Told   uint64 `json:"told,omitempty"`   // line of the turn's output from which on nothing was reported yet; 0: nothing was
	// Typing is the message that is being typed, until the turn that it begins is known: see resumeTurn.
	Typing *typedMessage `json:"typing,omitempty"`
	// Lines says that the message was typed as several lines, each of which brings a prompt: only the last one ends the turn.
	Lines bool `json:"lines,omitempty"`
	// Owner is the group of processes that had the terminal when the prompt showed last; 0: not known.
	Owner int `json:"owner,omitempty"`
	// Foreign is how far the output went when a prompt showed while another program had the terminal: what shows then is never
	// the owner's prompt.
	Foreign uint64 `json:"foreign,omitempty"`
}

// typedMessage is a message and where it is typed.
type typedMessage struct {
	Text  string `json:"text"`
	From  uint64 `json:"from"`
	Above uint64 `json:"above,omitempty"`
	Lines bool   `json:"lines,omitempty"`
}

var (
	_ Driver        = (*declaredDriver)(nil)
	_ submitWatcher = (*declaredDriver)(nil)
	_ outputWatcher = (*declaredDriver)(nil)
	_ turnResumer   = (*declaredDriver)(nil)
	_ echoReader    = (*declaredDriver)(nil)
	_ Interrupter   = (*declaredDriver)(nil)
	_ keyWatcher    = (*declaredDriver)(nil)
)

// OSC implements Driver: a declared type tells nothing this way.
func (d *declaredDriver) OSC(int, []byte) {}

// Hook implements Driver: nobody told the command about hooks.
func (d *declaredDriver) Hook(call *HookCall) { call.Answer(nil) }

// Screen implements Driver.
func (d *declaredDriver) Screen(rows []string, _, _ int) bool {
	d.look(rows)
	return true
}

// look decides whether the command waits for input.
func (d *declaredDriver) look(rows []string) {
	d.judge()
	if d.saved.Ready && !d.saved.Busy {
		if d.unowned && !d.asking && d.prompted(rows) {
			d.recoverOwner()
		}
		return
	}
	if d.prompted(d.below(rows)) && !d.unmoved() {
		rest := d.settled() - d.h.Quiet()
		if rest <= 0 {
			d.atPrompt()
			return
		}
		if rest > pauseAfter {
			d.lookAgain(rest)
			return
		}
	}
	wait := d.quietTime()
	if wait == 0 {
		return
	}
	d.lookForQuiet(wait)
}

// below returns the rows that a prompt may stand on: while a message is answered, those below its echo.
func (d *declaredDriver) below(rows []string) []string {
	if !d.saved.Busy {
		return rows
	}
	if lines, _, where := d.answerLines(); where != nowhere {
		return lines
	}
	return rows
}

// whereabouts is how sure it is where an answer begins.
type whereabouts int

const (
	nowhere whereabouts = iota // the screen was cleared
	about                      // the echo of the message was not seen: it may be among the lines
	exactly
)

// answerLines returns the lines below the echo of the message that is answered, and the number of the first.
func (d *declaredDriver) answerLines() (lines []string, from uint64, where whereabouts) {
	lines, first := d.h.Text(d.saved.From - min(d.saved.From, d.saved.Above))
	at := min(int(d.saved.From-min(d.saved.From, first)), len(lines))
	for i := at; i >= 0; i-- {
		if rest, ok := afterEcho(lines[i:], d.saved.Text); ok {
			return rest, first + uint64(len(lines)-len(rest)), exactly
		}
	}
	if at < len(lines) {
		if d.saved.Text == "" {
			return lines[at:], first + uint64(at), exactly
		}
		return lines[at:], first + uint64(at), about
	}
	if line, _ := d.h.Cursor(); d.saved.Text == "" && line+1 >= d.saved.From {
		return nil, d.saved.From, exactly // nothing was printed yet
	}
	return nil, 0, nowhere
}

// unmoved reports whether the last line may be the prompt that the message was typed behind: its echo was not seen, and the
// cursor is where it was. Only quiet can tell then.
func (d *declaredDriver) unmoved() bool {
	if !d.saved.Busy || d.saved.Text == "" || d.pattern == nil {
		return false
	}
	if line, _ := d.h.Cursor(); line != d.saved.From {
		return false
	}
	_, _, where := d.answerLines()
	return where != exactly
}

// settled is after how much quiet a prompt is the one that ends the turn.
func (d *declaredDriver) settled() time.Duration {
	if d.saved.Busy && d.saved.Lines {
		return d.idle
	}
	return pauseAfter
}

// quietTime is after how much quiet the command is taken to wait; 0: it takes the pattern.
func (d *declaredDriver) quietTime() time.Duration {
	switch {
	case !d.saved.Ready && d.pattern == nil:
		return firstQuiet
	case !d.saved.Ready:
		return 0
	case d.pattern == nil || d.asked || d.unmoved():
		return d.idle
	case !d.saved.Proven:
		return unproven * d.idle
	default:
		return 0
	}
}

func (d *declaredDriver) lookAgain(after time.Duration) {
	if d.cancel != nil {
		d.cancel()
	}
	d.cancel = d.h.After(after, func() {
		d.cancel = nil
		d.look(d.h.Rows())
	})
}

// prompted reports whether the last line with text is a prompt.
func (d *declaredDriver) prompted(rows []string) bool {
	if d.pattern == nil {
		return false
	}
	line, ok := lastText(rows)
	// The screen knows no blanks at the end of a line, and prompts end with one.
	return ok && (d.pattern.MatchString(line) || d.pattern.MatchString(line+" "))
}

func lastText(rows []string) (string, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i] != "" {
			return rows[i], true
		}
	}
	return "", false
}

// waits reports that the command waits for input.
func (d *declaredDriver) waits(prompted bool) {
	if d.cancel != nil {
		d.cancel()
		d.cancel = nil
	}
	if !d.saved.Busy {
		d.saved.Ready = true
		d.h.Signal(Signal{Kind: SignalIdle, Source: runtime.SourceScreen})
		return
	}
	d.unowned = false // it was looked at whose the prompt is
	text := d.said(prompted)
	d.tellRest(text)
	broken := d.saved.Broken
	d.saved.Busy, d.saved.Broken, d.saved.Lines = false, false, false
	d.saved.Proven = d.saved.Proven || prompted
	d.saved.Text, d.saved.From, d.saved.Above, d.saved.Told = "", 0, 0, 0
	d.h.Signal(Signal{Kind: SignalTurnEnd, Source: runtime.SourceScreen, Text: text, TurnOutcome: runtime.TurnOutcome{Interrupted: broken}})
}

// said is what was printed since the message.
func (d *declaredDriver) said(prompted bool) string {
	lines := d.below(d.h.Rows())
	if prompted && len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n ")
}

// afterEcho drops the lines at the top that show the message itself, if they do. A terminal wraps it, and a
// prompt or continuation marks stand between its lines, so they are compared by their characters alone.
func afterEcho(lines []string, text string) (rest []string, ok bool) {
	want := bare(keyless(text))
	if len(lines) == 0 || want == "" {
		return nil, false
	}
	left, ok := afterPrompt(bare(lines[0]), want)
	if !ok {
		return nil, false
	}
	for i, line := range lines[:min(len(lines), echoLines)] {
		if i > 0 {
			for _, c := range bare(line) {
				if first, size := utf8.DecodeRuneInString(left); left != "" && first == c {
					left = left[size:]
				}
			}
		}
		if left == "" {
			return lines[i+1:], true
		}
	}
	return nil, false
}

// bare is a text without white space.
func bare(s string) string { return strings.Join(strings.Fields(s), "") }

// afterPrompt finds the beginning of a text at the end of a line that begins with a prompt, and returns what
// is left of the text.
func afterPrompt(line, text string) (left string, ok bool) {
	if strings.Contains(line, text) {
		return "", true
	}
	for at := range line {
		if strings.HasPrefix(text, line[at:]) {
			return text[len(line)-at:], true
		}
	}
	return text, false
}

// keyed implements keyWatcher: a person's Enter may begin a turn, and the key that interrupts may end one.
func (d *declaredDriver) keyed(k pressed) {
	if d.saved.Busy {
		d.saved.Broken = d.saved.Broken || k.interrupt
		return
	}
	if k.enter && d.saved.Ready && !d.typed {
		d.entered, d.enteredAt = &k, d.h.Now()
		d.judge()
	}
}

// undecided implements keyWatcher.
func (d *declaredDriver) undecided() bool {
	return d.entered != nil && d.h.Now().Sub(d.enteredAt) < enterMost || d.unowned && d.prompted(d.h.Rows())
}

// judge decides whether a person's Enter began a turn: it did if the prompt is gone, or came back below some output. An
// empty line that only brings the next prompt is none.
func (d *declaredDriver) judge() {
	k := d.entered
	if k == nil || d.h.Offset() <= k.at.offset {
		return // what follows looks again
	}
	first := d.afterLine(k)
	below := d.linesFrom(first)
	prompted := d.prompted(below)
	since := d.h.Now().Sub(d.enteredAt)
	switch {
	case prompted && d.h.Quiet() < pauseAfter:
		d.lookAgain(pauseAfter)
		return
	case !prompted && d.pattern != nil && since < enterGrace && d.h.Quiet() < pauseAfter:
		d.lookAgain(enterGrace - since)
		return
	}
	d.entered = nil
	if prompted && k.line == "" {
		if !slices.ContainsFunc(below, func(line string) bool { return line != "" && !d.prompted([]string{line}) }) {
			return
		}
	}
	d.saved.Busy, d.saved.Broken, d.saved.Text, d.saved.From, d.saved.Above, d.saved.Told = true, k.interrupt, "", first, 0, 0
	d.h.Signal(Signal{Kind: SignalBusy, Source: runtime.SourceHost})
	if prompted {
		d.atPrompt()
	}
}

// afterLine returns the first line below what a person entered.
func (d *declaredDriver) afterLine(k *pressed) uint64 {
	lines, first := d.h.Text(k.at.line - min(k.at.line, draftLines))
	at := min(int(k.at.line-min(k.at.line, first)), len(lines))
	for i := at; i >= 0 && k.line != ""; i-- {
		if rest, ok := afterEcho(lines[i:], k.line); ok {
			return first + uint64(len(lines)-len(rest))
		}
	}
	return k.at.line + 1
}

// linesFrom returns the lines from one on.
func (d *declaredDriver) linesFrom(line uint64) []string {
	lines, first := d.h.Text(line)
	if first != line {
		return d.h.Rows() // what stood there is gone
	}
	return lines
}

// Submit implements Driver.
func (d *declaredDriver) Submit(text string) []Step {
	d.entered = nil
	d.typed = false
	from, _ := d.h.Cursor()
	message := &typedMessage{Text: text, From: from, Lines: strings.Contains(text, "\n") && !d.h.BracketedPaste()}
	d.saved.Typing = message
	typed := []byte(keyless(text))
	if d.h.BracketedPaste() {
		typed = vt.Paste(text)
	}
	steps := []Step{{Write: typed, Wait: typingGap}, {Write: []byte("\r")}}
	if d.littered() {
		// The key that clears a line is the same everywhere.
		// What stood there may have taken more lines than one, and the message then begins on the first.
		steps = append([]Step{{Write: []byte{0x15}, Wait: typingGap}}, steps...)
		message.Above = draftLines
	}
	return steps
}

// keyless returns a message without what a command that knows no paste would take for keys, such as the one that interrupts it.
// Its line breaks and tabs stay.
func keyless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// littered reports whether something may stand on the input line. Where somebody may have typed, no prompt that shows is
// enough; elsewhere only a pattern that a turn ended with is trusted to tell.
func (d *declaredDriver) littered() bool {
	drafts, ok := d.h.(Drafts)
	return (d.saved.Proven || ok && drafts.Drafted()) && !d.prompted(d.h.Rows())
}

// submitted implements submitWatcher. On a busy machine all that follows Enter may be here before it learns that Enter was
// typed, and nothing comes later that would be a reason to look.
func (d *declaredDriver) submitted(before uint64) {
	d.typed, d.before = true, before
	d.output(d.h.Offset())
	d.look(d.h.Rows())
}

// submittedOn implements echoReader: below the echo of a message that was submitted there is at least the next prompt.
func (d *declaredDriver) submittedOn(line uint64, text string) bool {
	lines, first := d.h.Text(line)
	if first != line || d.saved.Busy {
		return false // what stood there is gone
	}
	for i := range lines[:min(len(lines), draftLines)] {
		rest, ok := afterEcho(lines[i:], text)
		if !ok || bare(lines[i]) == "" {
			continue
		}
		if len(rest) == 0 {
			return false
		}
		d.saved.Typing, d.typed, d.before = &typedMessage{Text: text, From: line + uint64(i)}, true, 0
		d.output(d.h.Offset())
		d.look(d.h.Rows())
		return true
	}
	return false
}

// output implements outputWatcher: what comes after Enter confirms the message.
func (d *declaredDriver) output(offset uint64) {
	if d.typed && offset > d.before {
		d.typed = false
		d.took(d.saved.Typing)
		d.h.Signal(Signal{Kind: SignalTook, Source: runtime.SourceHost, Text: d.saved.Text})
	}
	d.judge()
	d.tell()
	if d.saved.Busy && d.cancel == nil {
		if wait := d.quietTime(); wait > 0 {
			d.lookAgain(wait)
		}
	}
}

// took begins the turn of a message.
func (d *declaredDriver) took(m *typedMessage) {
	d.saved.Ready, d.saved.Busy, d.saved.Broken, d.saved.Told, d.saved.Typing = true, true, false, 0, nil
	d.saved.Text, d.saved.From, d.saved.Above, d.saved.Lines = m.Text, m.From, m.Above, m.Lines
}

// resumeTurn implements turnResumer. The message of a turn that it does not know is the one that was being typed. The
// screen may be that of an earlier time here, so where neither that nor its line is known the answer is what comes from
// now on, with what else does.
func (d *declaredDriver) resumeTurn(running bool, begun *inputRecord) {
	switch m := d.saved.Typing; {
	case running && !d.saved.Busy && m != nil && (begun == nil || begun.Sum == textSum(m.Text)):
		d.took(m)
	case running && !d.saved.Busy:
		m = &typedMessage{}
		if m.From, _ = d.h.Cursor(); begun != nil && begun.Line != nil {
			m.From = *begun.Line
		}
		d.took(m)
	case !running && d.saved.Busy:
		d.saved.Busy, d.saved.Text, d.saved.From, d.saved.Above = false, "", 0, 0
	}
}

// Confirm implements Driver: a second Enter might run something twice.
func (d *declaredDriver) Confirm() []Step { return nil }

// Answer implements Driver: a declared type has no prompts of its own.
func (d *declaredDriver) Answer(*runtime.Prompt, runtime.Answer) ([]Step, error) {
	return nil, runtime.Errorf(runtime.CodeNoPrompt, "agents of a declared type have no prompts")
}

// Interrupt implements Interrupter, by the key that does so everywhere.
func (d *declaredDriver) Interrupt() []Step {
	d.saved.Broken = d.saved.Busy
	return []Step{{Write: []byte{0x03}}}
}

// Exit implements Driver.
func (d *declaredDriver) Exit() []Step {
	if d.exit == "" {
		return []Step{{Write: []byte{0x04}}}
	}
	return []Step{{Write: []byte(d.exit), Wait: typingGap}, {Write: []byte("\r")}}
}

// Save implements Driver.
func (d *declaredDriver) Save() []byte {
	data, err := json.Marshal(d.saved)
	if err != nil {
		return nil // unreachable
	}
	return data
}

// Load implements Driver.
func (d *declaredDriver) Load(state []byte) {
	var s declaredState
	if json.Unmarshal(state, &s) != nil {
		return
	}
	d.saved, d.unowned = s, s.Ready && !s.Busy && s.Owner == 0
}
