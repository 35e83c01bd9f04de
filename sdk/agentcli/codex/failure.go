package codex

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// failed is the error of a turn in a transcript. Info is a name, or an object with the name as its key and the HTTP status
// in its value.
type failed struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codex_error_info,omitempty"`
}

// info returns the name of the error, and the HTTP status or 0.
func (f *failed) info() (name string, status int) {
	if json.Unmarshal(f.Info, &name) == nil {
		return name, 0
	}
	var named map[string]struct {
		Status int `json:"http_status_code"`
	}
	if json.Unmarshal(f.Info, &named) == nil {
		for name, v := range named {
			return name, v.Status
		}
	}
	return "", 0
}

// turnError returns the error as callers see it.
func (f *failed) turnError() *runtime.TurnError {
	if strings.Contains(f.Message, incomplete) {
		return failure.Of(wire.TurnModelError, words(f.Message))
	}
	name, status := f.info()
	if status >= http.StatusBadRequest {
		return failure.FromStatus(status, words(f.Message))
	}
	switch name {
	case "unauthorized":
		return failure.Of(wire.TurnLoginRequired, words(f.Message))
	case "usage_limit_exceeded", "rate_limit_exceeded":
		return failure.Of(wire.TurnModelRateLimited, words(f.Message))
	case "server_overloaded", "internal_server_error", "http_connection_failed", "response_stream_connection_failed",
		"response_too_many_failed_attempts":
		return failure.Of(wire.TurnModelUnavailable, words(f.Message))
	case "response_stream_disconnected":
		return failure.Of(wire.TurnModelCut, words(f.Message))
	}
	return worded(f.Message)
}

// incomplete is in the error of an answer that the model ended early, such as for what was in it: it would do so again.
const incomplete = "Incomplete response returned"

var statusWords = regexp.MustCompile(`\bstatus:? ([1-5][0-9]{2})\b`)

// worded returns the error that codex's own words mean, where they are all that is known.
func worded(message string) *runtime.TurnError {
	said := words(message)
	if m := statusWords.FindStringSubmatch(message); m != nil {
		if status, err := strconv.Atoi(m[1]); err == nil && status >= http.StatusBadRequest {
			return failure.FromStatus(status, said)
		}
	}
	for _, known := range []struct{ words, code string }{
		{"Missing environment variable", wire.TurnLoginRequired},
		{incomplete, wire.TurnModelError},
		{"error sending request", wire.TurnModelUnavailable},
		{"onnection failed", wire.TurnModelUnavailable},
		{"stream disconnected", wire.TurnModelCut},
		{"high demand", wire.TurnModelUnavailable},
		{"timed out", wire.TurnModelUnavailable},
		{"timeout", wire.TurnModelUnavailable},
		{"usage limit", wire.TurnModelRateLimited},
	} {
		if strings.Contains(message, known.words) {
			return failure.Of(known.code, said)
		}
	}
	return failure.Of(wire.TurnModelError, said)
}

// words returns what a message says to people: codex repeats the JSON of a provider that refused a request.
func words(message string) string {
	var doc struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(message), &doc) == nil {
		if doc.Error.Message != "" {
			return doc.Error.Message
		}
		if doc.Message != "" {
			return doc.Message
		}
	}
	if message = strings.TrimSpace(message); message == "" {
		return "codex does not say why"
	}
	return message
}

// complaint returns the error that stands last on the screen, or empty.
func complaint(rows []string) string {
	for i := len(rows) - 1; i >= 0; i-- {
		text, ok := strings.CutPrefix(rows[i], "■ ")
		if !ok {
			continue
		}
		for _, row := range rows[i+1:] {
			if row = strings.TrimSpace(row); row == "" {
				break
			}
			text += " " + row
		}
		return strings.TrimSpace(text)
	}
	return ""
}
