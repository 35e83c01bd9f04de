package codex

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/subagent"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	// idleHold is how long the first idle must hold: codex is busy once more just after it.
	idleHold = 300 * time.Millisecond
	// interruptHold is the same in a turn, whose end by idle is an interrupt.
	interruptHold = 60 * time.Millisecond
	// busyHold is how long codex must be busy for a turn that no hook tells of, and firstHold the same for the first one:
	// codex is busy for a moment as it starts, and takes no message then.
	busyHold  = 250 * time.Millisecond
	firstHold = 3 * time.Second
	// announceHold is the same while a message is on its way, whose hook shows whether that is what codex works on: somebody at
	// the terminal may have been first, or the prompt be refused.
	announceHold = 5 * time.Second
	// dialogClose is how long a dialog may take to close, and codex to go on then.
	dialogClose = 700 * time.Millisecond
	// stopTries is how often an interrupt is repeated that closed a dialog and left the turn running, or was lost.
	stopTries = 16
	// clearGap is what a confirmation waits that types nothing.
	clearGap = 80 * time.Millisecond
)

const questionTool = "request_user_input"

// kindQuestion is what codex calls being blocked by anything but an approval.
const kindQuestion = "question"

// driver follows one codex. The exported state is saved; the rest comes again.
type driver struct {
	room     agentcli.Room
	host     agentcli.Host
	patience time.Duration
	hooks    bool // the room has them
	state    state

	cancelIdle func()
	cancelBusy func()
	cancelLook func()
	cancelPoll func()
	answering  dialog.Keys
	login      login
	sent       composer.Sent
	copies     composer.Copies // of it
	sentText   string          // the message that was submitted last
	sentAt     time.Time       // when
	again      bool            // it was refused, because something else came with it, or not typed, and is to be typed again
	way        *passage        // of it
	refusedAt  time.Time       // when a prompt was refused, of which codex may yet tell; zero: none
	tries      int             // of the look for how the turn ended
	reading    bool            // the transcript
	changed    bool            // what is read was made another while it was read
	looks      []func()        // to be done when it was read
	awaySince  time.Time
	overSince  time.Time // when the transcript had the end of the turn that runs

	cancelStand func()
	cancelDrawn func()
	cancelRoom  func()
	cancelStop  func()
	suspect     dialog.Standing // stands where the composer would be, and is no dialog yet
	suspectAt   time.Time
	stood       *dialog.Standing // what the screen showed of the approval stoodFor; nil: nothing yet
	stoodFor    string
	closedAt    time.Time // when a prompt's dialog closed last
	press       *press    // of the answer that was given last to the prompt; nil: there is none
}

type state struct {
	SessionID string `json:"sessionId,omitempty"`
	Ready     bool   `json:"ready,omitempty"`
	turnState
	// Lost: the turn before left no trace, so only a hook says which one of the transcript is this one.
	Lost     bool            `json:"lost,omitempty"`
	Turns    int             `json:"turns,omitempty"` // that were taken
	Rollout  rollout         `json:"rollout,omitzero"`
	Asked    int             `json:"asked,omitempty"`
	Asks     []ask           `json:"asks,omitempty"` // that hooks announced, and no prompt is about yet, in their order
	Prompt   *runtime.Prompt `json:"prompt,omitempty"`
	Standing bool            `json:"standing,omitempty"` // the dialog is drawn
	Helper   bool            `json:"helper,omitempty"`   // Prompt is of an agent that codex's own one started
	// WentOn: codex told that it goes on, between two turns or behind what a helper asked, and a dialog was still drawn.
	WentOn bool   `json:"wentOn,omitempty"`
	Shown  *shown `json:"shown,omitempty"` // a dialog beside Prompt
	// Unread is the kind of what codex asks and no hook told of, such as a question of an MCP server: only the screen has it.
	Unread string `json:"unread,omitempty"`
	// Spares are messages that may yet come, as far as was known when it was saved.
	Spares []composer.Spare `json:"spares,omitempty"`
	subagent.Ledger
	// Counting are those of Helpers that are being read.
	Counting []string `json:"counting,omitempty"`
}

