package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// questionTool is the tool with which claude asks its user, and planTool the one with which it ends its plan mode. Of both claude
// passes over a hook that allows them, unless it gives the input that a person would.
const questionTool, planTool = "AskUserQuestion", "ExitPlanMode"

const (
	// watchEvery is how often an open request is looked at, whether claude ended it.
	watchEvery = 25 * time.Millisecond
	// refuseGrace is how long a sign that a request was allowed may follow its end, and standGrace how long its dialog
	// may stay on the screen.
	refuseGrace, standGrace = 50 * time.Millisecond, 2 * time.Second
	// settleTime is how long a dialog outside of a turn stands the same before it is reported.
	settleTime = 1500 * time.Millisecond
	// answerAgain is after how long an answer is typed again to a dialog that stands as it did, at most answerTimes times: a claude that is
	// slow to draw would take the second one for what comes next, the dialog of another helper or the turn.
	answerAgain, answerTimes = 3 * time.Second, 3
)

// request is one open PermissionRequest. claude shows the dialogs of several one after the other.
type request struct {
	Prompt      *runtime.Prompt   `json:"prompt"`
	Suggestions []json.RawMessage `json:"suggestions,omitempty"`
	Screen      *dialog.Standing  `json:"screen,omitempty"` // as it was read: no hook came for it
	Form        *dialog.Form      `json:"form,omitempty"`   // of an MCP server
	Reply       *formReply        `json:"reply,omitempty"`  // to the form, which is being closed
	Agent       string            `json:"agent,omitempty"`  // the helper that asks; empty: claude itself
	File        string            `json:"file,omitempty"`   // that is to be written, as the dialog names it

	size  int  // bytes that are kept for it
	stood bool // of a helper: a dialog was seen that may be its own; of a form: it was
	sure  bool // of a helper: its own was seen, known by its words
	gone  int  // looks since then at which it was not there
}

// encoded is how many bytes it takes in the state.
func (r *request) encoded() int {
	data, _ := json.Marshal(r) // it was JSON
	return len(data)
}

// is reports whether a hook is of the request's call: helpers may call the same at once.
func (r *request) is(p hook.Payload) bool {
	// The input of an answered question has grown by the answers.
	return r.Screen == nil && r.Form == nil && r.Agent == p.AgentID && r.Prompt.Tool == p.Tool &&
		(p.Tool == questionTool || reflect.DeepEqual(map[string]any(r.Prompt.Input), map[string]any(p.Input)))
}

func (d *driver) find(p hook.Payload) int {
	for i := range d.state.Requests {
		if d.state.Requests[i].is(p) {
			return i
		}
	}
	return -1
}

// request takes a PermissionRequest, which stays open until it is answered.
func (d *driver) request(call *agentcli.HookCall, p hook.Payload) {
	for i := range d.state.Requests {
		r := &d.state.Requests[i]
		if d.held[r.Prompt.ID] == nil && r.is(p) {
			r.File = fileOf(p)         // versions before did not keep it
			d.held[r.Prompt.ID] = call // the same call, seen again after the runtime came back
			d.watch()
			return
		}
	}
	d.hooked(p)
	if len(d.state.Requests) > 0 && d.state.Requests[0].Screen != nil { // it is this one
		d.resolve(0, "")
	}
	sum := sumOf(p.Input)
	for id, t := range d.state.Tools {
		if t.Name == p.Tool && !t.Asked && t.Sum == sum {
			t.Asked = true
			d.state.Tools[id] = t
			break
		}
	}
	id := fmt.Sprintf("p%d", d.state.Asked+1)
	r := request{Suggestions: p.Suggestions, Agent: p.AgentID, File: fileOf(p)}
	if p.Tool == questionTool {
		r.Prompt = dialog.QuestionPrompt(id, p.Tool, p.Input)
	} else {
		r.Prompt = dialog.ApprovalPrompt(id, p.Tool, p.Input, len(p.Suggestions) > 0)
	}
	r.size = max(r.encoded(), len(call.Payload))
	if !d.admits(r.size) {
		call.Answer(nil)
		return
	}
	d.state.Asked++
	d.held[id] = call
	d.state.Requests = append(d.state.Requests, r)
	if len(d.state.Requests) == 1 {
		d.show()
	}
	d.watch()
}

// admits reports whether one more request, of so many bytes, can be open.
func (d *driver) admits(size int) bool {
	for _, open := range d.state.Requests {
		size += open.size
	}
	return len(d.state.Requests) < maxOpen && size <= maxKept
}

// showScreen reports a dialog that no hook announced.
func (d *driver) showScreen(rows []string) {
	d.state.Asked++
	standing := dialog.Read(rows)
	p := standing.Prompt(fmt.Sprintf("p%d", d.state.Asked))
	d.state.Requests = append(d.state.Requests, request{Prompt: p, Screen: &standing})
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceScreen, Prompt: p})
}

// isOpen reports whether a dialog that nobody announced may stand outside of a turn: a menu that a person opened, or
// something that claude asks on its own account. A message would be typed into it.
func (d *driver) isOpen(rows []string) bool {
	return !d.state.Turn && d.ending == nil && len(d.state.Requests) == 0 && !composerDrawn(rows) && stands(rows)
}

