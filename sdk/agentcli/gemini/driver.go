package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// readLimit is how long the end of a turn waits for its text.
	readLimit    = time.Second
	questionTool = "ask_user"
	// joiner in front of a message keeps its first character from being a command.
	joiner = "\u2060"
)

// driver follows one gemini. The exported state is saved; the rest comes again.
type driver struct {
	room  agentcli.Room
	host  agentcli.Host
	state state

	hooks     bool // the room has them
	session   bool // SessionStart came in this life
	waits     bool // the title said ◇
	looking   bool
	looks     int
	resumed   bool      // it draws an earlier conversation first
	drawn     string    // the screen while it does
	since     time.Time // when that changed last
	answering dialog.Keys
	login     login
	sent      composer.Sent
}

type state struct {
	SessionID  string          `json:"sessionId,omitempty"`
	Transcript string          `json:"transcript,omitempty"`
	Ready      bool            `json:"ready,omitempty"`
	Login      bool            `json:"login,omitempty"`
	Turn       bool            `json:"turn,omitempty"`
	Worked     bool            `json:"worked,omitempty"` // the title said ✦ or ✋ in this turn
	Asked      int             `json:"asked,omitempty"`
	Question   map[string]any  `json:"question,omitempty"` // input of an ask_user that is about to ask
	Tool       *tool           `json:"tool,omitempty"`     // announced last
	Prompt     *runtime.Prompt `json:"prompt,omitempty"`
	Standing   bool            `json:"standing,omitempty"` // the dialog is drawn
}

type tool struct {
	Name  string         `json:"name"`
	Input map[string]any `json:"input,omitempty"`
}

func (adapter) NewDriver(plan agentcli.Plan, room agentcli.Room, host agentcli.Host) agentcli.Driver {
	resumed := slices.Contains(plan.Args, "--resume")
	return &driver{room: room, host: host, resumed: resumed, hooks: len(room.Hook) > 0, answering: dialog.Keys{Host: host, Delay: 500 * time.Millisecond}}
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
	case '◇':
		d.idle()
	case '✦':
		d.works()
	case '✋':
		d.asks()
	}
}

func (d *driver) idle() {
	d.waits = true
	switch {
	case !d.state.Ready:
		d.lookForReady()
	case d.state.Turn && d.state.Worked:
		// AfterAgent ends turns before the title does; without it, this is a turn that was cancelled at a
		// dialog, or there are no hooks.
		d.end(runtime.SourceOSC)
	}
}

func (d *driver) works() {
	d.waits = false
	if !d.state.Ready {
		return
	}
	if d.state.Prompt != nil && d.state.Standing {
		d.unblocked(d.answering.Choice())
	}
	d.state.Worked = true
	if !d.state.Turn {
		d.state.Turn = true
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
	}
}

// asks takes the title ✋: a dialog stands.
func (d *driver) asks() {
	d.waits = false
	if !d.state.Ready {
		return
	}
	d.state.Turn, d.state.Worked = true, true
	if d.state.Prompt == nil {
		d.blocked(runtime.SourceOSC, "", nil)
	}
	d.state.Standing = true
	d.answering.Stands()
}

// blocked reports a prompt. details are of the ToolPermission notification.
func (d *driver) blocked(source, kind string, details map[string]any) {
	d.state.Turn = true
	d.state.Asked++
	id := fmt.Sprintf("p%d", d.state.Asked)
	if kind == questionTool || (kind == "" && d.state.Question != nil) {
		d.state.Prompt = dialog.QuestionPrompt(id, questionTool, d.state.Question)
	} else {
		name, input := "", details
		if d.state.Tool != nil {
			name, input = d.state.Tool.Name, d.state.Tool.Input
		}
		d.state.Prompt = dialog.ApprovalPrompt(id, name, input, true)
	}
	d.state.Standing = false
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: source, Prompt: d.state.Prompt})
}

func (d *driver) unblocked(choice string) {
	p := d.state.Prompt
	d.state.Prompt, d.state.Standing, d.state.Question = nil, false, nil
	d.answering.Stop()
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceOSC, Prompt: p, Choice: choice})
}

// end ends a turn. Its text is read first, which takes milliseconds, and is given up when it takes longer.
func (d *driver) end(source string) {
	refused := d.state.Prompt != nil
	if refused {
		d.unblocked(runtime.ChoiceDeny)
	}
	if !d.state.Turn {
		return
	}
	d.state.Turn, d.state.Worked, d.state.Tool, d.state.Question = false, false, nil, nil
	name := d.state.Transcript
	if name == "" || d.room.ReadFile == nil {
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Source: source, TurnOutcome: runtime.TurnOutcome{Refused: refused}})
		return
	}
	told := false
	tell := func(o outcome) {
		if told {
			return
		}
		told = true
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalTurnEnd, Source: source, Text: strings.TrimPrefix(o.Text, joiner),
			TurnOutcome: runtime.TurnOutcome{Refused: refused, Interrupted: o.Cancelled && !refused},
		})
		if o.Failed && strings.Contains(o.Text, "UNAUTHENTICATED") {
			d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceHook, Text: o.Text})
		}
	}
	cancel := d.host.After(readLimit, func() { tell(outcome{}) })
	var o outcome
	d.host.Do(func() {
		if data, err := d.room.ReadFile(name); err == nil {
			o = lastTurn(data)
		}
	}, func() {
		cancel()
		tell(o)
	})
}

