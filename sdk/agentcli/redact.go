package agentcli

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// minSecret is the length from which on the value of an environment variable is taken for a secret. Shorter
// ones occur in any text by chance.
const minSecret = 8

// redacted stands where a secret was.
const redacted = "***"

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
type redactor struct {
	r       *strings.Replacer
	secrets []string // longest first
}

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
		pairs = append(pairs, v, redacted)
	}
	return redactor{strings.NewReplacer(pairs...), values}
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
	return r.r.Replace(r.joined(s))
}

// joined returns s without the secrets that line breaks are in: a terminal breaks those that do not fit into a row.
func (r redactor) joined(s string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; at++ {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			break
		}
		at += next
		if begin, end := r.around(s, done, at); end > 0 {
			b.WriteString(s[done:begin])
			b.WriteString(redacted)
			done, at = end, end-1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// around returns where the secret is in s that has the line break at a place, and begins at from or later; end is 0 if there
// is none.
func (r redactor) around(s string, from, at int) (begin, end int) {
	for _, v := range r.secrets {
		for n := min(len(v)-1, at-from); n > 0; n-- {
			if s[at-n:at] != v[:n] {
				continue
			}
			if rest := broken(s[at:], v[n:]); rest > 0 {
				return at - n, at + rest
			}
		}
	}
	return 0, 0
}

// broken returns the length of what s begins with if that is a text with line breaks in it, and else 0.
func broken(s, text string) int {
	i := 0
	for ; text != ""; i++ {
		switch {
		case i == len(s):
			return 0
		case s[i] == text[0]:
			text = text[1:]
		case s[i] != '\n':
			return 0
		}
	}
	return i
}

// whole returns how much of s cannot be the begin of a secret that goes on behind it, on another line or not.
func (r redactor) whole(s string) int {
	whole := len(s)
	for _, v := range r.secrets {
		for n := len(v) - 1; n > 0; n-- {
			left, at := v[:n], len(s)
			for left != "" && at > 0 && (s[at-1] == '\n' || s[at-1] == left[len(left)-1]) {
				at--
				if s[at] != '\n' {
					left = left[:len(left)-1]
				}
			}
			if left == "" {
				whole = min(whole, at)
				break
			}
		}
	}
	return whole
}

// values returns v, the value of a JSON document, without secrets in any string or number.
func (r redactor) values(v any) any {
	if r.r == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return r.text(v)
	case json.Number: // a secret may be of digits alone
		if s := r.text(string(v)); s != string(v) {
			return s
		}
		return v
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
