package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

	"github.com/wardroom/wardroom/core"
)

// decisionPrint is the same for decisions of an execution that say the same.
func decisionPrint(d *core.Decision) string { return fingerprint(d.Category, d.Summary) }

// experiencePrint is the same for experiences that say the same.
func experiencePrint(e *core.Experience) string {
	return fingerprint(e.Objective, e.Summary, e.Repo, e.Role, string(e.Outcome))
}

// fingerprint hashes texts as they read: case, white space and the digits of ids make no difference.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(normal(part)))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// id finds what names one thing of many: ids of ours, UUIDs, and hashes.
var id = regexp.MustCompile(`\b(?:[a-z]{1,8}_[0-9a-z]{26}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{7,64})\b`)

// normal is a text without what makes no difference.
func normal(s string) string {
	s = strings.ToLower(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " "))
	return id.ReplaceAllStringFunc(s, func(found string) string {
		if !strings.ContainsAny(found, "0123456789") || strings.Trim(found, "0123456789") == "" {
			return found // a word, such as defaced, or a number
		}
		return "#"
	})
}
