package claude

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// askGrace is how long a PermissionRequest may follow the title that says claude waits: a process has to
	// start for it.
	askGrace = 750 * time.Millisecond
	// failGrace is how long a StopFailure may follow the title, which claude does not wait for as for Stop.
	failGrace = 80 * time.Millisecond
	// lateGrace is how long a spinner may follow a title that may be that of the turn before.
	lateGrace = 2 * time.Second
	// watchEvery is how often an open request is looked at, whether claude ended it.
	watchEvery = 25 * time.Millisecond
	// refuseGrace is how long a sign that a request was allowed may follow its end.
	refuseGrace = 50 * time.Millisecond
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

	title     title
	sawBusy   bool // the title was busy in this turn
	late      bool // the turn began before the ✳ of the one before was seen
	early     bool // a request was answered before its dialog changed the title
	session   bool // SessionStart came in this life
	held      map[string]*agentcli.HookCall
	refused   map[string]int // looks at an ended request, by prompt
	cancelEnd func()
	watching  bool
	looking   bool
	login     login
	sent      composer.Sent
	last      string // the message that was typed last
}

type state struct {
	SessionID string          `json:"sessionId,omitempty"`
	Ready     bool            `json:"ready,omitempty"`
	Turn      bool            `json:"turn,omitempty"`
	Settling  bool            `json:"settling,omitempty"` // the Stop hook ended a turn, and ✳ did not follow yet
	Tools     map[string]tool `json:"tools,omitempty"`    // running or about to, by tool use id
	Asked     int             `json:"asked,omitempty"`    // prompts so far
	Requests  []request       `json:"requests,omitempty"`
	Login     bool            `json:"login,omitempty"`
}

type tool struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input,omitempty"`
	Asked bool           `json:"asked,omitempty"` // its request came: it will not ask again
}

func (adapter) NewDriver(_ agentcli.Plan, _ agentcli.Room, host agentcli.Host) agentcli.Driver {
	return &driver{
		host: host, state: state{Tools: map[string]tool{}},
		held: map[string]*agentcli.HookCall{}, refused: map[string]int{},
	}
}

func (d *driver) OSC(code int, data []byte) {
	switch code {
	case 0, 2:
		switch r, _ := utf8.DecodeRune(data); {
		case r >= 0x2800 && r <= 0x28ff: // braille: the spinner
			d.busy()
		case r == '✳':
			d.idle()
		}
	case 8:
		d.hyperlink(string(data))
	}
}

func (d *driver) busy() {
	was := d.title
	d.title, d.sawBusy = titleBusy, true
	d.stopEnd()
	if len(d.state.Requests) > 0 {
		// A request shows the idle title; only a change back means that it was answered. A spinner that was
		// under way when the request came is no such change.
		if was == titleIdle {
			d.resolve(0, "")
		}
		return
	}
	d.early = false
	// After Stop the title may change once more with the spinner still in it.
	if d.state.Ready && !d.state.Turn && !d.state.Settling {
		d.begin()
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	}
}

func (d *driver) idle() {
	was, late := d.title, d.late
	d.title, d.late, d.state.Settling = titleIdle, false, false
	switch {
	case !d.state.Ready:
		d.lookForReady()
	case !d.state.Turn || !d.sawBusy || len(d.state.Requests) > 0 || was == titleIdle:
	case late: // hooks and titles come on different ways, and a busy machine lets one overtake the other
		d.endAfter(lateGrace)
	case d.mayAsk():
		d.endAfter(askGrace)
	default:
		d.endAfter(failGrace)
	}
}

// mayAsk tells whether ✳ may be that of a dialog: a tool was announced whose request may still come, or one was
// answered before its dialog was drawn.
func (d *driver) mayAsk() bool {
	if d.early {
		return true
	}
	for _, t := range d.state.Tools {
		if !t.Asked {
			return true
		}
	}
	return false
}

func (d *driver) begin() {
	d.stopEnd()
	d.late = d.state.Settling
	d.state.Turn, d.state.Settling, d.early = true, false, false
	d.state.Tools = map[string]tool{}
	d.sawBusy = d.title == titleBusy
}

