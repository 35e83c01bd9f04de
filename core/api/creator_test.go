package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A list whose rows tell who made them selects by that; a new list that does not fails here.
func TestListsSelectByCreator(t *testing.T) {
	r := newRig(t)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string                  `json:"operationId"`
			Parameters  []struct{ Name string } `json:"parameters"`
			Responses   map[string]struct {
				Content map[string]struct{ Schema json.RawMessage } `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
		Components struct{ Schemas map[string]json.RawMessage } `json:"components"`
	}
	if err := json.Unmarshal([]byte(r.do("GET", "/api/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	type shape struct {
		Ref        string           `json:"$ref"`
		Properties map[string]shape `json:"properties"`
		Items      *shape           `json:"items"`
		AllOf      []shape          `json:"allOf"`
	}
	follow := func(s shape) shape {
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			s = shape{}
			if err := json.Unmarshal(doc.Components.Schemas[name], &s); err != nil {
				t.Fatal(name, err)
			}
		}
		return s
	}
	selects := 0
	for path, methods := range doc.Paths {
		op, ok := methods["get"]
		body := op.Responses["200"].Content["application/json"].Schema
		if !ok || body == nil {
			continue
		}
		var s shape
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatal(path, err)
		}
		s = follow(s)
		if _, list := s.Properties["hasMore"]; !list {
			continue
		}
		given := func(name string) bool {
			for _, p := range op.Parameters {
				if p.Name == name {
					return true
				}
			}
			return false
		}
		for _, rows := range s.Properties {
			if rows.Items == nil {
				continue
			}
			if _, tells := follow(*rows.Items).Properties["createdBy"]; !tells {
				continue
			}
			// The queue of a thread is one order of messages, read from a number on.
			if !given("createdBy") && op.OperationID != "listThreadQueue" {
				t.Errorf("%s (%s) tells who made its rows, and does not select by that", path, op.OperationID)
			}
			selects++
		}
	}
	if selects < 12 {
		t.Errorf("%d lists tell who made their rows: the document is read wrongly", selects)
	}
}
