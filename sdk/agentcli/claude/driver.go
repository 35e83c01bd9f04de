package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/subagent"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of what hooks leave behind, which what runs beside an agent can call too.
const (
	maxBacklog = 64 // hooks that wait while the end of a turn is read
	maxTools   = 64 // that are remembered: of more, the oldest are forgotten
	maxOpen    = 64 // requests that are open: more are answered in the terminal
	// maxKept bounds what hooks that wait, or requests that are open, were given, in bytes. One hook is below it.
	maxKept = 8 << 20
)

// title is what the window title said last.
type title int

const (
	titleNone title = iota
	titleIdle
	titleBusy
)

// driver follows one claude. The exported state is saved; the rest comes again.
type driver struct {
	host  agentcli.Host
	state state

	title    title
	sawBusy  bool      // the title was busy in this turn
	turned   time.Time // when the title showed last that claude works, or first that it waits
	early    bool      // a request was answered before its dialog changed the title
	session  bool      // SessionStart came in this life
	found    bool      // it was taken over while it started: its SessionStart may have been lost in between
	held     map[string]*agentcli.HookCall
	refused  map[string]int // looks at an ended request, by prompt
	watching bool
	settling bool // a dialog outside of a turn is looked at
	looking  bool
	login    login
	sent     submission
	turns    int // that began in this process
	told     transcript
	file     file
	untold   int // texts of the transcript that an earlier process reported
	// unabsorbed and unpopped are how many prompts of the queue it saw being taken into the turn, and back into the line.
	unabsorbed, unpopped int
	helped               *runtime.Usage // of the turn's helpers, once they are counted
	following            bool
	idleFor              func()    // ends the look at a turn that may be over by the title
	idleSince            time.Time // when the title began to say so
	beginning            func()    // ends the wait for the hook of a turn that the title announced
	ending               *ending
	backlog              []*agentcli.HookCall
	answering            dialog.Keys
	closing              bool // an interrupt of the turn closes a form first
	stopping             bool // an interrupt of the turn was asked for, at stoppedAt
	stoppedAt            time.Time
	pressed              int // answers by keys so far
}

type state struct {
	SessionID string          `json:"sessionId,omitempty"`
	Begun     bool            `json:"begun,omitempty"` // SessionStart came, while claude starts
	Waits     bool            `json:"waits,omitempty"` // the title was idle then
	Ready     bool            `json:"ready,omitempty"`
	Turn      bool            `json:"turn,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`   // id of the turn, once it is known
	Past      string          `json:"past,omitempty"`     // id of the turn before
	Unhooked  bool            `json:"unhooked,omitempty"` // no hook reported the turn yet
	Prompted  bool            `json:"prompted,omitempty"` // a prompt of the turn is known
	Queued    []string        `json:"queued,omitempty"`   // prompts that wait for its end, in order
	Absorbed  int             `json:"absorbed,omitempty"` // prompts that claude took from the queue into the turn
	Popped    int             `json:"popped,omitempty"`   // prompts that a person took back from it in the turn
	Settling  bool            `json:"settling,omitempty"` // a hook ended a turn or refused one, and ✳ did not follow yet
	Tools     map[string]tool `json:"tools,omitempty"`    // running or about to, by tool use id
	Asked     int             `json:"asked,omitempty"`    // prompts so far
	Requests  []request       `json:"requests,omitempty"`
	Login     bool            `json:"login,omitempty"`
	// Transcript is the path of the session's file, Offset where it ended when the turn began (-1: unknown), and Told
	// how many of the turn's texts were reported.
	Transcript string `json:"transcript,omitempty"`
	Offset     int64  `json:"offset,omitempty"`
	Told       int    `json:"told,omitempty"`
	Denied     bool   `json:"denied,omitempty"` // an approval was refused in the turn
	Stops      int    `json:"stops,omitempty"`  // Stop hooks of the turn so far
	// Owed are the words of the failure that ended the last turn before its StopFailure came, which names no turn.
	Owed string `json:"owed,omitempty"`
	// Spares are messages that may yet come, as far as was known when it was saved.
	Spares []composer.Spare `json:"spares,omitempty"`
	subagent.Ledger
}

