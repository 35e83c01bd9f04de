// Package credential tells what is likely a secret: by the name that it stands under, and by its form.
//
// It is a guess, for texts of users of which nothing else is known. Secrets that Wardroom knows as such never reach a place
// that needs it. core/audit and core/webhook call it.
package credential

import (
	"regexp"
	"strings"
)

// Masked is what secrets are replaced with.
const Masked = "***"

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
	`://[^\s/:@]*:[^\s/@]+@`, `\bhttps?://[^\s/?#@]+@`,
}, "|"))

// value finds one that may stand in quotes, which may be those of a text within a text.
const value = `"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\]|\\(?s:.))*'|\\*"[^"]*"|\\*'[^']*'|\S+`

// assigned finds values of variables and options whose names are those of secrets.
var assigned = regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(?:password|passwd|secret|token|api[-_]?key|credential)[A-Za-z0-9_-]*\\*["']?\s*[=:]\s*)(` + value + `)`)

// queried finds values of parameters of addresses that are credentials, under names that say little elsewhere.
var queried = regexp.MustCompile(`(?i)([?&](?:[a-z0-9_.-]*(?:key|signature)|sig|auth|code|pwd|pass)=)[^&#\s"'<>]+`)

// Named reports whether the value of a member, variable or header with a name is a secret.
func Named(name string) bool { return secretName.MatchString(name) }

// Mask replaces what looks like a secret in a text.
func Mask(text string) string {
	text = queried.ReplaceAllString(secretText.ReplaceAllString(text, Masked), "${1}"+Masked)
	return assigned.ReplaceAllString(text, "${1}"+Masked)
}
