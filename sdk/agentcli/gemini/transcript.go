package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
)

// outcome is how the last turn of a transcript ended.
type outcome struct {
	Text      string
	Cancelled bool
	Failed    bool
}

// lastTurn reads the last turn of a session's JSON lines: what gemini said last in it, or why it failed. Lines
// that it does not understand are left out, a line that is being written among them.
func lastTurn(transcript []byte) outcome {
	var o outcome
	lines := bytes.Split(transcript, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if !bytes.HasPrefix(lines[i], []byte(`{"id"`)) {
			continue // bookkeeping, which may repeat the whole conversation
		}
		var m struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(lines[i], &m) != nil {
			continue
		}
		switch m.Type {
		case "user":
			if said(m.Content) {
				return o
			}
		case "gemini":
			if text := words(m.Content); text != "" && o.Text == "" && !o.Failed {
				o.Text = text
			}
		case "info":
			o.Cancelled = o.Cancelled || strings.HasPrefix(words(m.Content), "Request cancelled")
		case "error":
			if !o.Failed && o.Text == "" {
				o.Text, o.Failed = words(m.Content), true
			}
		}
	}
	return o
}

// said tells whether a user's entry is a message; results of tools are entries of the user, too.
func said(content json.RawMessage) bool {
	if words(content) != "" {
		return true
	}
	var parts []struct {
		FunctionResponse json.RawMessage `json:"functionResponse"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return false
	}
	for _, p := range parts {
		if p.FunctionResponse != nil {
			return false
		}
	}
	return len(parts) > 0
}

// words returns the text of an entry, which is a string or a list of parts.
func words(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
