package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Bounds of what is read.
const (
	maxDepth = 16  // levels of claims
	MaxText  = 256 // bytes of a subject, a group, a role, a scope, a key id
	maxList  = 512 // groups, roles, scopes
)

// Claims are the members of a token's payload.
type Claims map[string]any

// Parse reads a payload. Members that stand twice are refused, as no two readers agree on them.
func Parse(payload []byte) (Claims, error) {
	if err := Check(payload); err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	var c Claims
	if err := rawjson.Decode(payload, &c); err != nil || c == nil {
		return nil, errors.New("claims are no JSON object")
	}
	return c, nil
}

// Check checks the JSON of a token: its form, its depth, and that no member stands twice.
func Check(text []byte) error {
	if rawjson.TooDeep(text, maxDepth) {
		return fmt.Errorf("more than %d levels deep", maxDepth)
	}
	return rawjson.Check(text)
}

// Text returns a claim that is a text of bounded length without control characters; empty if it is missing.
func (c Claims) Text(name string) (string, error) {
	value, ok := c[name]
	if !ok {
		return "", nil
	}
	s, ok := value.(string)
	if !ok || !Plain(s) {
		return "", fmt.Errorf("claim %s is no text of at most %d bytes", name, MaxText)
	}
	return s, nil
}

// Time returns a claim in seconds since 1970 (RFC 7519, NumericDate); false if it is missing.
func (c Claims) Time(name string) (time.Time, bool, error) {
	value, ok := c[name]
	if !ok {
		return time.Time{}, false, nil
	}
	number, ok := value.(json.Number)
	if !ok {
		return time.Time{}, false, fmt.Errorf("claim %s is no number", name)
	}
	seconds, err := number.Float64()
	const year10000 = 253402300800
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds >= year10000 {
		return time.Time{}, false, fmt.Errorf("claim %s is no time", name)
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*float64(time.Second))), true, nil
}

// Names returns a claim that is a list of texts, or one text, which split cuts. The name may be a path with dots, as
// some providers nest their roles (realm_access.roles); a member of just that name goes first.
func (c Claims) Names(name string, split func(string) []string) ([]string, error) {
	value, ok := c.find(name)
	if !ok {
		return nil, nil
	}
	var list []string
	switch v := value.(type) {
	case string:
		list = split(v)
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("claim %s holds other things than texts", name)
			}
			list = append(list, s)
		}
	default:
		return nil, fmt.Errorf("claim %s is neither a text nor a list of texts", name)
	}
	if len(list) > maxList {
		return nil, fmt.Errorf("claim %s has more than %d entries", name, maxList)
	}
	for _, s := range list {
		if s == "" || !Plain(s) {
			return nil, fmt.Errorf("claim %s holds a text that is empty, too long or has control characters", name)
		}
	}
	return list, nil
}

// Given reports whether there is a claim; the name is as that of Names.
func (c Claims) Given(name string) bool {
	_, ok := c.find(name)
	return ok
}

func (c Claims) find(path string) (any, bool) {
	if value, ok := c[path]; ok {
		return value, true
	}
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return nil, false
	}
	inner, ok := c[head].(map[string]any)
	if !ok {
		return nil, false
	}
	return Claims(inner).find(rest)
}

// Has reports whether a claim is a text that equals want, or a list that holds it.
func (c Claims) Has(name, want string) bool {
	switch v := c[name].(type) {
	case string:
		return v == want
	case []any:
		for _, e := range v {
			if e == want {
				return true
			}
		}
	}
	return false
}

// Whole cuts no text.
func Whole(s string) []string { return []string{s} }

// Plain reports whether a text has bounded length, is UTF-8 and has no control characters.
func Plain(s string) bool {
	return len(s) <= MaxText && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// Nameable reports whether a text looks like itself alone: it has no space around it, and no character that does not show.
func Nameable(s string) bool {
	return strings.TrimSpace(s) == s && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
