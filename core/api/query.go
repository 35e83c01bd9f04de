package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// words are the values that an enum takes.
func words[W ~string](values []W) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// query holds the query parameters of a request, checked against its route.
type query struct {
	params []Param
	values []string                     // by index of params; defaults filled in
	set    uint64                       // bit i: the client gave params[i]
	keys   map[string]map[string]string // of ParamKeys, by name and key
}

// readQuery parses the query strictly: unknown, repeated and malformed parameters are problems, all
// reported at once. A parameter that begins with an underscore means nothing to the server and is passed over.
func (c *call) readQuery() error {
	c.query = query{params: c.route.Query}
	raw := c.r.URL.RawQuery
	if raw == "" {
		return nil
	}
	if c.route.OperationID == c.s.unmatched.OperationID || c.route.OperationID == c.s.refused.OperationID {
		return nil
	}
	c.query.values = make([]string, len(c.query.params))
	var problems []core.Problem
	bad := func(name, format string, args ...any) {
		problems = append(problems, core.Problem{Path: schema.Clip(name), Reason: fmt.Sprintf(format, args...)})
	}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err1 != nil || err2 != nil {
			bad(rawName, "must be percent-encoded properly")
			continue
		}
		i := c.query.index(name)
		if i >= 0 && c.query.params[i].Type == ParamKeys {
			bad(name, "must be %s.KEY=VALUE", name)
			continue
		}
		if i < 0 {
			if prefix, key, ok := strings.Cut(name, "."); ok && c.query.isKeys(prefix) {
				if reason := c.query.takeKey(prefix, key, value); reason != "" {
					bad(name, "%s", reason)
				}
				continue
			}
		}
		switch {
		case i < 0 && (c.route.OpenQuery || strings.HasPrefix(name, "_")): // clients and proxies make addresses unique with ?_=123
		case i < 0:
			bad(name, "unknown query parameter%s", schema.Hint("", schema.Clip(name), c.query.names()))
		case c.query.set&(1<<i) != 0 && c.query.params[i].Type != ParamPairs:
			bad(name, "is given twice")
		default:
			if c.query.set&(1<<i) != 0 {
				c.query.values[i] += pairEnd + value // no value holds that
			} else {
				c.query.values[i] = value
			}
			c.query.set |= 1 << i
			if reason := c.query.params[i].check(value); reason != "" {
				bad(name, "%s", reason)
			}
		}
		if len(problems) >= schema.MaxProblems {
			break
		}
	}
	return core.InvalidAll("invalid query", problems)
}

// check returns what is wrong with a value, or "".
func (p *Param) check(value string) string {
	switch p.Type {
	case ParamInteger:
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
			return fmt.Sprintf("must be a whole number, not %q", schema.Clip(value))
		case p.Max > 0 && (n < p.Min || n > p.Max):
			return fmt.Sprintf("must be from %d to %d, not %d", p.Min, p.Max, n)
		case n < p.Min:
			return fmt.Sprintf("must be at least %d, not %d", p.Min, n)
		}
	case ParamBoolean:
		if value != "true" && value != "false" {
			return fmt.Sprintf("must be true or false, not %q", schema.Clip(value))
		}
	case ParamTime:
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return fmt.Sprintf("must be an RFC 3339 time such as 2026-01-02T15:04:05Z, not %q", schema.Clip(value))
		}
	case ParamString, ParamList, ParamPairs:
		values := []string{value}
		if p.Type == ParamList {
			values = listItems(value)
		}
		for _, one := range values {
			if len(p.Enum) > 0 && !slices.Contains(p.Enum, one) {
				return fmt.Sprintf("must be one of %s, not %q", strings.Join(p.Enum, ", "), schema.Clip(one))
			}
		}
		if strings.ContainsRune(value, 0) || strings.ToValidUTF8(value, "") != value {
			return "must be UTF-8 without NUL"
		}
		if most := p.maxLength(); len(value) > most {
			return fmt.Sprintf("must be at most %d bytes", most)
		}
		if before, _, ok := strings.Cut(value, "="); p.Type == ParamPairs && (!ok || before == "") {
			return fmt.Sprintf("must be name=value, not %q", schema.Clip(value))
		}
	}
	return ""
}

// maxQueryValue and maxQueryList bound a text and a list in the query, in bytes.
const (
	maxQueryValue = 1024
	maxQueryList  = 8192
)

func (p *Param) maxLength() int {
	if p.MaxBytes > 0 {
		return p.MaxBytes
	}
	if p.Type == ParamList {
		return maxQueryList
	}
	return maxQueryValue
}

func (q *query) index(name string) int {
	for i := range q.params {
		if q.params[i].Name == name {
			return i
		}
	}
	return -1
}

func (q *query) names() []string {
	names := make([]string, len(q.params))
	for i := range q.params {
		names[i] = q.params[i].Name
	}
	return names
}

// given reports whether the client sent the parameter.
func (q *query) given(name string) bool {
	i := q.index(name)
	return i >= 0 && q.set&(1<<i) != 0
}

// text returns a parameter, or its default.
func (q *query) text(name string) string {
	i := q.index(name)
	if i < 0 {
		panic("api: the route declares no query parameter " + name)
	}
	if q.set&(1<<i) != 0 {
		return q.values[i]
	}
	return q.params[i].Default
}

func (q *query) integer(name string) int64 {
	n, _ := strconv.ParseInt(q.text(name), 10, 64) // checked by readQuery
	return n
}

func (q *query) boolean(name string) bool { return q.text(name) == "true" }

// time returns a parameter, or the zero time.
func (q *query) time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339, q.text(name)) // checked by readQuery
	return t
}

// pairEnd stands between the values of a parameter that was given several times.
const pairEnd = "\x00"

// pairs returns a parameter of names and values; nil if it was not given. Of a name that came twice the last one counts.
func (q *query) pairs(name string) map[string]string {
	if !q.given(name) {
		return nil
	}
	all := map[string]string{}
	for pair := range strings.SplitSeq(q.text(name), pairEnd) {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

// maxQueryKeys bounds the parameters of one ParamKeys.
const maxQueryKeys = 32

func (q *query) isKeys(name string) bool {
	i := q.index(name)
	return i >= 0 && q.params[i].Type == ParamKeys
}

// takeKey takes NAME.KEY, and returns what is wrong with it, or "".
func (q *query) takeKey(name, key, value string) string {
	for _, text := range []string{key, value} {
		if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text {
			return "must be UTF-8 without NUL"
		}
		if len(text) > core.MaxIndexedBytes {
			return fmt.Sprintf("must be at most %d bytes", core.MaxIndexedBytes)
		}
	}
	all := q.keys[name]
	switch _, twice := all[key]; {
	case key == "":
		return "must name a key"
	case twice:
		return "is given twice"
	case len(all) == maxQueryKeys:
		return fmt.Sprintf("is one of too many: at most %d are taken", maxQueryKeys)
	}
	if q.keys == nil {
		q.keys = map[string]map[string]string{}
	}
	if all == nil {
		q.keys[name] = map[string]string{}
	}
	q.keys[name][key] = value
	return ""
}

// list splits a comma-separated parameter.
func (q *query) list(name string) []string { return listItems(q.text(name)) }

func listItems(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
