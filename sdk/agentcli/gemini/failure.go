package gemini

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// status finds the HTTP status in what gemini says of an error: in the provider's own document, or in words.
var status = regexp.MustCompile(`(?i)"code"\s*:\s*([45]\d\d)\b|\bstatus(?: code)?:? ?([45]\d\d)\b|\bHTTP ([45]\d\d)\b`)

// statuses are the names that the provider gives to statuses.
var statuses = map[string]int{
	"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403,
	"NOT_FOUND": 404, "RESOURCE_EXHAUSTED": 429, "INTERNAL": 500, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}

var named = regexp.MustCompile(`\b(?:[Ss]tatus|"status")\s*"?:\s*"?([A-Z_]+)\b`)

// phrases are what gemini says where there is no status.
var phrases = []struct{ words, code string }{
	{"api key not valid", wire.TurnLoginRequired},
	{"api_key_invalid", wire.TurnLoginRequired},
	{"session expired or is unauthorized", wire.TurnLoginRequired},
	{"exhausted your", wire.TurnModelRateLimited},
	{"quota", wire.TurnModelRateLimited},
	{"stream ended", wire.TurnModelCut},
	{"model stream", wire.TurnModelCut},
	{"incomplete json segment", wire.TurnModelCut},
	{"json input", wire.TurnModelCut},
	{"in json at position", wire.TurnModelCut},
	{"is not valid json", wire.TurnModelCut},
	{"no final response text", wire.TurnModelCut},
	{"premature close", wire.TurnModelCut},
	{"terminated", wire.TurnModelCut},
	{"finish reason", wire.TurnModelCut},
	{"empty response", wire.TurnModelCut},
	{"fetch failed", wire.TurnModelUnavailable},
	{"econn", wire.TurnModelUnavailable},
	{"enotfound", wire.TurnModelUnavailable},
	{"eai_again", wire.TurnModelUnavailable},
	{"etimedout", wire.TurnModelUnavailable},
	{"timeout", wire.TurnModelUnavailable},
	{"socket hang up", wire.TurnModelUnavailable},
	{"retry attempts exhausted", wire.TurnModelUnavailable},
}

// turnError returns the error of a turn: of a model that ended its answer early, which it would do again, or of what gemini says.
func (o *outcome) turnError() *runtime.TurnError {
	if o.Cut != "" && (o.Failure == "" || strings.Contains(o.Failure, "empty response")) {
		return failure.Of(wire.TurnModelError, o.Cut)
	}
	return turnError(o.Failure)
}

// unfinished is in what gemini reports, after its own attempts, of an answer that ended as usual but for the reason of its end. Where it has
// no words, the provider blocked the prompt for what is in it, as it would do again: gemini leaves out that the provider says so. Of a
// connection that broke gemini reports other words.
const unfinished = "stream ended without a finish reason"

// wordless reports whether the screen shows such an end, and whether no words of the model stand above it.
func wordless(rows []string) (shown, without bool) {
	above := ""
	for _, row := range rows {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "✕") && strings.Contains(row, unfinished) {
			shown, without = true, underlined(above) || strings.HasPrefix(above, "╰") || strings.HasPrefix(above, "ℹ")
		}
		if row != "" {
			above = row
		}
	}
	return shown, without
}

// blockedError returns the error of a turn whose prompt the provider blocked, by what gemini says of it.
func blockedError(said string) *runtime.TurnError {
	return failure.Of(wire.TurnModelError, reason(said)+
		" That is what gemini reports of a prompt that its provider blocked, and of a gateway that answers with nothing.")
}

// turnError returns the error of a turn by what gemini says of it.
func turnError(said string) *runtime.TurnError {
	low, why := strings.ToLower(said), reason(said)
	for _, p := range phrases[:2] { // a 400 for people who look at it, and no login for gemini
		if strings.Contains(low, p.words) {
			return failure.Of(p.code, why)
		}
	}
	if m := status.FindStringSubmatch(said); m != nil {
		n, _ := strconv.Atoi(m[1] + m[2] + m[3]) // three digits
		return failure.FromStatus(n, why)
	}
	if m := named.FindStringSubmatch(said); m != nil {
		if n := statuses[m[1]]; n != 0 {
			return failure.FromStatus(n, why)
		}
	}
	for _, p := range phrases {
		if strings.Contains(low, p.words) {
			return failure.Of(p.code, why)
		}
	}
	return failure.Of(wire.TurnModelError, why)
}

// reason returns what gemini's words of an error say to people: they quote the provider's document, which may quote another.
func reason(said string) string {
	said = strings.TrimSpace(said)
	begin, end := strings.IndexByte(said, '{'), strings.LastIndexByte(said, '}')
	if begin < 0 || end < begin {
		return said
	}
	var doc struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(said[begin:end+1]), &doc) != nil || doc.Error.Message == "" {
		return said
	}
	return reason(doc.Error.Message)
}

// halted reports whether gemini itself says that it stopped a turn which repeated itself.
func halted(note string) bool { return strings.Contains(note, "The request has been halted") }

// cutShort returns why gemini says that a model ended its answer early, such as at its limit of tokens; empty if it does not say that.
func cutShort(note string) string {
	note = strings.TrimLeft(note, "\u26a0\ufe0f ")
	if strings.HasPrefix(note, "Response truncated ") || strings.HasPrefix(note, "Response stopped ") {
		return note
	}
	return ""
}
