package gemini

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	questionTool = "ask_user"
	// joiner in front of a message keeps its first character from being a command.
	joiner = "\u2060"
)

// driver follows one gemini. The exported state is saved; the rest comes again.
type driver struct {
	room  agentcli.Room
	host  agentcli.Host
	state state

	hooks     bool      // the room has them
	session   bool      // SessionStart came in this life
	found     time.Time // when it was taken over while it started: its SessionStart may have been lost in between
	title     rune      // its sign, or 0 if it was not told
	answering dialog.Keys
	press     *press // of the answer that was given last to the prompt; nil: there is none
	login     login
	sent      composer.Sent
	copies    composer.Copies // of it
	sentText  string          // the message that was submitted last
	sentAt    time.Time       // when
	turns     int             // that began in this process
	sentTurns int             // of them, when the message was submitted; -1: one of them ran
	mixed     bool            // it was refused, because something else came with it, and is to be typed again
	held      atomic.Bool     // its Enter was not pressed, as it was not seen that gemini would take it for that of a prompt
	refusedAt time.Time       // when a prompt was refused, of which the title may yet tell; zero: none

	resumed bool      // it draws an earlier conversation first
	drawn   string    // the screen while it starts
	since   time.Time // when that changed last
	began   time.Time // when the composer was there first
	readyAt time.Time // when it was ready in this life; zero: it was before

	reader   *reader // of the turn, or nil where its beginning is not known; a read owns it while reading is set
	reading  bool
	readAt   time.Time   // when the last read began, or the turn
	cutSince time.Time   // after that the note came that an answer was cut short
	next     []*readWait // for the one after it

	asking    func() // ends the wait for the screen to show which of several tools is asked about
	beginning func() // ends the wait for the hook of a turn that the title announced

	ending  time.Time // since when the turn seems to have ended
	doneAt  time.Time // when AfterAgent came
	looks   func()    // cancels the next look at the screen, at lookAt
	lookAt  time.Time
	follows bool // a read of the transcript is due

	suspect dialog.Standing // what stands where the composer would, and is no prompt yet
	seen    time.Time       // since when; zero: nothing does
	chosen  string          // the answer to the dialog that stands
	stopped time.Time       // when gemini was last told to give up a model that is not to be had
}

type state struct {
	SessionID  string          `json:"sessionId,omitempty"`
	Transcript string          `json:"transcript,omitempty"`
	Begun      bool            `json:"begun,omitempty"` // SessionStart came, while gemini starts
	Title      rune            `json:"title,omitempty"` // its sign
	Ready      bool            `json:"ready,omitempty"`
	Login      bool            `json:"login,omitempty"`
	Turn       bool            `json:"turn,omitempty"`
	Hooked     bool            `json:"hooked,omitempty"` // BeforeAgent came in this turn
	Done       bool            `json:"done,omitempty"`   // AfterAgent came, and nothing of the turn since
	Worked     bool            `json:"worked,omitempty"` // the title said ✦ or ✋ in this turn
	Denied     bool            `json:"denied,omitempty"` // a caller refused an approval in it
	Reason     string          `json:"reason,omitempty"` // of the refusal, to be typed when the dialog is gone
	Reasoned   bool            `json:"reasoned,omitempty"`
	Begin      int64           `json:"begin,omitempty"` // where the transcript of the turn begins, plus 1; 0: not known
	Told       int             `json:"told,omitempty"`  // how many texts of it were reported
	Asked      int             `json:"asked,omitempty"`
	Question   wire.ToolInput  `json:"question,omitempty"` // input of an ask_user that is about to ask
	Tools      []tool          `json:"tools,omitempty"`    // announced and not done, in order
	Asks       int             `json:"asks,omitempty"`     // of how many of them a notification came
	Batch      int             `json:"batch,omitempty"`    // how many there were since none was left
	Passed     bool            `json:"passed,omitempty"`   // a dialog of them is gone
	Prompt     *runtime.Prompt `json:"prompt,omitempty"`
	Standing   bool            `json:"standing,omitempty"` // the dialog is drawn
	Place      string          `json:"place,omitempty"`    // of it among those that wait: "1 of 2"
	// Spares are messages that may yet come, as far as was known when it was saved.
	Spares []composer.Spare `json:"spares,omitempty"`
	// Dialog is what the prompt was read from, if only the screen shows it.
	Dialog *dialog.Standing `json:"dialog,omitempty"`
}

