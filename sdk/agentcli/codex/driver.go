package codex

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// idleHold is how long the first idle must hold: codex is busy once more just after it.
	idleHold = 300 * time.Millisecond
	// interruptHold is the same in a turn, whose end by idle is an interrupt.
	interruptHold = 60 * time.Millisecond
)

const questionTool = "request_user_input"

// driver follows one codex. The exported state is saved; the rest comes again.
type driver struct {
	room  agentcli.Room
	host  agentcli.Host
	state state

	cancelIdle func()
	answering  dialog.Keys
	login      login
	sent       composer.Sent
}

type state struct {
	SessionID  string          `json:"sessionId,omitempty"`
	Transcript string          `json:"transcript,omitempty"`
	Ready      bool            `json:"ready,omitempty"`
	Turn       bool            `json:"turn,omitempty"`
	Text       string          `json:"text,omitempty"` // of the turn, once Stop told it
	Asked      int             `json:"asked,omitempty"`
	Next       *ask            `json:"next,omitempty"` // what is asked when codex says blocked
	Prompt     *runtime.Prompt `json:"prompt,omitempty"`
	Standing   bool            `json:"standing,omitempty"` // the dialog is drawn
}

// ask is what a hook told of a dialog that is about to come.
type ask struct {
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"`
}

func (adapter) NewDriver(_ agentcli.Plan, room agentcli.Room, host agentcli.Host) agentcli.Driver {
	return &driver{room: room, host: host, answering: dialog.Keys{Host: host, Delay: 1200 * time.Millisecond}}
}

func (d *driver) OSC(code int, data []byte) {
	switch code {
	case 0, 2:
		if needsAction(string(data)) && d.state.Prompt != nil && !d.state.Standing {
			d.state.Standing = true
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
	d.stopIdle()
	switch r.state {
	case "idle":
		d.idle()
	case "working":
		d.working()
	case "blocked":
		d.blocked(r.kind)
	case "done":
		d.end(agentcli.Signal{Text: d.state.Text})
	case "error":
		d.failed()
	}
}

func (d *driver) idle() {
	switch {
	case !d.state.Ready:
		d.cancelIdle = d.host.After(idleHold, d.ready)
	case d.state.Turn:
		d.cancelIdle = d.host.After(interruptHold, func() {
			d.end(agentcli.Signal{TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
		})
	}
}

func (d *driver) ready() {
	d.state.Ready = true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
}

func (d *driver) stopIdle() {
	if d.cancelIdle != nil {
		d.cancelIdle()
		d.cancelIdle = nil
	}
}

func (d *driver) working() {
	if !d.state.Ready {
		return
	}
	if d.state.Prompt != nil {
		d.unblocked(d.answering.Choice())
		return
	}
	if !d.state.Turn {
		d.begin()
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	}
}

func (d *driver) begin() {
	d.state.Turn, d.state.Text, d.state.Next = true, "", nil
}

func (d *driver) blocked(kind string) {
	if d.state.Prompt != nil {
		return
	}
	if !d.state.Turn {
		d.state.Ready = true
		d.begin()
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	}
	d.state.Asked++
	id := fmt.Sprintf("p%d", d.state.Asked)
	next := d.state.Next
	if next == nil {
		next = &ask{}
	}
	if kind == "question" {
		if next.Tool != questionTool {
			next = &ask{Tool: questionTool}
		}
		d.state.Prompt = dialog.QuestionPrompt(id, next.Tool, next.Input)
	} else {
		d.state.Prompt = dialog.ApprovalPrompt(id, next.Tool, next.Input, false)
	}
	d.state.Next, d.state.Standing = nil, false
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceOSC, Prompt: d.state.Prompt})
}

func (d *driver) unblocked(choice string) {
	p := d.state.Prompt
	d.state.Prompt, d.state.Standing = nil, false
	d.answering.Stop()
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceOSC, Prompt: p, Choice: choice})
}

func (d *driver) end(s agentcli.Signal) {
	if d.state.Prompt != nil {
		d.unblocked(runtime.ChoiceDeny)
	}
	if !d.state.Turn {
		return
	}
	d.state.Turn, d.state.Text, d.state.Next = false, "", nil
	s.Kind, s.Source = agentcli.SignalTurnEnd, runtime.SourceOSC
	d.host.Signal(s)
}

func (d *driver) Hook(call *agentcli.HookCall) {
	// No hook decides anything here, so each is answered at once; codex waits for it.
	defer call.Answer(nil)
	p, err := hook.Parse(call.Payload)
	if err != nil {
		return
	}
	d.session(p)
	switch call.Name {
	case "UserPromptSubmit":
		if !d.state.Turn {
			d.begin()
		}
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: d.sent.Taken(p.Prompt)})
	case "PreToolUse":
		if p.Tool == questionTool {
			d.state.Next = &ask{Tool: p.Tool, Input: p.Input}
			return
		}
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalTool, Source: runtime.SourceHook,
			Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
		})
	case "PermissionRequest":
		d.state.Next = &ask{Tool: p.Tool, Input: p.Input}
	case "PostToolUse":
		if p.Tool != questionTool {
			d.host.Signal(agentcli.Signal{
				Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool},
			})
		}
	case "Stop":
		d.state.Text = p.Answer
	}
}

func (d *driver) session(p hook.Payload) {
	if p.Transcript != "" {
		d.state.Transcript = p.Transcript
	}
	if p.SessionID != "" && p.SessionID != d.state.SessionID {
		d.state.SessionID = p.SessionID
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalSession, Source: runtime.SourceHook, Text: p.SessionID})
	}
}

// Screen reads the sign-in screens, before which codex tells nothing.
func (d *driver) Screen(rows []string, _, _ int) bool {
	if d.state.Ready {
		return false
	}
	if screen.Has(rows, "Sign in with ChatGPT") {
		d.signIn()
	}
	return true
}

func (d *driver) Submit(text string) []agentcli.Step { return d.submit(text, composer.Drafted(d.host)) }

// submit types a message, after emptying the line if clear is set.
func (d *driver) submit(text string, clear bool) []agentcli.Step {
	d.sent.Submit(text)
	text = composer.Plain(text)
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		text = " " + text
	}
	var steps []agentcli.Step
	if clear {
		steps = composer.Clear("", composer.Backspace)
	}
	return append(steps,
		agentcli.Step{Write: composer.Paste(text + " "), Wait: 100 * time.Millisecond},
		agentcli.Step{Write: []byte(composer.Enter)},
	)
}

func (d *driver) Confirm() []agentcli.Step { return []agentcli.Step{{Write: []byte(composer.Enter)}} }

// Exit leaves a dialog or a turn, and then codex: one Ctrl-C exits when it is idle with an empty line.
func (d *driver) Exit() []agentcli.Step {
	steps := make([]agentcli.Step, 3)
	for i := range steps {
		steps[i] = agentcli.Step{Write: []byte(composer.CtrlC), Wait: 300 * time.Millisecond}
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
	if json.Unmarshal(b, &s) == nil {
		d.state = s
	}
}
