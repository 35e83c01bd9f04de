package audit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxText bounds a text in a record of the level verbose, in bytes.
const maxText = 8 << 10

// masked is what secrets are replaced with.
const masked = "***"

// secretName finds names of members whose values are secrets.
var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|credential|api[-_]?key|private[-_]?key|authorization|cookie|signature)$|^(key|auth|env|headers)$|_key$`)

// secretText finds secrets in texts by their form.
var secretText = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\bwr_[A-Za-z0-9_]{16,}`, `\bwhsec_[A-Za-z0-9+/=_-]{8,}`, // ours
	`\bgh[pousr]_[A-Za-z0-9]{20,}`, `\bgithub_pat_[A-Za-z0-9_]{20,}`, `\bglpat-[A-Za-z0-9_-]{16,}`, `\bxox[abprs]-[A-Za-z0-9-]{10,}`,
	`\bsk-[A-Za-z0-9_-]{16,}`, `\bAIza[A-Za-z0-9_-]{30,}`, `\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, `\bhv[sb]\.[A-Za-z0-9_-]{20,}`,
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, // tokens (JWT)
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
	`\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`,
	`://[^\s/:@]+:[^\s/@]+@`,
}, "|"))

// assigned finds values of variables and options whose names are those of secrets.
var assigned = regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(?:password|passwd|secret|token|api[-_]?key|credential)[A-Za-z0-9_-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|\S+)`)

// maskText replaces what looks like a secret.
func maskText(text string) string {
	return assigned.ReplaceAllString(secretText.ReplaceAllString(text, masked), "${1}"+masked)
}

// Text implements core.AuditService.
func (s *Service) Text(text []byte) string {
	if c := s.config.Load(); !c.Enabled || c.Level < Verbose {
		return ""
	}
	if s.opts.Mask.Active() && len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		text = s.opts.Mask.Mask(text)
	}
	return maskBody(text)
}

// maskRecord masks the fields of a record that paths name. Details that a record needs to be found by stay as every frame
// does; the form of details is canonical before and after.
func (s *Service) maskRecord(r *wire.AuditRecord) {
	m := s.opts.Mask
	r.Actor.IP = m.MaskText("actor.ip", r.Actor.IP)
	r.Actor.UserAgent = m.MaskText("actor.userAgent", r.Actor.UserAgent)
	if len(r.Details) == 0 {
		return
	}
	around := append(append([]byte(`{"details":`), r.Details...), '}')
	masked := m.Mask(around)
	if bytes.Equal(masked, around) {
		return
	}
	details, _ := rawjson.Field(masked, "details")
	canonical, err := trail.Canonical(details)
	if err != nil { // rather none than those in clear
		canonical = nil
	}
	r.Details = canonical
}

// noMask masks nothing.
type noMask struct{}

func (noMask) Active() bool                   { return false }
func (noMask) Mask(raw []byte) []byte         { return raw }
func (noMask) MaskText(_, text string) string { return text }

// maskBody masks a body, by the names of its members if it is JSON, and cuts it.
func maskBody(text []byte) string {
	if len(text) > 16*maxText { // beyond that nobody reads on, and a cut JSON would not be known as one
		return clip.Marked(maskText(strings.ToValidUTF8(string(text[:16*maxText]), "\uFFFD")), maxText, "...")
	}
	var v any
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Unmarshal(text, &v) == nil {
		if plain, err := json.Marshal(maskValue(v)); err == nil {
			return clip.Marked(string(plain), maxText, "...")
		}
	}
	return clip.Marked(maskText(strings.ToValidUTF8(string(text), "\uFFFD")), maxText, "...")
}

// maskValue masks a value of JSON in place.
func maskValue(v any) any {
	switch v := v.(type) {
	case string:
		return maskText(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	case map[string]any:
		for name, value := range v {
			if secretName.MatchString(name) {
				v[name] = masked
			} else {
				v[name] = maskValue(value)
			}
		}
	}
	return v
}