// The signs of the title.
const (
	signWaits  = '◇'
	signWorks  = '✦'
	signSilent = '⏲' // it works, and showed nothing for long
	signAsks   = '✋'
)

func (adapter) NewDriver(plan agentcli.Plan, room agentcli.Room, host agentcli.Host) agentcli.Driver {
	return &driver{
		room: room, host: host, resumed: slices.Contains(plan.Args, "--resume"), hooks: len(room.Hook) > 0,
		answering: dialog.Keys{Host: host, Delay: 500 * time.Millisecond},
	}
}

func (d *driver) OSC(code int, data []byte) {
	if code == 8 {
		d.hyperlink(string(data))
		return
	}
	if code != 0 && code != 2 {
		return
	}
	switch r, _ := utf8.DecodeRune(data); r {
	case signWaits:
		d.title = signWaits
		d.refusedAt = time.Time{}
		if d.beginning != nil { // the turn is over, and its hook did not come
			d.beginUnhooked()
		}
		if !d.state.Ready {
			d.lookLater(startLook)
		} else if d.state.Turn {
			d.endsByTitle()
		}
	case signWorks, signSilent:
		d.title = signWorks
		d.works()
	case signAsks:
		d.title = signAsks
		d.asks()
	}
}

func (d *driver) works() {
	if !d.state.Ready {
		return
	}
	d.ending = time.Time{}
	if d.state.Prompt != nil && d.state.Standing && d.state.Dialog == nil {
		d.unblocked(runtime.SourceOSC, d.answering.Choice())
	}
	d.state.Worked = true
	switch {
	case d.state.Turn, d.beginning != nil, d.refused():
	case d.hooks && d.sent.Pending():
		// Its hook tells whose message it is: one that is on its way is not taken as such before.
		d.beginning = d.host.After(announceGrace, d.beginUnhooked)
	default:
		d.beginUnhooked()
	}
}

var _ agentcli.Announcer = (*driver)(nil)

// Announced implements agentcli.Announcer: the title shows that gemini works, and its hook is on its way.
func (d *driver) Announced() bool { return d.beginning != nil }

// beginUnhooked begins a turn of which no hook tells.
func (d *driver) beginUnhooked() {
	d.stopBeginning()
	d.state.Turn = true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	d.follow()
}

func (d *driver) stopBeginning() {
	if d.beginning != nil {
		d.beginning()
		d.beginning = nil
	}
}

// asks takes the title ✋: a dialog stands.
func (d *driver) asks() {
	if !d.state.Ready {
		return
	}
	d.ending = time.Time{}
	d.stopBeginning()
	d.state.Turn, d.state.Worked = true, true
	switch {
	case d.state.Prompt != nil:
	case len(d.state.Tools) > 1:
		d.askLater()
		return
	default:
		d.blocked(runtime.SourceOSC, "", nil)
	}
	d.state.Standing = true
	d.answering.Stands()
}

func (d *driver) Hook(call *agentcli.HookCall) {
	// No hook decides anything here but whether a prompt is what was sent. Most are answered at once; gemini waits for each.
	p, err := hook.Parse(call.Payload)
	if err != nil {
		call.Answer(nil)
		return
	}
	d.identify(p)
	switch call.Name {
	case "SessionStart":
		d.session = true
		d.anchor(func() { call.Answer(nil) })
		return
	case "BeforeAgent":
		d.beforeAgent(p, call)
		return
	case "BeforeTool":
		d.announced(tool{Name: p.Tool, Input: p.Input})
		if p.Tool == questionTool {
			d.state.Question = p.Input
			break
		}
		d.read(func(error) { // what was said before comes first
			d.host.Signal(agentcli.Signal{
				Kind: agentcli.SignalTool, Source: runtime.SourceHook,
				Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
			})
			call.Answer(nil)
		})
		return
	case "Notification":
		if p.Notification == "ToolPermission" {
			d.state.Asks++
		}
		if p.Notification == "ToolPermission" && (d.state.Prompt == nil || d.state.Dialog != nil) {
			kind, _ := p.Details["type"].(string)
			kind = cmp.Or(kind, "exec")
			d.dialogGone()
			if len(d.state.Tools) > 1 { // only the screen shows which of them is asked about first
				d.askLater()
				break
			}
			d.blocked(runtime.SourceHook, kind, p.Details)
		}
	case "AfterTool":
		d.toolDone(p)
	case "AfterAgent":
		d.afterAgent()
	}
	call.Answer(nil)
}