func (d *driver) Hook(call *agentcli.HookCall) {
	// No hook decides anything here, so each is answered at once; gemini waits for it.
	defer call.Answer(nil)
	p, err := hook.Parse(call.Payload)
	if err != nil {
		return
	}
	d.identify(p)
	switch call.Name {
	case "SessionStart":
		d.session = true
	case "BeforeAgent":
		d.state.Turn, d.state.Worked = true, !d.waits
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: d.sent.Taken(plain(p.Prompt)),
		})
	case "BeforeTool":
		if p.Tool == questionTool {
			d.state.Question = p.Input
			return
		}
		d.state.Tool = &tool{Name: p.Tool, Input: p.Input}
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalTool, Source: runtime.SourceHook,
			Tool: &runtime.ToolCall{Name: p.Tool, Input: p.Input},
		})
	case "Notification":
		if p.Notification == "ToolPermission" && d.state.Prompt == nil {
			kind, _ := p.Details["type"].(string)
			if kind == "" {
				kind = "exec"
			}
			d.blocked(runtime.SourceHook, kind, p.Details)
		}
	case "AfterTool":
		d.toolDone(p)
	case "AfterAgent":
		d.end(runtime.SourceHook)
	}
}

func (d *driver) toolDone(p hook.Payload) {
	if d.state.Prompt != nil && d.state.Prompt.Tool == p.Tool {
		choice := d.answering.Choice()
		if choice == "" && d.state.Prompt.Kind == runtime.PromptApproval {
			choice = runtime.ChoiceAllow
		}
		d.unblocked(choice)
	}
	if p.Tool == questionTool {
		d.state.Question = nil
		return
	}
	d.state.Tool = nil
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalToolDone, Source: runtime.SourceHook, Tool: &runtime.ToolCall{Name: p.Tool},
	})
}

func (d *driver) identify(p hook.Payload) {
	if p.Transcript != "" {
		d.state.Transcript = p.Transcript
	}
	if p.SessionID != "" && p.SessionID != d.state.SessionID {
		d.state.SessionID = p.SessionID
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalSession, Source: runtime.SourceHook, Text: p.SessionID})
	}
}

func (d *driver) Submit(text string) []agentcli.Step { return d.submit(text, composer.Drafted(d.host)) }

// submit types a message, after emptying the line if clear is set.
func (d *driver) submit(text string, clear bool) []agentcli.Step {
	d.sent.Submit(text)
	text = composer.Plain(text)
	if strings.HasPrefix(strings.TrimLeft(text, " \t\n"), "/") {
		text = joiner + text
	}
	var steps []agentcli.Step
	if !d.waits {
		// AfterAgent told of the end, and gemini has yet to draw it.
		steps = append(steps, agentcli.Step{Wait: keyGap})
	}
	if clear {
		steps = append(steps, composer.Clear(composer.Backspace, "")...)
	}
	if shellMode(d.host.Rows()) {
		// Only then: at the very end of a turn Escape would still be an interrupt.
		steps = append(steps, agentcli.Step{Write: []byte(composer.Escape), Wait: keyGap})
	}
	return append(steps,
		agentcli.Step{Write: composer.Paste(text + " "), Wait: 150 * time.Millisecond},
		agentcli.Step{Write: []byte(composer.Enter)},
	)
}

// plain undoes what Submit put in front, and what gemini appends for the files that a message names.
func plain(prompt string) string {
	prompt, _, _ = strings.Cut(prompt, "\n--- Content from referenced files ---")
	return strings.TrimPrefix(prompt, joiner)
}

// shellMode tells whether somebody left the composer in the mode in which a line is run as a command. It is the
// one thing that is read from the screen after the start.
func shellMode(rows []string) bool {
	for _, row := range rows {
		if strings.Contains(row, "shell mode enabled") {
			return true
		}
	}
	return false
}

func (d *driver) Confirm() []agentcli.Step { return []agentcli.Step{{Write: []byte(composer.Enter)}} }

// Exit leaves a dialog or a turn, empties the line, and exits: gemini wants Ctrl-C twice.
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
	if json.Unmarshal(b, &s) == nil {
		d.state = s
	}
}