// ask is what a hook said of a dialog that is about to come.
type ask struct {
	Tool   string         `json:"tool"`
	Input  wire.ToolInput `json:"input"`
	Helper bool           `json:"helper,omitempty"` // an agent asks that codex's own one started
}

func (a adapter) NewDriver(_ agentcli.Plan, room agentcli.Room, host agentcli.Host) agentcli.Driver {
	return &driver{
		room: room, host: host, patience: a.patience, hooks: len(room.Hook) > 0,
		answering: dialog.Keys{Host: host, Delay: 1200 * time.Millisecond},
	}
}

func (d *driver) OSC(code int, data []byte) {
	switch code {
	case 0, 2:
		if needsAction(string(data)) && d.state.Prompt != nil && !d.state.Standing {
			d.state.Standing = true
			d.replaced(d.host.Rows())
			d.answering.Stands()
		}
	case 8:
		d.hyperlink(string(data))
	case 7501:
		if r, ok := parseReport(data); ok {
			d.report(r)
		}
	}
}

func (d *driver) report(r report) {
	stop(&d.cancelIdle)
	d.state.Idle = false
	if d.ofRefused(r.state) {
		return
	}
	if d.asks() && !d.state.Turn && r.state != "blocked" { // a helper did, between two turns
		if d.state.WentOn = drawn(d.host.Rows()); !d.state.WentOn {
			d.goesOn()
		}
		return
	}
	switch r.state {
	case "idle":
		d.idle()
	case "working":
		d.working()
	case "blocked":
		d.blocked(r.kind)
	case "done", "error":
		d.finish(r.state)
	}
}

// goesOn handles that codex goes on between two turns: what it asked is answered.
func (d *driver) goesOn() {
	d.state.WentOn = false
	switch {
	case d.state.Prompt != nil:
		d.unblocked(d.answering.Choice())
	case d.state.Unread != "":
		d.answered()
	}
}

// stop cancels a timer, if it runs.
func stop(cancel *func()) {
	if *cancel != nil {
		(*cancel)()
		*cancel = nil
	}
}

func (d *driver) idle() {
	switch {
	case !d.state.Ready:
		d.state.Idle = true
		d.cancelIdle = d.host.After(idleHold, func() { d.ready(composerLimit) })
	case d.state.Unsure: // it was no turn
		stop(&d.cancelBusy)
		stop(&d.cancelPoll)
		d.state.turnState = turnState{}
	case d.state.Turn && d.state.Ending == "" && !d.state.Following:
		d.state.Idle = true
		d.cancelIdle = d.host.After(interruptHold, func() { d.finish("idle") })
	}
}

// ready reports that codex takes messages, once its composer is there.
func (d *driver) ready(limit time.Duration) {
	const pause = 100 * time.Millisecond
	if rows := d.host.Rows(); composerAt(rows) < 0 && !blank(rows) && (limit > 0 || d.state.Shown != nil) {
		d.cancelIdle = d.host.After(pause, func() { d.ready(limit - pause) })
		return
	}
	d.state.Ready, d.state.Idle = true, false
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
}

func (d *driver) working() {
	switch {
	case !d.state.Ready:
	case d.state.Ending != "": // the next turn begins
		d.conclude()
		d.working()
	case d.state.Prompt != nil && d.state.Helper && drawn(d.host.Rows()):
		d.state.WentOn = true // it may be about the approval before this one
	case d.state.Prompt != nil:
		d.unblocked(d.answering.Choice())
	case d.state.Unread != "":
		d.answered()
	case d.state.Following:
		d.followed()
	case !d.state.Turn:
		d.begin()
		d.state.Unsure = true
		hold := busyHold
		switch {
		case d.sent.Pending() && d.hooks:
			hold = announceHold
		case d.state.Turns == 0:
			hold = firstHold
		}
		d.cancelBusy = d.host.After(hold, d.sure)
	}
}