func (d *driver) toolDone(p hook.Payload) {
	d.state.Tools = without(d.state.Tools, p.Tool, p.Input)
	if d.state.Prompt != nil && d.state.Prompt.Tool == p.Tool && d.state.Dialog == nil && (d.state.Place == "" || d.title != signAsks) {
		choice := d.answering.Choice()
		if choice == "" && d.state.Prompt.Kind == runtime.PromptApproval {
			choice = runtime.ChoiceAllow
		}
		d.unblocked(runtime.SourceHook, choice)
	}
	if p.Tool == questionTool {
		d.state.Question = nil
		return
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool},
	})
}

// identify takes where the transcript is. Which session it is in is reported with the first turn: there is nothing to resume
// before.
func (d *driver) identify(p hook.Payload) {
	if p.Transcript != "" && p.Transcript != d.state.Transcript {
		d.state.Transcript = p.Transcript
		d.state.Begin, d.state.SessionID = 0, ""
		d.forgetReader()
	}
}

func (d *driver) Submit(text string) []agentcli.Step {
	return d.submit(text, composer.Drafted(d.host) || d.copies.Left() || d.written(d.host.Rows()))
}

var _ agentcli.Forgetter = (*driver)(nil)

// Forget implements agentcli.Forgetter.
func (d *driver) Forget(text string) {
	if text == d.sentText && d.sent.Pending() {
		d.sent.Taken(text)
		d.copies.Over(0, d.host.Now())
		d.mixed = false
		d.held.Store(false)
	}
}

// maxMessage is the longest message, in bytes. Gemini takes a paste in so slowly that the Enter of a longer one is lost in it,
// however often it is typed: it had 64 KiB after half a minute on a busy machine, and 256 KiB never.
const maxMessage = 64 << 10

// MaxMessage implements agentcli.Bounded.
func (d *driver) MaxMessage() int { return maxMessage }

// submit types a message, after emptying the line if clear is set.
func (d *driver) submit(text string, clear bool) []agentcli.Step {
	d.sent.Submit(text)
	d.copies.Submit(text, d.host.Now())
	d.sentText, d.sentAt, d.mixed, d.sentTurns = text, d.host.Now(), false, d.turns
	if d.state.Turn {
		d.sentTurns = -1
	}
	d.held.Store(false)
	text = composer.Plain(text)
	if strings.HasPrefix(strings.TrimLeftFunc(text, isCut), "/") {
		text = joiner + text
	}
	var steps []agentcli.Step
	if shellMode(d.host.Rows()) {
		// Only then: at the very end of a turn Escape would still be an interrupt.
		steps = append(steps, agentcli.Step{Write: []byte(composer.Escape), Wait: drawTime, Until: promptMode})
		clear = true
	}
	if clear {
		steps = append(steps, d.ClearLine()...)
	}
	steps = append(steps, agentcli.Step{Write: composer.Paste(text + " "), Wait: 150 * time.Millisecond})
	if !clear {
		return d.copies.Type(append(steps, agentcli.Step{If: func(rows []string) bool { return !shellMode(rows) }, Write: []byte(composer.Enter)}))
	}
	return d.copies.Type(append(steps, d.enter(text)...))
}