func (d *driver) interrupted() {
	if !d.state.Turn {
		return
	}
	d.end(agentcli.Signal{Source: runtime.SourceOSC, TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
}

func (d *driver) end(s agentcli.Signal) {
	d.stopEnd()
	d.dropRequests()
	d.state.Turn = false
	d.state.Tools = map[string]tool{}
	s.Kind = agentcli.SignalTurnEnd
	d.host.Signal(s)
}

// endAfter ends the turn as interrupted unless something else is heard of it.
func (d *driver) endAfter(grace time.Duration) {
	d.stopEnd()
	d.cancelEnd = d.host.After(grace, d.interrupted)
}

func (d *driver) stopEnd() {
	if d.cancelEnd != nil {
		d.cancelEnd()
		d.cancelEnd = nil
	}
}

func (d *driver) Hook(call *agentcli.HookCall) {
	p, err := hook.Parse(call.Payload)
	if err != nil && call.Name != "Stop" && call.Name != "StopFailure" { // those tell enough by coming
		call.Answer(nil)
		return
	}
	if call.Name == "PermissionRequest" {
		d.request(call, p)
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
	case "UserPromptSubmit":
		d.ready()
		d.begin()
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: d.sent.Taken(plain(p.Prompt))})
	case "PreToolUse":
		d.toolBegins(p)
	case "PostToolUse", "PostToolUseFailure":
		d.toolEnds(p)
	case "Stop", "StopFailure":
		d.stopped(call.Name, p)
	case "SessionEnd":
		d.dropRequests()
	}
}

func (d *driver) toolBegins(p hook.Payload) {
	d.stopEnd()
	d.state.Tools[p.ToolUseID] = tool{Name: p.Tool, Input: p.Input}
	if p.Tool == questionTool {
		return
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalTool, Source: runtime.SourceHook,
		Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
	})
}

func (d *driver) toolEnds(p hook.Payload) {
	d.stopEnd()
	if i := d.find(p.Tool, p.Input); i >= 0 {
		d.resolve(i, runtime.ChoiceAllow)
	}
	delete(d.state.Tools, p.ToolUseID)
	if p.Tool == questionTool {
		return
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool},
	})
}

// stopped ends a turn. claude tells failures of the model's provider as a message of its own.
func (d *driver) stopped(event string, p hook.Payload) {
	if !d.state.Turn && event == "Stop" {
		d.begin()
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceHook})
	}
	if d.state.Turn {
		d.end(agentcli.Signal{Source: runtime.SourceHook, Text: p.Answer})
	}
	d.state.Settling = d.title != titleIdle // of a claude that was taken over it is not known
	if event == "StopFailure" && p.Error == "authentication_failed" {
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceHook, Text: p.Answer})
	}
}

func (d *driver) Submit(text string) []agentcli.Step {
	d.sent.Submit(text)
	text = composer.Plain(text)
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		text = " " + text
	}
	var steps []agentcli.Step
	if composer.Drafted(d.host) || d.last != "" && leftover(d.host.Rows(), d.last) {
		steps = composer.Clear("", composer.Backspace) // which leaves the shell mode of an emptied line
	}
	d.last = text
	return append(steps,
		// claude takes an Enter that follows at once for a part of what is pasted.
		agentcli.Step{Write: composer.Paste(text + " "), Wait: 150 * time.Millisecond},
		agentcli.Step{Write: []byte(composer.Enter)},
	)
}

// plain undoes what Submit added in front.
func plain(prompt string) string {
	if strings.HasPrefix(prompt, " /") || strings.HasPrefix(prompt, " !") {
		return prompt[1:]
	}
	return prompt
}

func (d *driver) Confirm() []agentcli.Step { return []agentcli.Step{{Write: []byte(composer.Enter)}} }

// Exit presses Ctrl-C often enough to leave a dialog or a turn, empty the line, and exit (twice).
func (d *driver) Exit() []agentcli.Step {
	steps := make([]agentcli.Step, 4)
	for i := range steps {
		steps[i] = agentcli.Step{Write: []byte(composer.CtrlC), Wait: 200 * time.Millisecond}
	}
	return steps
}

func (d *driver) Save() []byte {
	b, err := json.Marshal(d.state)
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
	if s.Tools == nil {
		s.Tools = map[string]tool{}
	}
	d.state = s
	d.sawBusy = s.Turn
	d.login.begun = s.Login
}