// sure reports the turn that began.
func (d *driver) sure() {
	stop(&d.cancelBusy)
	if d.state.Unsure {
		d.state.Unsure = false
		d.state.Turns++
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	}
}

func (d *driver) blocked(kind string) {
	if d.asks() {
		return
	}
	d.gone()
	asks, next, source := d.state.Asks, ask{}, runtime.SourceOSC
	if len(asks) > 0 {
		next = asks[len(asks)-1]
	}
	switch {
	case d.state.Turn:
	case d.state.Ready && (len(asks) == 0 || next.Helper): // it is in the way of a turn, and none
		source = runtime.SourceScreen
	default:
		d.state.Ready = true
		d.begin()
		d.state.Unsure = true
	}
	d.sure()
	d.state.Asks, d.state.Standing, d.state.WentOn = asks, false, false
	d.state.Helper = next.Helper
	may, n := 0, 0 // which it may be about, and how many those are
	for i, a := range asks {
		if kind != kindQuestion || a.Tool == questionTool {
			may, n = i, n+1
		}
	}
	if n != 1 { // the dialog shows what it is about
		d.state.Unread = kind
		d.awaitDrawn()
		d.lookAt(d.host.Rows())
		return
	}
	next = asks[may]
	d.state.Asks, d.state.Helper = slices.Delete(asks, may, may+1), next.Helper
	if kind == kindQuestion {
		d.state.Prompt = dialog.QuestionPrompt(d.promptID(), next.Tool, next.Input)
	} else {
		d.state.Prompt = dialog.ApprovalPrompt(d.promptID(), next.Tool, next.Input, true)
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: source, Prompt: d.state.Prompt})
}

// asks reports whether codex waits for an answer of which it told.
func (d *driver) asks() bool { return d.state.Prompt != nil || d.state.Unread != "" }

// promptID returns the id of a new prompt.
func (d *driver) promptID() string {
	d.state.Asked++
	return fmt.Sprintf("p%d", d.state.Asked)
}

// unblocked reports that the dialog is gone: a choice of "" was made at the terminal.
func (d *driver) unblocked(choice string) { d.closed(choice, false) }

// closed handles that the dialog of the prompt is gone, unanswered if another one came in its place before codex took the answer.
func (d *driver) closed(choice string, unanswered bool) {
	p := d.state.Prompt
	if p.Kind == runtime.PromptApproval {
		d.state.Refused = d.state.Refused || choice == runtime.ChoiceDeny
		if choice == "" {
			d.state.Answered = d.host.Now()
		}
	}
	d.state.Prompt, d.state.Standing = nil, false
	d.press, d.closedAt = nil, d.host.Now()
	d.answering.Stop()
	if choice == runtime.ChoiceDeny {
		d.makeRoom()
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceOSC, Prompt: p, Choice: choice, Unanswered: unanswered})
}

func (d *driver) Hook(call *agentcli.HookCall) {
	// No hook decides anything here but whether a prompt is what was sent, so each is answered at once; codex waits for it.
	defer call.Answer(nil)
	p, err := hook.Parse(call.Payload)
	if err != nil {
		return
	}
	if p.AgentID != "" {
		d.helperHook(call.Name, p)
		return
	}
	d.session(p)
	switch call.Name {
	case "UserPromptSubmit":
		d.prompted(call, p)
		return
	case "PreToolUse", "PermissionRequest", "PostToolUse", "Stop":
		d.identify(p.TurnID)
	}
	if call.Name == "Stop" && d.state.Turn {
		d.state.Stopped, d.state.Text = true, p.Answer
	}
	d.toolHook(call.Name, p)
}

