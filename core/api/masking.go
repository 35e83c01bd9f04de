package api

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// masks reports whether fields of the answer are masked: some are, and the caller may not read them in clear.
func (c *call) masks() bool {
	m := c.s.opts.Mask
	if m == nil || !m.Active() || c.s.opts.Decide == nil || c.route.OperationID == "getOpenAPI" {
		return false
	}
	a := c.s.action(actionUnmasked)
	return !c.s.opts.Decide(c.ctx, c.principal, core.Access{Action: actionUnmasked, Resource: a.resource, Scope: a.scope}).Allowed
}

// checkSelection refuses to select by what is masked for the caller.
func (c *call) checkSelection() error {
	if c.query.set == 0 && len(c.query.keys) == 0 || !c.masks() {
		return nil
	}
	var problems []core.Problem
	refuse := func(param string) {
		problems = append(problems, core.Problem{Path: param, Reason: "selects by what is masked for you: " + unmaskedHint})
	}
	for i := range c.query.params {
		p := &c.query.params[i]
		if c.query.set&(1<<i) == 0 || p.Type != ParamString && p.Type != ParamList && p.Type != ParamPairs {
			continue
		}
		fields := p.Selects
		if fields == nil {
			fields = []string{p.Name}
		}
		for _, field := range fields {
			path := strings.Split(field, ".")
			if p.Type != ParamPairs {
				if c.hides(path...) {
					refuse(p.Name)
					break
				}
				continue
			}
			for name := range c.query.pairs(p.Name) {
				if c.hides(append(slices.Clip(path), name)...) {
					refuse(p.Name)
				}
			}
		}
	}
	for name, keys := range c.query.keys {
		for key := range keys {
			if c.hides(name, key) {
				refuse(name + "." + schema.Clip(key))
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b core.Problem) int { return strings.Compare(a.Path, b.Path) })
	return maskedSelection(problems)
}

const unmaskedHint = "that needs the scope " + core.ScopeDataUnmasked

// maskedSelection is the refusal to select by masked fields.
func maskedSelection(problems []core.Problem) error {
	err := core.Errorf(core.CodeForbidden, "%s %s", problems[0].Path, problems[0].Reason)
	err.Details = map[string]any{"field": problems[0].Path, "reason": problems[0].Reason, "errors": problems}
	return err
}

// checkFilters refuses filters of a webhook on what is masked for the caller, as what is delivered would tell.
func (c *call) checkFilters(f *core.WebhookFilters) error {
	if f == nil || !c.masks() {
		return nil
	}
	var problems []core.Problem
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if c.hides("metadata", key) {
			problems = append(problems, core.Problem{Path: "filters.metadata." + schema.Clip(key), Reason: "selects by what is masked for you: " + unmaskedHint})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return maskedSelection(problems)
}

// hides reports whether a field of the rows of the route is masked.
func (c *call) hides(path ...string) bool {
	m := c.s.opts.Mask
	return m.Masks(path...) || m.Masks(append([]string{c.route.Resource}, path...)...)
}

var dataLine = []byte("data: ")

// maskFrames returns frames of a stream with the data of each masked.
func maskFrames(m core.Masker, frames []byte) []byte {
	out := make([]byte, 0, len(frames)+64)
	for line := range bytes.Lines(frames) {
		data, ok := bytes.CutPrefix(line, dataLine)
		if !ok {
			out = append(out, line...)
			continue
		}
		data = bytes.TrimSuffix(data, []byte("\n"))
		out = append(append(append(out, dataLine...), m.Mask(data)...), '\n')
	}
	return out
}

// Fields returns the fields of all answers, each as its names from the outside in.
func (s *Server) Fields() [][]string {
	var all [][]string
	seen := map[reflect.Type]bool{}
	for _, route := range s.table {
		for _, resp := range route.Responses {
			if resp.Body != nil {
				all = appendPaths(all, seen, nil, reflect.TypeOf(resp.Body))
			}
		}
	}
	return all
}

// maxFieldDepth bounds how deep the types of answers are looked into.
const maxFieldDepth = 6

// appendPaths appends the fields of a type at a path. A type is looked into once for itself: paths begin anywhere.
func appendPaths(all [][]string, seen map[reflect.Type]bool, path []string, t reflect.Type) [][]string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || seen[t] || len(path) == maxFieldDepth {
		return all
	}
	seen[t] = true
	fields, ok := encode.FieldsOf(t)
	if !ok {
		panic("api: the fields of " + t.String() + " cannot be told apart")
	}
	for _, f := range fields {
		name := append(slices.Clone(path), f.Name)
		all = append(all, name)
		all = appendPaths(all, seen, name, f.Type)
	}
	return all
}
