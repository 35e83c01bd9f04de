package codex

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// listPause is how long a list must stand where the composer would be before it is a dialog, and blankPause the same
	// for anything else, such as the transcript.
	listPause  = 500 * time.Millisecond
	blankPause = 2 * time.Second
	// redrawPause is the same for what takes the place of an approval though nothing else was asked: codex may be slow to draw it anew
	// for a terminal of another size.
	redrawPause = 4 * time.Second
	// composerLimit is how long an idle codex may be without a composer before it counts as ready all the same: another
	// version may draw it in another way.
	composerLimit = 5 * time.Second
	// drawnLimit is how long a dialog of which no hook told may take to be drawn before it is reported all the same.
	drawnLimit = 4 * time.Second
)

// shown is a dialog that only the screen tells of.
type shown struct {
	Prompt *runtime.Prompt `json:"prompt"`
	Dialog dialog.Standing `json:"dialog"`
}

var (
	entryRow = regexp.MustCompile(`^ {0,2}› \d{1,2}\. `)
	listRow  = regexp.MustCompile(`^ *\d{1,2}\. `)
	hintRow  = regexp.MustCompile(`(?i)\besc\b.*\b(back|cancel|close|skip|dismiss|exit|quit)\b|` +
		`\benter\b.*\b(select|confirm|continue|submit)\b`)
)

// hintRows is how many rows at the end of a screen may say which keys a dialog takes.
const hintRows = 3

// composerAt returns the row in which the composer begins, or -1. Messages in the conversation have the same mark, and
// something below them.
func composerAt(rows []string) int {
	for i := len(rows) - 1; i >= 0; i-- {
		row := rows[i]
		switch {
		case strings.TrimSpace(row) == "" || row[0] == ' ':
		case entryRow.MatchString(row) && hinted(rows):
			return -1
		case strings.HasPrefix(row, "›"), strings.HasPrefix(row, "!"):
			return i
		default:
			return -1
		}
	}
	return -1
}

var _ agentcli.Lined = (*driver)(nil)

// InputLine implements agentcli.Lined. A blank row ends it, and so a message with one is not read whole.
func (d *driver) InputLine(rows []string) (string, bool) {
	at := composerAt(rows)
	if at < 0 {
		return "", false
	}
	lines := []string{strings.TrimPrefix(rows[at], "›")}
	for _, row := range rows[at+1:] {
		if strings.TrimSpace(row) == "" {
			break
		}
		lines = append(lines, row)
	}
	return strings.Join(lines, " "), true
}

// ClearLine implements agentcli.Lined.
func (d *driver) ClearLine() []agentcli.Step { return composer.Clear("", composer.Backspace) }

// hinted reports whether a screen ends with the keys that a dialog takes.
func hinted(rows []string) bool {
	for i, n := len(rows)-1, 0; i >= 0 && n < hintRows; i-- {
		if strings.TrimSpace(rows[i]) == "" {
			continue
		}
		if hintRow.MatchString(rows[i]) {
			return true
		}
		n++
	}
	return false
}

// dialogRows returns the rows of a dialog with a list, or with its keys at the end: those below the conversation, which begins at
// the left.
func dialogRows(rows []string) []string {
	last := len(rows)
	for i := len(rows) - 1; i >= 0 && last == len(rows); i-- {
		if entryRow.MatchString(rows[i]) {
			last = i
		}
	}
	if last == len(rows) && !hinted(rows) {
		return rows
	}
	for begin := last - 1; begin >= 0; begin-- {
		if row := rows[begin]; row != "" && row[0] != ' ' {
			return behindTalk(rows[begin+1:], last-begin-1)
		}
	}
	return rows
}

// behindTalk returns rows without the rest of the conversation, which may go on while a dialog of a helper's stands: at least two blank
// rows are between them. The list of the dialog is not above a row.
func behindTalk(rows []string, list int) []string {
	blanks := 0
	for i, row := range rows[:min(list, len(rows))] {
		switch {
		case strings.TrimSpace(row) == "":
			blanks++
			continue
		case blanks > 1 && !listRow.MatchString(row):
			return rows[i:]
		}
		blanks = 0
	}
	return rows
}

// free reports whether a message may be typed: no dialog stands where the composer would be. It may be one that has not stood long
// enough to be reported, such as the choice of another model behind a turn, whose marked entry Enter would take, or a form, whose field
// would take the message.
func free(rows []string) bool { return !drawn(rows) }

// Screen reads the sign-in screens, before which codex tells nothing, and dialogs of which nothing else tells.
func (d *driver) Screen(rows []string, _, _ int) bool {
	d.lookAt(rows)
	return true
}

