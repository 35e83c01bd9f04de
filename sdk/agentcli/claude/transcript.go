package claude

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of what is remembered of a transcript.
const (
	maxLine    = 16 << 20 // bytes of an entry; a longer one is left out
	maxOwned   = 1 << 15  // entries whose turn is known
	maxOrphans = 256      // entries that were written before the one that they follow, or before their turn
	maxMessage = 1 << 12  // messages of one turn whose usage is known
	maxAhead   = 4 << 20  // bytes of messages that were written before the driver follows their turn
)

// transcript reads the JSON lines of a session as they are written, and knows what they tell of one turn. claude writes
// them a little late, and not always in order: an entry belongs to the turn of the entry that it follows.
type transcript struct {
	prompt  string // id of the turn that is followed; "" until it is known
	open    bool   // a turn is followed
	loose   bool   // ... of which no id was given: it is that of the newest prompt
	past    string // id of the turn before
	rest    []byte // of a line that is not complete
	skip    bool   // ... which is too long
	owned   map[string]string
	older   map[string]string
	orphans map[string][]*entry
	many    int      // orphans in all
	newest  string   // id of the turn of the entry that was placed last
	lost    bool     // a line behind it could not be read: the next orphan follows that
	alone   bool     // the driver's own was claude's only Stop hook when they ran last
	popped  []string // prompts that were taken back from claude's queue since the last look
	ahead   []ahead  // entries of turns behind the one that is followed, from its prompt on
	further int      // bytes of their messages
	account account
}

// account is what a transcript tells of a turn.
type account struct {
	asked       bool     // the prompt is there
	texts       []string // said since the last call of take
	said        int      // texts in all
	absorbed    []string // prompts that claude took into the turn that ran, since the last look
	last        string   // the last of them
	final       bool     // the last message called no tool
	failure     *apiFailure
	interrupted bool
	over        bool // claude wrote that the turn is over
	stops       int  // how often its Stop hooks ran
	held        bool // one of them keeps claude at work
	goesOn      bool // ... as of the last time that they ran
	refusal     *hookRefusal
	command     *localCommand // that is the turn, in place of a prompt
	model       string
	usage       map[string]usage // by message
}

// apiFailure is an error of the model's provider, as claude tells it.
type apiFailure struct {
	Kind   string // authentication_failed and the like
	Status int    // 0: there was no answer
	Text   string
}

// hookRefusal is that of a prompt by a hook of the user's own.
type hookRefusal struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"` // as the hook has it
}

// localCommand is a command of claude's own that a person ran, such as /compact: no hook reports it.
type localCommand struct {
	over    bool
	failure string // what claude says of it; empty: it did not fail
}

// usage is that of one request.
type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// ahead is an entry that was written before the driver follows its turn.
type ahead struct {
	entry  *entry
	prompt string // id of its turn
}

// entry is one line, as far as it matters.
type entry struct {
	Type      string   `json:"type"`
	Subtype   string   `json:"subtype"`
	ID        string   `json:"uuid"`
	Parent    string   `json:"parentUuid"`
	Prompt    string   `json:"promptId"`
	Sidechain bool     `json:"isSidechain"`
	Meta      bool     `json:"isMeta"`
	Summary   bool     `json:"isCompactSummary"`
	Failed    bool     `json:"isApiErrorMessage"`
	Status    int      `json:"apiErrorStatus"`
	Error     any      `json:"error"`
	Content   any      `json:"content"` // of a note of claude's own
	Prevented bool     `json:"preventedContinuation"`
	Hooks     int      `json:"hookCount"`             // Stop hooks that ran
	Context   []string `json:"hookAdditionalContext"` // what Stop hooks have claude go on with, without an error
	Attached  struct {
		Type   string `json:"type"`
		Prompt any    `json:"prompt"`
	} `json:"attachment"`
	Operation string `json:"operation"` // on the queue of prompts
	Submitted *struct {
		Ending *hookRefusal `json:"ending"`
	} `json:"promptSubmitEnding"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stop_reason"`
		Usage   usage           `json:"usage"`
	} `json:"message"`
}

// follow begins with a turn. Without an id it is the one whose prompt is written next, or after that.
func (t *transcript) follow(prompt string) {
	if t.open && t.prompt != "" && t.prompt == prompt {
		return
	}
	if t.prompt != "" {
		t.past = t.prompt
	}
	t.prompt, t.open, t.loose, t.account = prompt, true, prompt == "", account{}
	t.older, t.owned, t.ahead, t.further = t.owned, nil, nil, 0
}

// recount takes entries that were read before their turn was followed.
func (t *transcript) recount(read []ahead) {
	for _, a := range read {
		t.count(a.entry, a.prompt)
	}
}

