package agentcli

import (
	"slices"
	"sort"
	"strings"
)

// minSecret is the length from which on the value of an environment variable is taken for a secret. Shorter
// ones occur in any text by chance.
const minSecret = 8

// secretNames are words in the names of variables whose values are secrets.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}

// isSecretName reports whether the value of a variable is a secret by its name.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretNames, func(word string) bool { return strings.Contains(name, word) })
}

// redactor takes the secrets of a spec's environment out of what is kept: logs, events, reasons. What is a secret is told
// by the names of variables alone: an ordinary value, such as production, is part of ordinary texts. Addresses with a user
// hold a password whatever their variable is called. Absolute paths and addresses without a user stay, as they say where
// things are and not how to get in.
type redactor struct{ r *strings.Replacer }

func newRedactor(env map[string]string) redactor {
	var values []string
	for name, v := range env {
		v = strings.TrimSpace(v)
		if len(v) < minSecret || isPlace(v) || !isSecretName(name) && !holdsPassword(v) {
			continue
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return redactor{}
	}
	// The longest first: a value that contains another is not left half open.
	sort.Slice(values, func(i, k int) bool { return len(values[i]) > len(values[k]) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, "***")
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// holdsPassword reports whether v is an address with a user and a password.
func holdsPassword(v string) bool {
	_, rest, ok := strings.Cut(v, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, _, at := strings.Cut(authority, "@")
	return ok && at && strings.Contains(user, ":")
}

func isPlace(v string) bool {
	if strings.HasPrefix(v, "/") {
		return true
	}
	scheme, rest, ok := strings.Cut(v, "://")
	return ok && (scheme == "http" || scheme == "https") && !strings.ContainsAny(rest, "@?")
}

// text returns s without secrets.
func (r redactor) text(s string) string {
	if r.r == nil || s == "" {
		return s
	}
	return r.r.Replace(s)
}

// values returns v, the value of a JSON document, without secrets in any string.
func (r redactor) values(v any) any {
	if r.r == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.values(v[i])
		}
		return out
	case map[string]any:
		return r.object(v)
	default:
		return v
	}
}

func (r redactor) object(v map[string]any) map[string]any {
	if r.r == nil || v == nil {
		return v
	}
	out := make(map[string]any, len(v))
	for k, e := range v {
		out[k] = r.values(e)
	}
	return out
}