func (d *driver) lookAt(rows []string) {
	stop(&d.cancelStand)
	if !d.state.Ready && screen.Has(rows, signInMenu) {
		d.signIn()
		return
	}
	if d.state.WentOn && !drawn(rows) {
		d.goesOn()
	}
	if d.replaced(rows) {
		return
	}
	if composerAt(rows) >= 0 || blank(rows) || d.state.Prompt != nil || d.login.seen && !d.state.Ready {
		d.suspect, d.suspectAt = dialog.Standing{}, time.Time{}
		d.gone()
		return
	}
	now := dialog.Read(dialogRows(rows))
	if d.state.Shown != nil && alike(&d.state.Shown.Dialog, &now) {
		return
	}
	pause := listPause
	if len(now.Entries) < 2 || !hinted(rows) {
		if d.state.Unread == "" && (d.state.Turn || !d.state.Ready) {
			return // it is drawing
		}
		if d.state.Unread == "" || !hinted(rows) {
			pause = blankPause
		}
	}
	if d.suspectAt.IsZero() || !d.suspect.Equal(&now) {
		d.suspect, d.suspectAt = now, d.host.Now()
	}
	if left := pause - d.host.Now().Sub(d.suspectAt); left > 0 {
		d.cancelStand = d.host.After(left, func() { d.lookAt(d.host.Rows()) })
		return
	}
	d.gone()
	d.stands(now)
}

// stands reports a dialog of which only the screen tells.
func (d *driver) stands(now dialog.Standing) {
	stop(&d.cancelDrawn)
	p := now.Prompt(d.promptID())
	if d.state.Unread != "" && d.state.Unread != kindQuestion {
		of := d.claim(&now)
		approval := dialog.ApprovalPrompt(p.ID, of.Tool, of.Input, lasting(&now) > 0)
		if of.Tool != "" {
			d.state.Helper = of.Helper
		} else if now.Text != "" {
			approval.Text = now.Text
		}
		p, d.state.Unread, d.state.Prompt, d.state.Standing = approval, "", approval, true
		if len(now.Entries) > 1 {
			d.stood, d.stoodFor = &now, p.ID
		}
	} else {
		d.state.Shown = &shown{Prompt: p, Dialog: now}
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceScreen, Prompt: p})
}

// claim takes what a dialog is about out of what hooks announced, and returns it; it is empty if none announced that.
func (d *driver) claim(now *dialog.Standing) (of ask) {
	best, length := -1, 0
	for i := range d.state.Asks {
		if n := d.state.Asks[i].shownIn(now); n > length { // the command of another one may be a part of it
			best, length = i, n
		}
	}
	if best >= 0 {
		of = d.state.Asks[best]
		d.state.Asks = slices.Delete(d.state.Asks, best, best+1)
	}
	return of
}

// isOf returns what reports whether a dialog may be that of a prompt: it does not show what another hook announced.
func (d *driver) isOf(p *runtime.Prompt) func(now *dialog.Standing) bool {
	own, others := ask{Input: p.Input}, slices.Clone(d.state.Asks)
	return func(now *dialog.Standing) bool {
		n := own.shownIn(now)
		return !slices.ContainsFunc(others, func(a ask) bool { return a.shownIn(now) > n })
	}
}

// shownIn returns how many bytes of a dialog are the command that is asked about; 0: it does not show it.
func (a ask) shownIn(now *dialog.Standing) int {
	command, _ := a.Input["command"].(string)
	if words := screen.Solid(command); strings.Contains(screen.Solid(now.Text), words) {
		return len(words)
	}
	return 0
}

// awaitDrawn reports what codex asks even where nothing that looks like a dialog comes on the screen.
func (d *driver) awaitDrawn() {
	stop(&d.cancelDrawn)
	d.cancelDrawn = d.host.After(drawnLimit, func() {
		var now dialog.Standing
		if rows := d.host.Rows(); composerAt(rows) < 0 {
			now = dialog.Read(dialogRows(rows))
		}
		d.stands(now)
	})
}

// answered handles that codex goes on after a question of which only the screen told.
func (d *driver) answered() {
	stop(&d.cancelDrawn)
	d.state.Unread = ""
	d.gone()
}

func blank(rows []string) bool {
	for _, row := range rows {
		if strings.TrimSpace(row) != "" {
			return false
		}
	}
	return true
}

// gone reports that a dialog of which only the screen told is not there any more.
func (d *driver) gone() {
	s := d.state.Shown
	if s == nil {
		return
	}
	d.state.Shown = nil
	choice := d.answering.Choice()
	d.answering.Stop()
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceScreen, Prompt: s.Prompt, Choice: choice})
}

