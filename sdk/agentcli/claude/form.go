package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// formDrawn is how long an answer waits for its form to be drawn, and formGap how long after that claude may pass over a key.
	formDrawn, formGap = 3 * time.Second, 150 * time.Millisecond
	// closeEvery is how often a form that stays is closed again, at most answerTimes times. A claude that is slow would take the second
	// Escape for an interrupt.
	closeEvery = 6 * time.Second
	// closeHold is how long claude waits behind a form that an interrupt closed for the key that ends the turn.
	closeHold = 2 * time.Second
)

// formReply is an answer to a form that was closed for it, until claude asks with what.
type formReply struct {
	Choice  string          `json:"choice"`
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`

	typed bool      // by this process: its keys may have been lost with another
	at    time.Time // when that was
}

// form takes what an MCP server asks. The hook is let go, so that the form stands on the screen as well. One that is not understood,
// or that comes outside of a turn, is read from there.
func (d *driver) form(call *agentcli.HookCall, p hook.Payload) {
	defer call.Answer(nil)
	fields, err := dialog.ReadFields(p.Schema)
	if err != nil || !d.state.Turn || strings.TrimSpace(p.Message) == "" {
		return
	}
	f := &dialog.Form{Server: p.Server, Message: p.Message, URL: p.URL, Fields: fields}
	id := fmt.Sprintf("p%d", d.state.Asked+1)
	r := request{Prompt: f.Prompt(id), Form: f}
	r.size = max(r.encoded(), len(call.Payload))
	if !d.admits(r.size) {
		return
	}
	d.state.Asked++
	d.state.Requests = append(d.state.Requests, r)
	if len(d.state.Requests) == 1 {
		d.show()
	}
	d.watchForm(id, 0)
}

// formOf returns the request of a prompt that is a form, and its place, or nil.
func (d *driver) formOf(id string) (*request, int) {
	i := slices.IndexFunc(d.state.Requests, func(r request) bool { return r.Form != nil && r.Prompt.ID == id })
	if i < 0 {
		return nil, i
	}
	return &d.state.Requests[i], i
}

// watchForm takes a form away that is not drawn any more, or never was, and of whose end no hook told: a server may give it up.
func (d *driver) watchForm(id string, missed time.Duration) {
	d.host.After(doubtEvery, func() {
		r, i := d.formOf(id)
		if r == nil {
			return
		}
		limit := dialogLimit
		if r.stood {
			limit = standGrace
		}
		switch {
		case r.drawn(d.host.Rows()):
			r.stood, missed = true, 0
			d.forward() // claude draws those of several calls in an order of its own
		case i > 0 || stands(d.host.Rows()): // another dialog is before it
		case missed > limit:
			d.resolve(i, "")
			return
		default:
			missed += doubtEvery
		}
		d.watchForm(id, missed)
	})
}

// drawn reports whether a form stands on the screen.
func (r *request) drawn(rows []string) bool {
	return !composerDrawn(rows) && r.likeness(rows) > 0
}

// answerForm closes the form with Escape. claude tells what became of it before the server hears, and gets the answer then: nothing
// is filled in by keys, which may miss a field.
func (d *driver) answerForm(r *request, answer runtime.Answer) ([]agentcli.Step, error) {
	action, content, err := r.Form.Answer(answer)
	if err != nil {
		return nil, err
	}
	reply := &formReply{Choice: answer.Choice, Action: action, typed: true, at: d.host.Now()}
	if reply.Choice == "" {
		reply.Choice = action
	}
	if action == dialog.FormAccept {
		if reply.Content, err = json.Marshal(content); err != nil {
			return nil, runtime.Errorf(runtime.CodeInternal, "the answer to a form: %v", err)
		}
	}
	if r.Reply != nil && r.Reply.typed && d.host.Now().Sub(r.Reply.at) < closeEvery*answerTimes {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "the prompt is being answered already")
	}
	r.Reply = reply
	d.closeAgain(r.Prompt.ID, answerTimes)
	drawn := (&request{Prompt: r.Prompt, Form: r.Form}).drawn // the steps run beside the driver
	return []agentcli.Step{{Wait: formDrawn, Until: drawn}, {Wait: formGap}, {Write: []byte(composer.Escape), If: drawn}}, nil
}

// closeAgain presses Escape again for a form that stays: in one of its lists that closes the list alone.
func (d *driver) closeAgain(id string, times int) {
	typist, ok := d.host.(agentcli.Typist)
	if !ok || times == 0 {
		return
	}
	d.host.After(closeEvery, func() {
		r, _ := d.formOf(id)
		if r == nil {
			return
		}
		if form := *r; form.drawn(d.host.Rows()) {
			typist.Type([]agentcli.Step{{Write: []byte(composer.Escape), If: form.drawn}})
		}
		d.closeAgain(id, times-1)
	})
}

// formOver handles that a form was closed, and gives the answer for which it was. What a person did with it goes before.
func (d *driver) formOver(call *agentcli.HookCall, p hook.Payload) {
	i := slices.IndexFunc(d.state.Requests, func(r request) bool { return r.Form != nil && r.Form.Server == p.Server })
	if i < 0 {
		call.Answer(nil)
		return
	}
	reply := d.state.Requests[i].Reply
	if reply == nil || p.Action != dialog.FormCancel {
		if d.closing { // the server gets its answer behind the key that ends the turn, if that does
			d.closing = false
			d.host.After(closeHold, func() { call.Answer(nil) })
		} else {
			call.Answer(nil)
		}
		d.resolve(i, p.Action)
		return
	}
	out := map[string]any{"hookEventName": "ElicitationResult", "action": reply.Action}
	if reply.Action == dialog.FormAccept {
		out["content"] = reply.Content
	}
	body, err := json.Marshal(map[string]any{"hookSpecificOutput": out})
	if err != nil {
		body = nil // it stays closed
	}
	call.Answer(body)
	d.resolve(i, reply.Choice)
}
