package report

import (
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
)

// Bounds of what is taken from a block. What is longer is cut, what is more is left out.
const (
	MaxSummary   = 4000 // characters
	MaxArtifacts = 50
	MaxArtifact  = 4000 // characters of a value
	MaxDecisions = 20
	MaxDecision  = 2000 // characters
	MaxCommand   = 1000 // characters of the command of tests
)

// maxBody bounds the text of a block, in bytes; a longer one is none.
const maxBody = 256 << 10

// maxBehind is how many bytes of other text may follow a block, so that it still ends the message.
const maxBehind = 600

// Read returns what an agent reports at the end of a message, and false when there is no report. Only the last fenced
// block of the message counts, or an object that the message ends with. It must be marked as wardroom, or look like
// a report and like nothing else: known fields only, a state and a summary. A report without a state says that the
// work goes on.
func Read(text string) (core.AgentOutcome, bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	b, ok := lastBlock(text)
	if !ok {
		b, ok = lastObject(text)
	}
	if !ok || len(b.body) > maxBody || len(strings.TrimSpace(b.behind)) > maxBehind {
		return core.AgentOutcome{}, false
	}
	fields, ok := parseObject(b.body)
	if !ok || !b.ours && !plain(fields) {
		return core.AgentOutcome{}, false
	}
	return outcome(fields, b.ours)
}

// plain reports whether an object without a mark is a report: agents also show objects that are about other things.
func plain(fields map[string]any) bool {
	for key := range fields {
		switch key {
		case "state", "summary", "tests", "artifacts", "decisions":
		default:
			return false
		}
	}
	state, _ := fields["state"].(string)
	summary, _ := fields["summary"].(string)
	return state != "" && strings.TrimSpace(summary) != ""
}

// outcome reads the fields. Marked tells that words other than the four states may stand for them.
func outcome(fields map[string]any, marked bool) (core.AgentOutcome, bool) {
	var o core.AgentOutcome
	said := false
	if value, there := fields["state"]; there && value != nil {
		word, _ := value.(string)
		state, ok := readState(word, marked)
		if !ok {
			return core.AgentOutcome{}, false
		}
		o.State, said = state, true
	}
	if s, ok := fields["summary"].(string); ok {
		o.Summary = cut(clean(s), MaxSummary)
	}
	o.Tests = readTests(fields["tests"])
	o.Artifacts = readArtifacts(fields["artifacts"])
	o.Decisions = readDecisions(fields["decisions"])
	said = said || o.Summary != "" || o.Tests != nil || len(o.Artifacts) > 0 || len(o.Decisions) > 0
	return o, said
}

// readState reads the word of a state; "" with true is work that goes on.
func readState(word string, loosely bool) (core.CompletionState, bool) {
	word = strings.ToLower(strings.TrimSpace(word))
	switch word {
	case "complete":
		return core.CompletionComplete, true
	case "partial":
		return core.CompletionPartial, true
	case "failed":
		return core.CompletionFailed, true
	case "working":
		return "", true
	}
	if !loosely {
		return "", false
	}
	switch strings.NewReplacer("-", " ", "_", " ").Replace(word) {
	case "completed", "done", "finished", "success", "successful", "succeeded":
		return core.CompletionComplete, true
	case "partially complete", "partially completed", "incomplete":
		return core.CompletionPartial, true
	case "fail", "failure", "error", "unsuccessful":
		return core.CompletionFailed, true
	case "in progress", "running", "ongoing", "continue", "continuing", "waiting", "blocked":
		return "", true
	}
	return "", false
}

// clean leaves the text that people read: no control characters but line ends and tabs, no broken bytes.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// ellipsis ends a text that was cut.
const ellipsis = "…"

// cut shortens s to limit characters, at the end of a word if one is near.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	n, end := 0, 0
	for i := range s {
		if n++; n == limit { // the ellipsis is one
			end = i
			break
		}
	}
	s = s[:end]
	if i := strings.LastIndexAny(s, " \n\t"); i > len(s)*2/3 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \n\t,;:") + ellipsis
}
