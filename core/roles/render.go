package roles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Bounds of a message, in bytes: it is typed into a terminal.
const (
	maxText    = 384 << 10
	maxSubject = 128 << 10 // of a subject or feedback
	maxResults = 64 << 10  // of all earlier results
)

// taskText is a task as a message for a coding tool: what is to be done, and then what is known of it. Equal tasks
// have equal texts, which a repeat after a restart needs.
func taskText(t *core.Task) string {
	var in struct {
		Task      *string         `json:"task"`
		Step      string          `json:"step"`
		Subject   json.RawMessage `json:"subject"`
		Feedback  json.RawMessage `json:"feedback"`
		Previous  json.RawMessage `json:"previousAnswer"`
		Results   json.RawMessage `json:"results"`
		Truncated bool            `json:"resultsTruncated"`
	}
	var b strings.Builder
	if json.Unmarshal(t.Input, &in) != nil || in.Task == nil {
		fmt.Fprintf(&b, "Do the work that this input asks for, as the role %s. Answer with the result.", t.Role)
		section(&b, "Input", t.Input, maxSubject)
		return finish(&b)
	}
	b.WriteString(strings.TrimSpace(*in.Task))
	section(&b, "What it is about", in.Subject, maxSubject)
	section(&b, "Feedback on the work so far", in.Feedback, maxSubject)
	section(&b, "Your answer before", in.Previous, maxSubject)
	results(&b, in.Results, in.Truncated)
	if t.Role != "" {
		fmt.Fprintf(&b, "\n\nYour role is %s.", t.Role)
	}
	return finish(&b)
}

// results writes what earlier steps gave, in the order that they stand in.
func results(b *strings.Builder, raw json.RawMessage, truncated bool) {
	if rawjson.KindOf(raw) != rawjson.Object {
		return
	}
	left := maxResults
	for it := rawjson.Walk(raw); it.Next(); {
		if left <= 0 {
			truncated = true
			break
		}
		before := b.Len()
		section(b, "Result of step "+string(rawjson.Unquote(it.Key)), it.Value, left)
		left -= b.Len() - before
	}
	if truncated {
		b.WriteString("\n\n(Older results are left out.)")
	}
}

// section writes a titled value: text as it is, anything else as JSON in a fence. Nothing for no value.
func section(b *strings.Builder, title string, value json.RawMessage, most int) {
	switch rawjson.KindOf(value) {
	case rawjson.Invalid, rawjson.Null:
		return
	case rawjson.String:
		said := strings.TrimSpace(text(value))
		if said == "" {
			return
		}
		fmt.Fprintf(b, "\n\n%s:\n%s", title, cut(said, most))
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return
	}
	fmt.Fprintf(b, "\n\n%s:\n```json\n%s\n```", title, cut(pretty.String(), most))
}

// cut bounds a text, and says so.
func cut(said string, most int) string {
	return clip.Marked(said, most, "\n[... cut here]")
}

// finish makes a message that can be typed: bounded, valid, and without what a terminal would take for a key.
func finish(b *strings.Builder) string {
	said := strings.ToValidUTF8(cut(b.String(), maxText), "\uFFFD")
	said = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return -1
		}
		return r
	}, strings.ReplaceAll(said, "\r\n", "\n"))
	if strings.TrimSpace(said) == "" {
		return "(The task has no text.)"
	}
	return said
}

// messageText is a message of another role as one for a coding tool.
func messageText(m *core.AgentMessage) string {
	var b strings.Builder
	who := "The role " + m.From
	if m.From == "user" || m.From == "" {
		who = "A person"
	}
	about := ""
	if m.Topic != "" {
		about = " about " + m.Topic
	}
	if m.WantsReply {
		fmt.Fprintf(&b, "%s asks you%s (%s). Answer it; your answer is passed on as it is.", who, about, m.MessageType)
	} else {
		fmt.Fprintf(&b, "%s tells you%s (%s). Nothing is to be done now; say in a few words that you took note.", who, about, m.MessageType)
	}
	section(&b, "Message", m.Content, maxSubject)
	return finish(&b)
}