// helperHook takes a hook of an agent that codex's own one started. Its tools, what it asks and what it uses are of the turn that
// runs; its turns and how they end are not.
func (d *driver) helperHook(name string, p hook.Payload) {
	d.noteHelper(p)
	if d.state.Turn || name == "PermissionRequest" || p.Tool == questionTool {
		d.toolHook(name, p)
	}
	if name == "PermissionRequest" || name == "PreToolUse" && p.Tool == questionTool {
		d.state.Asks[len(d.state.Asks)-1].Helper = true
	}
}

// Bounds of what is announced and not asked yet. Of more the earliest are forgotten, and of larger ones the inputs: their dialogs are
// reported by their words.
const (
	maxAsks   = 32
	maxInputs = 2 << 20 // bytes of all but the last; the state has to be read again, and a checkpoint takes 4 MiB
)

// announced keeps what a hook has of a dialog that is about to come.
func (d *driver) announced(p hook.Payload) {
	asks, size := append(d.state.Asks, ask{Tool: p.Tool, Input: p.Input}), 0
	asks = slices.Delete(asks, 0, max(0, len(asks)-maxAsks))
	for i := len(asks) - 2; i >= 0; i-- {
		data, _ := json.Marshal(asks[i].Input) // it was JSON
		if size += len(data); size > maxInputs {
			asks[i].Input = nil
		}
	}
	d.state.Asks = asks
}

// toolHook takes a hook about a tool.
func (d *driver) toolHook(name string, p hook.Payload) {
	switch name {
	case "PreToolUse":
		if p.Tool == questionTool {
			d.announced(p)
			return
		}
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalTool, Source: runtime.SourceHook,
			Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
		})
	case "PermissionRequest":
		d.announced(p)
	case "PostToolUse":
		d.state.Answered = time.Time{}
		if p.Tool != questionTool {
			d.host.Signal(agentcli.Signal{
				Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool},
			})
		}
	}
}

func (d *driver) session(p hook.Payload) {
	if p.Transcript != "" && p.Transcript != d.state.Rollout.Path {
		d.state.Rollout.follow(p.Transcript)
		d.changed = true
	}
	if p.SessionID != "" && p.SessionID != d.state.SessionID {
		d.state.SessionID = p.SessionID
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalSession, Source: runtime.SourceHook, Text: p.SessionID})
	}
}

func (d *driver) Submit(text string) []agentcli.Step {
	return d.submit(text, composer.Drafted(d.host) || d.copies.Left())
}

// submit types a message, after emptying the line if clear is set.
func (d *driver) submit(text string, clear bool) []agentcli.Step {
	d.sent.Submit(text)
	d.copies.Submit(text, d.host.Now())
	d.sentText, d.sentAt, d.again = text, d.host.Now(), false
	way := &passage{}
	d.way = way
	if !free(d.host.Rows()) {
		d.again = true
		return []agentcli.Step{{Wait: clearGap}}
	}
	text = composer.Plain(text)
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		text = " " + text
	}
	var steps []agentcli.Step
	if clear {
		steps = d.ClearLine()
		for i := range steps {
			steps[i].If = way.open
		}
	}
	return d.copies.Type(append(steps,
		agentcli.Step{If: way.open, Write: pasted(text + " "), Wait: 100 * time.Millisecond},
		agentcli.Step{If: way.open, Write: []byte(composer.Enter)},
	))
}

var _ agentcli.Forgetter = (*driver)(nil)

// Forget implements agentcli.Forgetter.
func (d *driver) Forget(text string) {
	if text == d.sentText && d.sent.Pending() {
		d.sent.Taken(text)
		d.copies.Over(0, d.host.Now())
		d.again = false
	}
}

var _ agentcli.Announcer = (*driver)(nil)

// Announced implements agentcli.Announcer: codex works, and its hook is on its way.
func (d *driver) Announced() bool { return d.state.Turn && d.state.Unsure }

// pictureName ends a message of one line that may be the name of a picture: codex attaches the file in place of the words.
var pictureName = regexp.MustCompile(`^[^\n]+\.[A-Za-z]{2,4}['"]?\s*$`)

