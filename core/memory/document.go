package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Bounds of what is searched of one experience, in bytes.
const (
	maxObjectiveText = 16 << 10
	maxSummaryText   = 8 << 10
	maxDetailsText   = 8 << 10
)

// document returns the fields of an experience that are indexed.
func document(e *core.Experience) map[string]any {
	return map[string]any{
		"objective": bounded(e.Objective, maxObjectiveText), "summary": bounded(e.Summary, maxSummaryText),
		"about": e.Role + " " + e.Repo, detailsField: detailsText(e.Details),
		"repo": e.Repo, "role": e.Role, "outcome": string(e.Outcome), "execution": e.ExecutionID,
	}
}

// detailsText is the text within the details of an experience.
func detailsText(raw json.RawMessage) string {
	var v any
	if rawjson.Decode(raw, &v) != nil {
		return ""
	}
	var b strings.Builder
	collect(v, &b)
	return bounded(b.String(), maxDetailsText)
}

func collect(v any, b *strings.Builder) {
	if b.Len() > maxDetailsText {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte(' ')
	case []any:
		for _, item := range v {
			collect(item, b)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collect(v[key], b)
		}
	}
}

// bounded shortens s to at most limit bytes of whole characters.
func bounded(s string, limit int) string {
	return strings.ToValidUTF8(clip.Text(s, limit), "")
}
