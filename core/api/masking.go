package api

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
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