// lookForDialog reports such a dialog once it has stood for a while, and of its end.
func (d *driver) lookForDialog(rows []string) {
	if d.settling || !d.isOpen(rows) {
		return
	}
	d.settling = true
	seen := dialog.Read(rows)
	d.host.After(settleTime, func() {
		d.settling = false
		rows := d.host.Rows()
		if now := dialog.Read(rows); !d.isOpen(rows) || !now.Equal(&seen) {
			d.lookForDialog(rows)
			return
		}
		d.showScreen(rows)
		d.lookForEnd(seen)
	})
}

// lookForEnd takes a dialog away that was read outside of a turn, when the composer stands again. Before the start another dialog may
// stand in its place: at two looks, since a screen may be drawn in half at one. Last has the dialog of the look before.
func (d *driver) lookForEnd(last dialog.Standing) {
	d.host.After(doubtEvery, func() {
		rows := d.host.Rows()
		now := dialog.Read(rows)
		switch {
		case d.state.Turn || len(d.state.Requests) == 0 || d.state.Requests[0].Screen == nil:
		case waits(rows):
			d.resolve(0, "")
		case !d.state.Ready && len(now.Entries) > 0 && now.Equal(&last) && !now.Equal(d.state.Requests[0].Screen):
			d.resolve(0, "")
			d.lookForDialog(rows)
		default:
			d.lookForEnd(now)
		}
	})
}

// show reports the first request.
func (d *driver) show() {
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalBlocked, Source: runtime.SourceHook, Prompt: d.state.Requests[0].Prompt,
	})
}

// resolve takes request i away, which was answered. claude does not end a hook whose dialog was answered by a
// key, so it is answered here.
func (d *driver) resolve(i int, choice string) {
	r := d.state.Requests[i]
	d.forget(i)
	d.state.Denied = d.state.Denied || r.Prompt.Kind == runtime.PromptApproval && choice == runtime.ChoiceDeny
	if i > 0 {
		return // it was never told
	}
	d.host.Signal(agentcli.Signal{
		Kind: agentcli.SignalUnblocked, Source: runtime.SourceHook, Prompt: r.Prompt, Choice: choice,
	})
	if len(d.state.Requests) > 0 {
		d.show()
	}
}

func (d *driver) forget(i int) {
	id := d.state.Requests[i].Prompt.ID
	d.state.Requests = append(d.state.Requests[:i:i], d.state.Requests[i+1:]...)
	if call := d.held[id]; call != nil {
		call.Answer(nil)
	}
	delete(d.held, id)
	delete(d.refused, id)
}

// dropRequests takes away what is open when a turn ends without it.
func (d *driver) dropRequests() {
	if len(d.state.Requests) == 0 {
		return
	}
	first := d.state.Requests[0].Prompt
	for len(d.state.Requests) > 0 {
		d.forget(0)
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceHook, Prompt: first})
}

// watch looks whether claude ended an open request by itself: that is how it tells of a refusal by a key.
func (d *driver) watch() {
	if d.watching || len(d.held) == 0 {
		return
	}
	d.watching = true
	d.host.After(watchEvery, func() {
		d.watching = false
		d.lookForRefusal()
		d.lookForHelper()
		d.watch()
	})
}

func (d *driver) lookForRefusal() {
	for i := 0; i < len(d.state.Requests); i++ {
		id := d.state.Requests[i].Prompt.ID
		call := d.held[id]
		if call == nil {
			continue
		}
		select {
		case <-call.Done:
		default:
			continue
		}
		d.refused[id]++
		looks := time.Duration(d.refused[id]) * watchEvery
		if looks <= refuseGrace {
			continue
		}
		if d.title != titleBusy && stands(d.host.Rows()) {
			if looks > standGrace { // the hook was lost, not answered: keys answer now
				delete(d.held, id)
				d.doubt()
			}
			continue
		}
		// A refusal by a key ends the turn and with it every other request.
		first := d.state.Requests[0].Prompt
		for len(d.state.Requests) > 0 {
			d.forget(0)
		}
		d.state.Denied = true
		d.host.Signal(agentcli.Signal{
			Kind: agentcli.SignalUnblocked, Source: runtime.SourceHook, Prompt: first, Choice: runtime.ChoiceDeny,
		})
		if d.title != titleBusy && d.state.Turn && d.ending == nil {
			d.conclude(&ending{stopped: true, until: d.host.Now().Add(failGrace)})
		}
		return
	}
}

