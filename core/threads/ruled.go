package threads

import (
	"cmp"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/threads/rules"
)

// Bounds of the rulings in the journal of an execution: of one thread, and the text of one in bytes.
const (
	maxRulings    = 500
	maxRulingText = 200
)

// ruled tells the execution how a prompt is answered, so that its timeline shows who said so. What the approval preset
// answers, as a matter of course, it does not.
func (c *change) ruled(prompt json.RawMessage, ruling *core.PromptRuling) {
	r := c.rec
	if ruling == nil || ruling.By == core.RulingByPreset || r.Rulings >= maxRulings {
		return
	}
	r.Rulings++
	p, _ := rules.ReadPrompt(prompt) // what cannot be read has no text
	raw, err := json.Marshal(core.PromptRuled{
		ThreadID: r.ID, Name: r.Name, Role: r.Role, AgentID: cmp.Or(r.ManagedAgentID, r.AgentID),
		Kind: p.Kind, Tool: p.Tool, Text: clip.Text(p.Text, maxRulingText), Ruling: *ruling,
	})
	if err != nil {
		raw = json.RawMessage("{}") // plain data always encodes
	}
	c.events = append(c.events, core.Event{Type: core.EventPromptRuled, Time: c.now, Subject: c.t.execution, Data: raw, By: c.by})
}
