package claude

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// errorText finds the status in an error of the model's provider, as claude words it.
var errorText = regexp.MustCompile(`^(?:Please run /login · )?API Error: (?:Request rejected \()?([45][0-9][0-9])\b`)

// cutOff are words of claude about an answer that broke off, rather than about a request that got none.
var cutOff = []string{
	"Connection to the API was lost", "mid-response", "mid-stream", "ECONNRESET", "socket connection was closed", "stalled",
}

// turnError is the error of a turn that claude gave up.
func (f *apiFailure) turnError() *runtime.TurnError {
	status := f.Status
	if m := errorText.FindStringSubmatch(f.Text); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	if status != 0 && status != 408 { // which says that a request came too slowly
		return failure.FromStatus(status, f.Text)
	}
	switch f.Kind {
	case "authentication_failed", "oauth_org_not_allowed":
		return failure.Of(wire.TurnLoginRequired, f.Text)
	case "rate_limit":
		return failure.Of(wire.TurnModelRateLimited, f.Text)
	case "overloaded":
		return failure.Of(wire.TurnModelUnavailable, f.Text)
	case "billing_error", "invalid_request", "model_not_found", "max_output_tokens":
		return failure.Of(wire.TurnModelError, f.Text)
	}
	for _, words := range cutOff {
		if strings.Contains(f.Text, words) {
			return failure.Of(wire.TurnModelCut, f.Text)
		}
	}
	return failure.Of(wire.TurnModelUnavailable, f.Text) // server_error, unknown: there was no answer
}

// turnError is the error of a turn that was a command; nil of one that did not fail.
func (c *localCommand) turnError() *runtime.TurnError {
	if c.failure == "" {
		return nil
	}
	if at := strings.Index(c.failure, "API Error: "); at >= 0 {
		return (&apiFailure{Text: c.failure[at:]}).turnError()
	}
	return failure.Of(wire.TurnUnknown, c.failure)
}

// turnError is the error of a turn whose prompt a hook refused.
func (r *hookRefusal) turnError() *runtime.TurnError {
	reason := strings.TrimSpace(r.Reason)
	if reason == "" {
		reason = "a hook of claude refused the message, and did not say why"
	}
	return failure.Of(wire.TurnHookRefused, reason)
}

// isErrorText reports whether an answer is in truth an error, where the transcript cannot tell.
func isErrorText(answer string) bool { return errorText.MatchString(answer) }