// pasted returns a message as it is pasted: what may be the name of a picture in two parts, of which neither is.
func pasted(text string) []byte {
	if !pictureName.MatchString(text) {
		return composer.Paste(text)
	}
	at := strings.LastIndexByte(text, '.')
	return append(composer.Paste(text[:at]), composer.Paste(text[at:])...)
}

// Confirm presses Enter once more, or types a message again that was refused for what came with it, or had a dialog in its way. While
// codex works nothing is typed: Enter would put what stands in the line into the turn that runs.
func (d *driver) Confirm() []agentcli.Step {
	switch {
	case d.state.Turn && !d.state.Following:
		return []agentcli.Step{{Wait: clearGap}}
	case d.again, d.way != nil && d.way.shut():
		return d.submit(d.sentText, true)
	}
	return d.copies.Enter([]agentcli.Step{{Write: []byte(composer.Enter), If: free}})
}

var _ agentcli.Interrupter = (*driver)(nil)

// Interrupt implements agentcli.Interrupter. A refusal, or Escape, closes a dialog first, and where that does not end codex's turn, as with what an
// MCP server asks, a second one does.
func (d *driver) Interrupt() []agentcli.Step {
	stood, _ := approvalIn(d.host.Rows())
	switch now := d.host.Now(); {
	case d.asks():
		d.stopAgain(stopTries, stood, true)
		return onceDrawn(refuse())
	case d.state.Shown != nil, now.Sub(d.closedAt) < dialogClose: // a key that comes as it closes may be lost
		d.stopAgain(stopTries, stood, true)
	default: // what helpers asked in the same moment stands when codex has stopped, and keeps the turn from its end
		d.stopAgain(stopTries, stood, false)
	}
	return refuse()
}

// stopAgain does that again, up to so many times, as long as the turn goes on that is to be interrupted. Where an approval looks as the
// one that stood before, it may be the next one, not drawn yet, of which a number may allow something: Escape allows nothing. Unless
// met, it waits for a dialog: where none stands a second Escape would open what was said earlier.
func (d *driver) stopAgain(tries int, stood *dialog.Standing, met bool) {
	stop(&d.cancelStop)
	typist, ok := d.host.(agentcli.Typist)
	if !ok || tries == 0 {
		return
	}
	d.cancelStop = d.host.After(dialogClose, func() {
		if !d.state.Turn || d.state.Ending != "" || d.state.Following {
			return
		}
		keys := refuse()
		now, stands := approvalIn(d.host.Rows())
		if !met && !stands {
			d.stopAgain(tries-1, stood, false)
			return
		}
		if stands && stood != nil && alike(stood, now) {
			keys = []agentcli.Step{{Write: []byte(composer.Escape)}}
		}
		typist.Type(keys)
		d.stopAgain(tries-1, now, true)
	})
}

// Exit leaves a dialog or a turn, and then codex: one Ctrl-C exits when it is idle with an empty line.
func (d *driver) Exit() []agentcli.Step {
	steps := make([]agentcli.Step, 3)
	for i := range steps {
		steps[i] = agentcli.Step{Write: []byte(composer.CtrlC), Wait: 300 * time.Millisecond}
	}
	return steps
}

func (d *driver) Save() []byte {
	s := d.state
	s.Spares = d.copies.Kept()
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return b
}

// Load takes the state back, and goes on with what was waited for.
func (d *driver) Load(b []byte) {
	var s state
	if json.Unmarshal(b, &s) != nil {
		return
	}
	d.state = s
	d.recount()
	d.copies.Keep(s.Spares)
	switch {
	case s.Ending != "":
		d.look()
	case s.Idle:
		d.idle()
	case s.Following:
		d.follow(typing(d.submit(d.state.Reason, true)))
	case s.Unsure:
		d.cancelBusy = d.host.After(busyHold, d.sure)
	}
	if s.Turn {
		d.poll()
		d.makeRoom()
	}
	if s.Unread != "" && s.Shown == nil {
		d.awaitDrawn()
	}
}