// name gives the turn its id.
func (t *transcript) name(prompt string) {
	if t.prompt != prompt {
		t.prompt, t.account = prompt, account{}
	}
	t.loose = false
}

// leave ends with the turn.
func (t *transcript) leave() {
	if t.prompt != "" {
		t.past = t.prompt
	}
	t.prompt, t.open, t.account = "", false, account{}
}

// take returns what was said since the last call.
func (t *transcript) take() []string {
	texts := t.account.texts
	t.account.texts = nil
	return texts
}

// feed takes what the file has grown by.
func (t *transcript) feed(data []byte) {
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if !t.skip {
			t.rest = append(t.rest, line...)
		}
		t.skip = t.skip || len(t.rest) > maxLine
		if t.skip {
			t.rest = nil
		}
		if whole {
			if t.skip {
				t.lost = t.newest != "" // what is cut off at the begin is of no turn
			} else {
				t.line(t.rest)
			}
			t.rest, t.skip = t.rest[:0], false
		}
	}
}

// restart forgets a line that was begun: another part of the file, or another file, comes next.
func (t *transcript) restart(within bool) {
	t.rest, t.skip, t.newest, t.lost = nil, within, "", false
}

func (t *transcript) line(line []byte) {
	var e entry
	switch {
	case len(bytes.TrimSpace(line)) == 0:
	case json.Unmarshal(line, &e) != nil:
		t.lost = true
	case e.Type == "queue-operation" && e.Operation == "popAll" && t.open:
		if prompt, ok := e.Content.(string); ok {
			t.popped = append(t.popped, prompt)
		}
	case e.ID != "":
		t.place(&e)
	}
}

// place finds the turn of an entry. One that follows an unknown entry waits for that, and one that is there again counts once.
func (t *transcript) place(e *entry) {
	if _, again := t.ownerOf(e.ID); again {
		return
	}
	prompt := e.Prompt
	if prompt == "" && e.Parent != "" {
		var known bool
		switch prompt, known = t.ownerOf(e.Parent); {
		case known:
		case t.lost:
			prompt, t.lost = t.newest, false
		default:
			t.wait(e)
			return
		}
	}
	t.newest = prompt
	if e.isStops() {
		t.alone = e.Hooks == 1
	}
	if len(t.owned) >= maxOwned {
		t.older, t.owned = t.owned, nil
	}
	if t.owned == nil {
		t.owned = map[string]string{}
	}
	t.owned[e.ID] = prompt
	t.count(e, prompt)
	children := t.orphans[e.ID]
	delete(t.orphans, e.ID)
	t.many -= len(children)
	for _, child := range children {
		t.place(child)
	}
}

// count takes an entry, whose turn is known, if that is the one that is followed.
func (t *transcript) count(e *entry, prompt string) {
	if t.open && t.loose && e.isPrompt() && e.Prompt != "" && e.Prompt != t.past && e.Prompt != t.prompt {
		if t.prompt != "" { // of a turn that no hook reported
			t.past = t.prompt
		}
		t.prompt, t.account = e.Prompt, account{}
	}
	if t.open && t.loose && t.prompt == "" {
		t.account.run(e)
	}
	if t.open && prompt != "" && prompt == t.prompt {
		t.account.add(e)
		return
	}
	if r := e.refused(); r != nil && t.open && !t.account.asked { // it follows the turn before, or nothing
		t.account.refusal = r
	}
	if size := len(e.Message.Content); t.open && t.account.asked && prompt != "" && prompt != t.past && len(t.ahead) < maxOrphans && t.further+size <= maxAhead {
		t.ahead, t.further = append(t.ahead, ahead{e, prompt}), t.further+size
	}
}

func (t *transcript) ownerOf(id string) (string, bool) {
	if prompt, ok := t.owned[id]; ok {
		return prompt, true
	}
	prompt, ok := t.older[id]
	return prompt, ok
}

func (t *transcript) wait(e *entry) {
	if t.many >= maxOrphans {
		t.orphans, t.many = nil, 0
	}
	if t.orphans == nil {
		t.orphans = map[string][]*entry{}
	}
	t.orphans[e.Parent] = append(t.orphans[e.Parent], e)
	t.many++
}

// isPrompt reports whether an entry is what somebody asked, and no result of a tool, note or command of claude's own.
func (e *entry) isPrompt() bool {
	if e.Type != "user" || e.Meta || e.Summary || e.Sidechain {
		return false
	}
	text := e.text()
	return text != "" && !strings.HasPrefix(text, "<command-name>") && !strings.HasPrefix(text, "<local-command-") &&
		!strings.HasPrefix(text, interruptedMark)
}

