package claude

import (
	"strings"
	"time"
	"unicode"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
)

// Keys as sequences that no slow reader takes for text: control characters that are read together with others may be, and an
// Enter that is read together with a paste is part of it.
const (
	keyEnter     = "\x1b[13u"
	keyLineEnd   = "\x1b[101;5u"
	keyKillLine  = "\x1b[117;5u"
	keyBackspace = "\x1b[127u"
)

// noCommand is a blank that stands before a message which begins with a slash: claude looks for a command behind white space and
// what is not shown, and this character is neither.
const noCommand = "\u2800"

// A longer paste is a block of its own to claude, which it gives to the model in marks as something that was quoted. The limits
// are 2 line breaks and 800 UTF-16 units, of which no character has more than bytes.
const (
	pasteBreaks = 2
	pasteBytes  = 600
)

const (
	// clearGap lets claude see that the line is empty, before Backspace leaves its shell mode, and before the message.
	clearGap = 80 * time.Millisecond
	// pasteGap is between a message and its Enter, which claude keeps for a paste that it is still taking in.
	pasteGap = 150 * time.Millisecond
	// refusalGap lets claude show its input line again after a refused prompt. Within retypeWithin of its typing a
	// message is still waited for.
	refusalGap, retypeWithin = 150 * time.Millisecond, 3 * time.Second
	// A message that stands in the line is entered again from pressFirst to pressLast after its typing began, or after the
	// turn of somebody else that came first: the session gives up on it later.
	pressFirst, pressEvery, pressLast = 1500 * time.Millisecond, 700 * time.Millisecond, 5 * time.Second
	// shellEvery is how often the line is looked at, whether it left shell mode.
	shellEvery = 100 * time.Millisecond
	// interruptEvery is how often a turn is stopped again that goes on, at most interruptTimes.
	interruptEvery, interruptTimes = 1500 * time.Millisecond, 10
	// queuedGrace is how long it is not where another prompt waits, with which claude begins at once: of the end of the turn before only
	// the transcript may tell, and late.
	queuedGrace = 8 * time.Second
	// refusedGap is the same after what helpers ask was refused: more of them may ask, and claude has a moment to stop.
	refusedGap = 500 * time.Millisecond
)

// maxClear bounds the lines that are emptied beside those of a draft.
const maxClear = 4096

// submission is the message that was submitted last.
type submission struct {
	composer.Sent
	text   string    // "" once it was taken
	at     time.Time // when it was typed last
	mixed  bool      // it was refused, because something else came with it, and is to be typed again
	again  bool      // it was typed again
	waits  bool      // it is typed once the line is out of shell mode
	turns  int       // that had begun when it was typed
	freed  time.Time // when claude was seen last to work on another message
	last   string    // of the message before the present one, too: what may be left in the line
	lines  int       // line breaks that may stand in the line: of what was typed, or taken and put back
	copies composer.Copies
}

func (d *driver) Submit(text string) []agentcli.Step {
	clear := composer.Drafted(d.host) || d.sent.copies.Left() || d.sent.last != "" && leftover(d.host.Rows(), d.sent.last)
	d.sent.Submit(text)
	d.sent.copies.Submit(text, d.host.Now())
	d.sent.text, d.sent.last, d.sent.at = text, composer.Plain(text), d.host.Now()
	d.sent.mixed, d.sent.again, d.sent.turns = false, false, d.turns
	d.sent.waits = false
	at := d.sent.at
	d.host.After(pressFirst, func() { d.pressAgain(at) })
	if _, ok := d.host.(agentcli.Typist); ok && shellMode(d.host.Rows()) {
		d.sent.waits = true
		d.host.After(shellEvery, func() { d.leaveShell(at, 1) })
		return d.ClearLine()
	}
	return d.typing(clear)
}

// leaveShell types the message once the line is out of claude's shell mode, in which it would run as a command.
func (d *driver) leaveShell(at time.Time, looks int) {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || !d.sent.waits || d.sent.at != at || d.host.Now().Sub(at) > pressLast {
		return
	}
	rows := d.host.Rows()
	if !shellMode(rows) && composerDrawn(rows) {
		d.sent.waits = false
		typist.Type(d.typing(true))
		return
	}
	if looks%5 == 0 {
		typist.Type(d.ClearLine())
	}
	d.host.After(shellEvery, func() { d.leaveShell(at, looks+1) })
}

// shellMode reports whether the input line is one of commands for a shell.
func shellMode(rows []string) bool {
	for i := len(rows) - 1; i > 0; i-- {
		if strings.HasPrefix(rows[i-1], "──") && strings.HasPrefix(rows[i], "!") {
			return true
		}
	}
	return false
}

// pressAgain presses Enter as long as the message that was typed then stands in the line: a claude that is busy drops one
// that comes while it takes a paste in.
func (d *driver) pressAgain(at time.Time) {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || d.sent.at != at || d.sent.text == "" {
		return
	}
	now := d.host.Now()
	switch others := d.turns != d.sent.turns; {
	case d.state.Turn || d.title == titleBusy: // somebody else's
		d.sent.freed = now
	case now.Sub(at) > pressLast && (!others || now.Sub(d.sent.freed) > pressLast):
		return
	case d.sent.inLine(d.host.Rows()):
		typist.Type([]agentcli.Step{{Write: []byte(keyEnter)}})
	}
	d.host.After(pressEvery, func() { d.pressAgain(at) })
}

// inLine reports whether the message stands in the input line, or what claude shows of a long one.
func (s *submission) inLine(rows []string) bool {
	return leftover(rows, s.last) || leftover(rows, "[Pasted text")
}