// enter returns the steps behind a message that was typed where a draft may have stood: they press Enter once the message is drawn in
// a line that is a prompt. What was typed just before may not be drawn yet, and may be what turns on the mode in which a line is run as a
// command: once the message is drawn, it is.
//
// Gemini's keys lag behind its screen: for a moment after a line was drawn as a prompt, its Enter still runs it as a command. So once the
// mode was left, a character is typed and taken away again: when both are drawn, keys are taken as the screen was before them.
// While gemini draws, the composer may not be there, and its mode is not known: then Enter waits for Confirm.
func (d *driver) enter(text string) []agentcli.Step {
	mark := "."
	if strings.HasSuffix(strings.TrimSpace(text), mark) {
		mark = ","
	}
	marked := func(rows []string) bool {
		line, ok := d.InputLine(rows)
		return ok && strings.HasSuffix(strings.TrimSpace(line), mark)
	}
	var left, drawn bool // the mode, by these steps; the character
	return []agentcli.Step{
		{Wait: drawTime, Until: func(rows []string) bool { return d.shows(rows, text) }},
		{If: func(rows []string) bool { left = shellMode(rows); return left }, Write: []byte(composer.Escape), Wait: drawTime, Until: promptMode},
		{If: func(rows []string) bool { return left && promptMode(rows) }, Write: []byte(mark), Wait: drawTime, Until: marked},
		{If: func(rows []string) bool { drawn = left && marked(rows); return drawn }, Write: []byte(composer.Backspace), Wait: drawTime, Until: func(rows []string) bool {
			return promptMode(rows) && !marked(rows)
		}},
		{If: func(rows []string) bool {
			d.held.Store(left && (!drawn || marked(rows)))
			return promptMode(rows) && !d.held.Load()
		}, Write: []byte(composer.Enter)},
	}
}

// isCut reports whether gemini cuts a character off the begin of a message: it is white space, or one of those that show nothing and
// that gemini takes out of whatever is pasted.
func isCut(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff", r)
}

// drawTime is how long gemini may take to draw what was typed, before the next key comes all the same.
const drawTime = 10 * time.Second

// plain undoes what Submit put in front, and what gemini appends for the files that a message names.
func plain(prompt string) string {
	prompt, _, _ = strings.Cut(prompt, "\n--- Content from referenced files ---")
	return strings.TrimPrefix(prompt, joiner)
}

// shellMode reports whether somebody left the composer in the mode in which a line is run as a command.
func shellMode(rows []string) bool {
	at := composerAt(rows)
	return at >= 0 && strings.HasPrefix(strings.TrimSpace(rows[at]), "!")
}

// promptMode reports whether the composer is on the screen, and a line of it is a prompt for the model.
func promptMode(rows []string) bool { return composerAt(rows) >= 0 && !shellMode(rows) }

// Confirm presses Enter once more, or types a message again that was refused for what came with it, or that may be run as a command.
func (d *driver) Confirm() []agentcli.Step {
	if d.mixed || d.held.Load() || shellMode(d.host.Rows()) {
		return d.submit(d.sentText, true)
	}
	return d.copies.Enter([]agentcli.Step{{If: func(rows []string) bool { return !shellMode(rows) }, Write: []byte(composer.Enter)}})
}

// Exit leaves a dialog or a turn, empties the line, and exits: gemini wants Ctrl-C twice.
func (d *driver) Exit() []agentcli.Step {
	steps := make([]agentcli.Step, 4)
	for i := range steps {
		steps[i] = agentcli.Step{Write: []byte(composer.CtrlC), Wait: 200 * time.Millisecond}
	}
	return steps
}

// Unresumable implements agentcli.Resumer.
func (d *driver) Unresumable(rows []string) bool { return screen.Has(rows, "Error resuming session") }

func (d *driver) Save() []byte {
	s := d.state
	s.Spares = d.copies.Kept()
	s.Begun, s.Title = d.session && !s.Ready, d.title
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return b
}

func (d *driver) Load(b []byte) {
	var s state
	if json.Unmarshal(b, &s) != nil {
		return
	}
	if s.Turn && len(s.Tools) == 0 {
		var old struct {
			Tool *tool `json:"tool"` // announced last, by a driver that kept no other
		}
		if json.Unmarshal(b, &old) == nil && old.Tool != nil {
			s.Tools = []tool{*old.Tool}
		}
	}
	d.state = s
	d.copies.Keep(s.Spares)
	d.forgetReader()
	d.title = s.Title
	if !s.Ready {
		d.session, d.found = s.Begun, d.host.Now()
		d.lookLater(startLook)
	}
	if d.state.Turn && d.state.Ready {
		if d.state.Reasoned {
			d.confirmReason()
		}
		d.follow()
		d.lookLater(endLook)
		if d.title == signAsks && d.state.Prompt == nil && len(d.state.Tools) > 1 {
			d.askLater()
		}
	}
}