// isStops reports whether an entry notes the end of claude's Stop hooks.
func (e *entry) isStops() bool {
	return e.Type == "system" && e.Subtype == "stop_hook_summary" && !e.Sidechain
}

// Marks with which claude writes that a person ran a command of its own, and what came of that.
const (
	commandMark   = "<local-command-caveat>"
	commandOutput = "<local-command-stdout>"
	commandError  = "<local-command-stderr>"
)

// run takes an entry of a turn of which no prompt is known: it may be a command.
func (a *account) run(e *entry) {
	text := e.text()
	if words, ok := e.Content.(string); ok && e.Type == "system" && e.Subtype == "local_command" {
		text = words
	}
	words, failed := strings.CutPrefix(text, commandError)
	switch {
	case strings.HasPrefix(text, commandMark) && a.command == nil:
		a.command = &localCommand{}
	case failed:
		words, _, _ = strings.Cut(words, "</")
		a.command = &localCommand{over: true, failure: strings.TrimSpace(words)}
	case strings.HasPrefix(text, commandOutput):
		a.command = &localCommand{over: true}
	}
}

// interruptedMark begins what claude writes in the name of a person who stopped it.
const interruptedMark = "[Request interrupted by user"

// stopMark begins what a Stop hook gives claude to go on with.
const stopMark = "Stop hook feedback:"

// text returns the words of an entry's message, which is a string or a list of blocks.
func (e *entry) text() string {
	var text string
	if json.Unmarshal(e.Message.Content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return ""
	}
	var b strings.Builder
	for _, block := range blocks {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// add takes an entry of the turn.
func (a *account) add(e *entry) {
	switch e.Type {
	case "user":
		if e.Sidechain {
			return
		}
		switch text := e.text(); {
		case strings.HasPrefix(text, interruptedMark):
			a.interrupted = true
		case e.isPrompt():
			a.asked, a.refusal = true, nil // one before it was of another prompt
		case e.Meta && strings.HasPrefix(text, stopMark):
			a.held = true
		}
	case "attachment":
		if prompt, ok := e.Attached.Prompt.(string); ok && e.Attached.Type == "queued_command" && !e.Sidechain {
			a.absorbed = append(a.absorbed, prompt)
		}
	case "assistant":
		a.answer(e)
	case "system":
		switch {
		case e.Sidechain:
		case e.Subtype == "turn_duration":
			a.over = true
		case e.isStops():
			a.stops++
			a.goesOn, a.held = (a.held || len(e.Context) > 0) && !e.Prevented, false
		default:
			if r := e.refused(); r != nil {
				a.refusal = r
			}
		}
	}
}

// refused returns why an entry says that a prompt was not taken; nil if it does not, or if the refusal is the driver's own.
func (e *entry) refused() *hookRefusal {
	if e.Type != "system" || e.Submitted == nil || e.Submitted.Ending == nil {
		return nil
	}
	r := e.Submitted.Ending
	if r.Reason == composer.RefusalReason || r.Reason == composer.AgainReason {
		return nil
	}
	return r
}

func (a *account) answer(e *entry) {
	if e.Failed {
		if !e.Sidechain {
			kind, _ := e.Error.(string)
			a.failure = &apiFailure{Kind: kind, Status: e.Status, Text: e.text()}
		}
		return
	}
	a.spend(e)
	if e.Sidechain {
		return
	}
	a.failure = nil // what comes after an error overcame it
	a.final = e.Message.Stop != "tool_use"
	if text := e.text(); strings.TrimSpace(text) != "" {
		a.texts, a.last = append(a.texts, text), text
		a.said++
	}
}

// spend takes what a request used.
func (a *account) spend(e *entry) {
	if e.Message.ID == "" || e.Message.Model == syntheticModel {
		return
	}
	if a.usage == nil {
		a.usage = map[string]usage{}
	}
	if _, known := a.usage[e.Message.ID]; known || len(a.usage) < maxMessage {
		a.usage[e.Message.ID] = e.Message.Usage // an entry for each block, with what was known by then
	}
	a.model = e.Message.Model
}

// syntheticModel is given as the model of messages that claude made itself: an error, or what there was of an answer that
// was stopped.
const syntheticModel = "<synthetic>"

// total is what the turn used by now, or nil if nothing is known.
func (a *account) total() *runtime.Usage {
	if len(a.usage) == 0 {
		return nil
	}
	u := &runtime.Usage{Model: a.model, Requests: int64(len(a.usage))}
	for _, one := range a.usage {
		u.InputTokens += one.Input
		u.OutputTokens += one.Output
		u.CacheReadTokens += one.CacheRead
		u.CacheWriteTokens += one.CacheWrite
	}
	return u
}