// answerShown presses the keys of a dialog of which only the screen tells. A question of an MCP server is a form: what comes behind
// one field may look like it, so nothing is typed twice, and a field without a list takes a text.
func (d *driver) answerShown(answer runtime.Answer) ([]agentcli.Step, error) {
	s := d.state.Shown
	open := func() bool { return d.state.Shown == s }
	rows := d.host.Rows()
	switch now := dialog.Read(dialogRows(rows)); {
	case alike(&now, &s.Dialog) && len(now.Entries) <= len(s.Dialog.Entries): // whose labels may be cut off now
		s.Dialog.Marked = now.Marked
	case alike(&now, &s.Dialog):
		s.Dialog = now
	case drawn(rows):
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "another dialog stands where that of the prompt did; answer the prompt that follows")
	}
	if text := strings.TrimSpace(answer.Text); d.state.Unread != "" && len(s.Dialog.Entries) == 0 && answer.Choice == "" && text != "" {
		return d.answering.Once(text, []agentcli.Step{
			{Write: composer.Paste(text), Wait: 150 * time.Millisecond}, {Write: []byte(composer.Enter)},
		}, open)
	}
	steps, choice, err := s.Dialog.Answer(answer)
	if err != nil {
		return nil, err
	}
	if d.state.Unread != "" {
		return d.answering.Once(choice, steps, open)
	}
	return d.answering.Give(choice, steps, true, open)
}

// drawn reports whether a dialog stands on the screen that says which keys it takes.
func drawn(rows []string) bool { return composerAt(rows) < 0 && hinted(rows) }

// approvalIn returns the dialog on a screen that may be an approval: it says which keys it takes, and has a list.
func approvalIn(rows []string) (*dialog.Standing, bool) {
	if !drawn(rows) {
		return nil, false
	}
	now := dialog.Read(dialogRows(rows))
	return &now, len(now.Entries) > 1
}

// alike reports whether two readings are of one dialog, however its words are wrapped. What the conversation has right above it may be
// in one of them, and what a small terminal has no room for is not: the end of the list, or of an entry.
func alike(a, b *dialog.Standing) bool {
	long, short := screen.Solid(a.Text), screen.Solid(b.Text)
	if len(long) < len(short) {
		long, short = short, long
	}
	if !strings.HasSuffix(long, short) || short == "" && long != "" || (len(a.Entries) == 0) != (len(b.Entries) == 0) {
		return false
	}
	for i := range min(len(a.Entries), len(b.Entries)) {
		long, short := screen.Solid(a.Entries[i].Label), screen.Solid(b.Entries[i].Label)
		if !strings.HasPrefix(long, short) && !strings.HasPrefix(short, long) {
			return false
		}
	}
	return true
}

// replaced takes that another approval stands, and stays, in the place of the one that was reported: codex does not say so. It is a
// prompt of its own, of what the last hook told if the dialog shows that, else of the dialog's words.
func (d *driver) replaced(rows []string) bool {
	p := d.state.Prompt
	if p == nil || p.Kind != runtime.PromptApproval || !d.state.Standing {
		return false
	}
	now, ok := approvalIn(rows)
	switch {
	case !ok:
		return false
	case (d.stood == nil || d.stoodFor != p.ID) && d.isOf(p)(now):
		d.stood, d.stoodFor = now, p.ID
		return false
	case d.stoodFor == p.ID && alike(d.stood, now):
		return false
	case len(d.state.Asks) == 0 && ask{Input: p.Input}.shownIn(now) > 0:
		// It was read first, or is now, as a terminal of another size cut it off: another one would have been announced.
		d.stood = now
		if d.press != nil {
			d.press.stands(now)
		}
		return false
	}
	if d.suspectAt.IsZero() || !d.suspect.Equal(now) {
		d.suspect, d.suspectAt = *now, d.host.Now()
	}
	pause := listPause
	if p.Tool != "" && len(d.state.Asks) == 0 && !(d.press != nil && d.press.done()) {
		pause = redrawPause // no other one was announced
	}
	if left := pause - d.host.Now().Sub(d.suspectAt); left > 0 {
		stop(&d.cancelStand)
		d.cancelStand = d.host.After(left, func() { d.lookAt(d.host.Rows()) })
		return true
	}
	d.suspect, d.suspectAt = dialog.Standing{}, time.Time{}
	d.takesPlace(now)
	return true
}

// takesPlace reports an approval whose dialog stands where that of the prompt did.
func (d *driver) takesPlace(now *dialog.Standing) {
	choice := ""
	if d.press != nil && d.press.done() {
		choice = d.answering.Choice()
	}
	d.closed(choice, choice == "" && d.press != nil)
	d.state.WentOn = false
	d.state.Unread = "permission"
	d.stands(*now)
}