// typing types the message that was submitted last.
func (d *driver) typing(clear bool) []agentcli.Step {
	var steps []agentcli.Step
	if clear {
		steps = d.ClearLine()
	}
	text := d.sent.last
	switch {
	case strings.HasPrefix(visible(text), "/"):
		text = noCommand + text
	case strings.HasPrefix(text, "!"):
		text = " " + text
	}
	d.sent.lines += strings.Count(text, "\n")
	return d.sent.copies.Type(append(steps,
		agentcli.Step{Write: composer.PasteInPieces(text+" ", pasteBreaks, pasteBytes), Wait: pasteGap},
		agentcli.Step{Write: []byte(keyEnter)},
	))
}

// Confirm presses Enter once more, or submits a message again that was refused for what came with it.
func (d *driver) Confirm() []agentcli.Step {
	if d.sent.waits {
		return []agentcli.Step{{Wait: clearGap}}
	}
	if d.sent.mixed {
		d.sent.mixed, d.sent.at = false, d.host.Now()
		return d.typing(true)
	}
	return d.sent.copies.Enter([]agentcli.Step{{Write: []byte(composer.Enter)}})
}

// retype types a message again that was refused for what came with it: at once if the session still waits for it, or when
// that asks once more.
func (d *driver) retype() {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || d.sent.again || d.host.Now().Sub(d.sent.at) > retypeWithin {
		d.sent.mixed = true
		return
	}
	d.sent.again = true
	d.host.After(refusalGap, func() {
		switch {
		case d.sent.text == "":
		case d.state.Turn: // somebody else's: it is for the session to ask for it once more
			d.sent.mixed = true
		default:
			typist.Type(d.typing(true))
		}
	})
}

// inFlight reports whether a message was typed and not taken.
func (d *driver) inFlight() bool {
	return d.sent.text != "" && d.host.Now().Sub(d.sent.at) < composer.Flight
}

// isMixed reports whether a prompt is the message on its way with something else, such as what somebody typed just before,
// or keys that a busy claude took for text. What somebody else asked meanwhile is not.
func (d *driver) isMixed(prompt string) bool {
	return d.inFlight() && composer.Mixed(prompt, d.sent.text)
}

// Interrupt presses Escape, and again as long as claude works on: while it begins with a turn it takes none, and over the dialog of a
// helper it refuses that alone.
func (d *driver) Interrupt() []agentcli.Step {
	turn := d.turns // and no later one
	d.stopping, d.stoppedAt = d.state.Turn, d.host.Now()
	if d.ending != nil && d.ending.stop > 0 {
		d.ending.broken = true
	}
	d.host.After(interruptEvery, func() { d.interruptAgain(turn, interruptTimes) })
	steps := []agentcli.Step{{Write: []byte(composer.Escape)}}
	if len(d.state.Requests) > 0 && d.state.Requests[0].Form != nil { // it closes that alone
		closed := func(rows []string) bool { return screen.Has(rows, "esc to interrupt") }
		d.closing = true
		steps[0].Wait, steps[0].Until = refusedGap, closed
		steps = append(steps, agentcli.Step{Write: []byte(composer.Escape), If: closed})
	}
	return steps
}

// interruptAgain stops the turn again, unless the transcript has its end: what waited in claude's queue begins at once behind it.
func (d *driver) interruptAgain(turn, times int) {
	if len(d.state.Queued) == 0 {
		d.stopAgain(turn, times)
		return
	}
	d.look(func() {
		d.endInterrupted()
		d.stopAgain(turn, times)
	})
}

func (d *driver) stopAgain(turn, times int) {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || times == 0 || !d.state.Turn || d.ending != nil && d.ending.stop == 0 || d.turns != turn {
		return
	}
	if d.refuseHelpers() {
		d.host.After(refusedGap, func() { d.interruptAgain(turn, times-1) })
		return
	}
	rows := d.host.Rows()
	asks := len(d.state.Requests) > 0 && d.state.Requests[0].Agent != "" && stands(rows)
	waits := len(d.state.Queued) > 0 && d.host.Now().Sub(d.stoppedAt) < queuedGrace
	if asks || !waits && d.title == titleBusy && screen.Has(rows, "esc to interrupt") {
		typist.Type([]agentcli.Step{{Write: []byte(composer.Escape)}})
	}
	d.host.After(interruptEvery, func() { d.interruptAgain(turn, times-1) })
}

// taken notes that a prompt was taken, and returns the message that it is. A message is not typed any more then, and what of it was
// typed a second time is refused.
func (d *driver) taken(prompt string) string {
	text := d.sent.Taken(prompt)
	if text != "" && text == d.sent.text {
		d.sent.over(1, d.host.Now())
	}
	return text
}

var _ agentcli.Forgetter = (*driver)(nil)

// Forget implements agentcli.Forgetter.
func (d *driver) Forget(text string) {
	if text != "" && text == d.sent.text {
		d.sent.Taken(text)
		d.sent.over(0, d.host.Now())
		d.sent.waits = false
	}
}

// over ends the message that was submitted last, of which so many were taken beside those that were refused.
func (s *submission) over(taken int, now time.Time) {
	s.text = ""
	s.copies.Over(taken, now)
}

// plain undoes what typing added in front.
func plain(prompt string) string {
	if rest, ok := strings.CutPrefix(prompt, noCommand); ok {
		return rest
	}
	if strings.HasPrefix(prompt, " /") || strings.HasPrefix(prompt, " !") {
		return prompt[1:]
	}
	return prompt
}

// visible returns text without the white space that it begins with, and without characters that are not shown: claude leaves out
// most of them before it looks for a command.
func visible(text string) string {
	return strings.TrimLeftFunc(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, text), unicode.IsSpace)
}