type tool struct {
	Name  string `json:"name"`
	Sum   string `json:"sum"`             // of its input
	Asked bool   `json:"asked,omitempty"` // its request came: it will not ask again
	Order int    `json:"order,omitempty"` // of those that are remembered, the oldest has the lowest
}

// sumOf tells inputs of tools apart without keeping them.
func sumOf(input map[string]any) string {
	data, _ := json.Marshal(input) // it was JSON
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (adapter) NewDriver(plan agentcli.Plan, room agentcli.Room, host agentcli.Host) agentcli.Driver {
	d := &driver{
		host: host, state: state{Tools: map[string]tool{}, Offset: -1},
		held: map[string]*agentcli.HookCall{}, refused: map[string]int{},
		login: login{unknown: plan.LoginUnknown},
		file:  file{read: reader(room), offset: -1}, answering: dialog.Keys{Host: host},
	}
	d.locate(transcriptOf(plan.Env["CLAUDE_CONFIG_DIR"], room.Workdir, plan.SessionID))
	return d
}

func (d *driver) OSC(code int, data []byte) {
	switch code {
	case 0, 2:
		switch r, size := utf8.DecodeRune(data); {
		case r == '✳':
			d.idle()
		case unicode.Is(unicode.So, r) && bytes.HasPrefix(data[size:], []byte(" ")): // the spinner: braille, or a circle that turns
			d.busy()
		}
	case 8:
		d.hyperlink(string(data))
	}
}

func (d *driver) busy() {
	was := d.title
	d.title, d.sawBusy, d.turned = titleBusy, true, d.host.Now()
	if d.ending != nil {
		d.ending.idled = time.Time{}
	}
	d.stopDoubt()
	if len(d.state.Requests) > 0 {
		if d.state.Requests[0].Form != nil {
			return // a hook tells of its end
		}
		// A request shows the idle title; only a change back means that it was answered. A spinner that was
		// under way when the request came is no such change.
		if was == titleIdle {
			d.resolve(0, "")
		}
		return
	}
	d.early = false
	// After Stop the title may change once more with the spinner still in it.
	if d.state.Ready && !d.state.Turn && !d.state.Settling && d.ending == nil {
		d.announced()
	}
}

func (d *driver) idle() {
	was := d.title
	d.state.Settling = false
	if was != titleIdle {
		d.title, d.turned = titleIdle, d.host.Now()
	}
	switch {
	case !d.state.Ready:
		d.lookForReady()
	case d.beginning != nil: // the turn is over, and its hook did not come
		d.beginUnhooked()
	case d.ending != nil && was != titleIdle:
		d.turnedIdle()
	case d.state.Turn && was != titleIdle:
		d.doubt()
	}
}

func (d *driver) Hook(call *agentcli.HookCall) {
	if d.ending != nil && !d.ending.lets(call) { // what comes next is of the next turn, or of none
		size := len(call.Payload)
		for _, c := range d.backlog {
			size += len(c.Payload)
		}
		if len(d.backlog) >= maxBacklog || size > maxKept {
			call.Answer(nil)
			return
		}
		d.backlog = append(d.backlog, call)
		d.heard(d.ending, call)
		return
	}
	p, err := hook.Parse(call.Payload)
	if err != nil && call.Name != "Stop" && call.Name != "StopFailure" { // those tell enough by coming
		call.Answer(nil)
		return
	}
	d.locate(p.Transcript)
	d.noteHelper(p)
	switch call.Name {
	case "PermissionRequest":
		d.request(call, p)
		return
	case "UserPromptSubmit":
		d.submitted(call, p)
		return
	case "Stop", "StopFailure":
		d.stopped(call, p)
		return
	case "Elicitation":
		d.form(call, p)
		return
	case "ElicitationResult":
		d.formOver(call, p)
		return
	}
	// Everything else only tells; claude waits for the answer before it goes on.
	defer call.Answer(nil)
	switch call.Name {
	case "SessionStart":
		d.session = true
		if p.SessionID != d.state.SessionID {
			d.state.SessionID = p.SessionID
			d.host.Signal(agentcli.Signal{Kind: agentcli.SignalSession, Source: runtime.SourceHook, Text: p.SessionID})
		}
		if !d.state.Ready {
			d.lookForReady()
		}
	case "SubagentStop":
		d.helperOver(p.AgentID)
	case "PreToolUse":
		d.toolBegins(p)
	case "PostToolUse", "PostToolUseFailure":
		d.toolEnds(p)
	case "SessionEnd":
		d.dropRequests()
	}
}

// stale reports whether a hook is of a turn that is over: an agent in the background may outlive it.
func (d *driver) stale(p hook.Payload) bool {
	return p.PromptID != "" && p.PromptID == d.state.Past && p.PromptID != d.state.Prompt
}

func (d *driver) toolBegins(p hook.Payload) {
	if d.stale(p) {
		return
	}
	d.hooked(p)
	d.remember(p)
	if p.Tool == questionTool {
		return
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalTool, Source: runtime.SourceHook,
		Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
	})
}