// Answer resolves the request through its hook, or by keys when the hook was lost with an earlier process.
func (d *driver) Answer(prompt *runtime.Prompt, answer runtime.Answer) ([]agentcli.Step, error) {
	at := -1
	for i := range d.state.Requests {
		if d.state.Requests[i].Prompt.ID == prompt.ID {
			at = i
		}
	}
	if at < 0 {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "the prompt was answered already")
	}
	r := d.state.Requests[at]
	if r.Form != nil {
		return d.answerForm(&d.state.Requests[at], answer)
	}
	if r.Screen == nil && d.held[r.Prompt.ID] == nil && at != d.standingFirst() {
		return nil, runtime.Errorf(runtime.CodeNoPrompt,
			"the dialog of the prompt does not stand on the screen: look at the prompt again, or answer in the terminal")
	}
	if r.Screen != nil {
		steps, choice, err := r.Screen.Answer(answer)
		if err != nil {
			return nil, err
		}
		return d.pressFor(r, choice, steps)
	}
	if r.Prompt.Kind == runtime.PromptQuestion {
		return d.answerQuestion(at, r, answer)
	}
	choice, err := dialog.Choice(r.Prompt, answer)
	if err != nil {
		return nil, err
	}
	call := d.held[r.Prompt.ID]
	if call == nil {
		key := map[string]string{runtime.ChoiceAllow: "1", dialog.ChoiceAlways: "2", runtime.ChoiceDeny: composer.Escape}[choice]
		return d.pressFor(r, choice, []agentcli.Step{{Write: []byte(key)}})
	}
	decision := map[string]any{"behavior": "allow"}
	if r.Prompt.Tool == planTool {
		decision["updatedInput"] = inputOf(r.Prompt)
	}
	switch choice {
	case dialog.ChoiceAlways:
		decision["updatedPermissions"] = r.Suggestions
	case runtime.ChoiceDeny:
		reason := answer.Text
		if reason == "" {
			reason = "The user refused this."
		}
		decision = map[string]any{"behavior": "deny", "message": reason}
		d.dropTool(r.Prompt)
	}
	d.decide(at, call, decision, choice)
	return nil, nil
}

// pressFor gives an answer by keys. They are typed again while the dialog stands as it did: claude passes over a key that comes
// in the moment after it drew one. Typed later they would go into what comes after it.
func (d *driver) pressFor(r request, choice string, steps []agentcli.Step) ([]agentcli.Step, error) {
	open := func() bool {
		return slices.ContainsFunc(d.state.Requests, func(open request) bool { return open.Prompt.ID == r.Prompt.ID })
	}
	first, err := d.answering.Once(choice, steps, open)
	if err != nil {
		return nil, err
	}
	d.pressed++
	d.pressStanding(d.pressed, dialog.Read(d.host.Rows()), steps, open)
	return first, nil
}

// pressStanding types the keys of an answer again, some times, as long as the dialog is there and no other answer was given.
func (d *driver) pressStanding(answer int, was dialog.Standing, steps []agentcli.Step, open func() bool) {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || len(was.Entries) == 0 {
		return
	}
	var again func(times int)
	again = func(times int) {
		d.host.After(answerAgain, func() {
			now := dialog.Read(d.host.Rows())
			if d.pressed != answer || !open() || !now.Equal(&was) || now.Marked != was.Marked {
				return
			}
			typist.Type(steps)
			if times > 1 {
				again(times - 1)
			}
		})
	}
	again(answerTimes)
}

func (d *driver) answerQuestion(at int, r request, answer runtime.Answer) ([]agentcli.Step, error) {
	qs := dialog.Questions(r.Prompt.Input)
	replies, err := dialog.Replies(qs, answer)
	if err != nil {
		return nil, err
	}
	call := d.held[r.Prompt.ID]
	if call == nil {
		if len(qs) != 1 || len(replies[0].Options) != 1 || qs[0].Multi {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "only a single choice can be given now; answer in the agent's terminal")
		}
		key := fmt.Sprint(replies[0].Options[0] + 1)
		return d.pressFor(r, key, []agentcli.Step{{Write: []byte(key)}})
	}
	answers := map[string]string{}
	for i, q := range qs {
		if len(replies[i].Options) == 0 {
			answers[q.Text] = replies[i].Text
			continue
		}
		labels := make([]string, len(replies[i].Options))
		for j, o := range replies[i].Options {
			labels[j] = q.Options[o]
		}
		answers[q.Text] = strings.Join(labels, ", ")
	}
	input := inputOf(r.Prompt)
	input["answers"] = answers
	choice := answer.Choice
	if choice == "" {
		choice = answer.Text
	}
	d.decide(at, call, map[string]any{"behavior": "allow", "updatedInput": input}, choice)
	return nil, nil
}

func (d *driver) decide(at int, call *agentcli.HookCall, decision map[string]any, choice string) {
	body, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PermissionRequest", "decision": decision,
	}})
	if err != nil {
		body = nil // the dialog stays, and keys answer it
	}
	call.Answer(body)
	d.early = d.title == titleBusy
	d.resolve(at, choice)
}

// inputOf returns a copy of what a tool was called with.
func inputOf(p *runtime.Prompt) map[string]any {
	input := map[string]any{}
	maps.Copy(input, p.Input)
	return input
}

// dropTool forgets a tool that was refused: no other hook tells of it.
func (d *driver) dropTool(p *runtime.Prompt) {
	sum := sumOf(p.Input)
	for id, t := range d.state.Tools {
		if t.Asked && t.Name == p.Tool && t.Sum == sum {
			delete(d.state.Tools, id)
			return
		}
	}
}
