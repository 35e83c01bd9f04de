// Package hook reads what coding CLIs give to their hooks, and writes what calls them.
//
// It owns the fields that the CLIs share (they follow one another closely) and the shell command of a hook. It
// does not own the meaning of an event for a CLI: the adapters of sdk/agentcli, which call it, do.
package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// MaxPayload bounds what Parse reads. Inputs of tools may hold whole files; beyond this nobody looks at them.
const MaxPayload = 8 << 20

// Bounds of what Parse keeps of names and ids, and of a path, in bytes: what runs beside an agent can call hooks too.
const (
	maxName = 200
	maxPath = 4 << 10
)

// Payload is the standard input of a hook. Fields that an event lacks are zero.
type Payload struct {
	Event      string         `json:"hook_event_name"`
	SessionID  string         `json:"session_id"`
	Transcript string         `json:"transcript_path"`
	Workdir    string         `json:"cwd"`
	TurnID     string         `json:"turn_id"`   // codex
	PromptID   string         `json:"prompt_id"` // claude: of the turn
	AgentID    string         `json:"agent_id"`  // of an agent that the CLI's own one started; else empty
	Prompt     string         `json:"prompt"`
	Source     string         `json:"source"` // of a session's start
	Tool       string         `json:"tool_name"`
	Input      wire.ToolInput `json:"tool_input"`
	ToolUseID  string         `json:"tool_use_id"`
	Answer     string         `json:"last_assistant_message"`
	Error      string         `json:"error"` // of a failed turn
	// Suggestions are the permissions that claude would store for good, as it wants them back.
	Suggestions []json.RawMessage `json:"permission_suggestions"`
	AgentFile   string            `json:"agent_transcript_path"` // of AgentID
	// Server, Schema, URL and Action are of what an MCP server asks claude's user in Message, and of what became of it.
	Server string          `json:"mcp_server_name"`
	Schema json.RawMessage `json:"requested_schema"`
	URL    string          `json:"url"`
	Action string          `json:"action"`
	// Notification and Details are gemini's.
	Notification string         `json:"notification_type"`
	Message      string         `json:"message"`
	Details      wire.ToolInput `json:"details"`
}

// Parse reads a payload. A field of an unexpected type is an error, so that a changed CLI is noticed and not
// half understood.
func Parse(data []byte) (Payload, error) {
	var p Payload
	if len(data) > MaxPayload {
		return p, fmt.Errorf("hook: a payload of %d bytes is larger than %d", len(data), MaxPayload)
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return p, fmt.Errorf("hook: the payload is not a JSON object")
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return Payload{}, fmt.Errorf("hook: the payload is not understood: %w", err)
	}
	for _, name := range []*string{&p.Event, &p.SessionID, &p.TurnID, &p.PromptID, &p.AgentID, &p.Source, &p.Tool, &p.ToolUseID, &p.Notification, &p.Server, &p.Action} {
		*name = clip.Text(*name, maxName)
	}
	for _, name := range []*string{&p.Transcript, &p.AgentFile, &p.Workdir} {
		*name = clip.Text(*name, maxPath)
	}
	return p, nil
}

// Command returns argv and the name of an event as one command of a POSIX shell.
func Command(argv []string, event string) string {
	words := make([]string, 0, len(argv)+1)
	for _, a := range append(append([]string{}, argv...), event) {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