// remember keeps a tool that runs, or is about to.
func (d *driver) remember(p hook.Payload) {
	oldest, order := "", 0
	for id, t := range d.state.Tools {
		if oldest == "" || t.Order < d.state.Tools[oldest].Order {
			oldest = id
		}
		order = max(order, t.Order)
	}
	if _, again := d.state.Tools[p.ToolUseID]; !again && len(d.state.Tools) >= maxTools {
		delete(d.state.Tools, oldest)
	}
	d.state.Tools[p.ToolUseID] = tool{Name: p.Tool, Sum: sumOf(p.Input), Order: order + 1}
}

func (d *driver) toolEnds(p hook.Payload) {
	if i := d.find(p); i >= 0 {
		d.resolve(i, runtime.ChoiceAllow)
	}
	_, known := d.state.Tools[p.ToolUseID]
	delete(d.state.Tools, p.ToolUseID)
	if p.Tool == questionTool || !known && !d.state.Turn {
		return
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool}, Failed: p.Event == "PostToolUseFailure",
	})
}

// Exit presses Ctrl-C often enough to leave a dialog or a turn, empty the line, and exit (twice).
func (d *driver) Exit() []agentcli.Step {
	steps := make([]agentcli.Step, 4)
	for i := range steps {
		steps[i] = agentcli.Step{Write: []byte(composer.CtrlC), Wait: 200 * time.Millisecond}
	}
	return steps
}

func (d *driver) Save() []byte {
	s := d.state
	s.Spares = d.sent.copies.Kept()
	if !s.Ready {
		s.Begun, s.Waits = d.session, d.title == titleIdle
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return b
}

func (d *driver) Load(b []byte) {
	s := state{Offset: -1}
	if json.Unmarshal(b, &s) != nil {
		return
	}
	if s.Tools == nil {
		s.Tools = map[string]tool{}
	}
	if s.Transcript == "" {
		s.Transcript, s.Offset = d.state.Transcript, -1
	}
	d.state = s
	d.sent.copies.Keep(s.Spares)
	for i := range d.state.Requests {
		r := &d.state.Requests[i]
		r.size = r.encoded()
		if r.Form != nil {
			d.watchForm(r.Prompt.ID, 0)
		}
	}
	d.sawBusy = s.Turn
	d.login.begun = s.Login
	d.file.path, d.file.offset = s.Transcript, -1
	if !s.Ready {
		d.session, d.found = s.Begun, true
		if s.Waits {
			d.title = titleIdle
		}
		d.lookForReady()
	}
	if !s.Turn && len(s.Requests) > 0 {
		d.lookForEnd(dialog.Standing{})
	}
	if s.Turn {
		d.file.offset, d.untold, d.unabsorbed, d.unpopped = s.Offset, s.Told, s.Absorbed, s.Popped
		d.told.follow(s.Prompt)
	}
	d.told.past = s.Past
	if s.Turn {
		d.doubt()
		d.follow()
	}
}
