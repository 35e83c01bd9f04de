package api_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

// contentFields are names of fields of answers that hold what people and agents wrote.
var contentFields = []string{
	"input", "inputs", "result", "results", "output", "objective", "payload", "answer", "answers", "screen", "summary", "patch", "content", "question",
}

// withoutContent are the routes whose answers have such a field, and no content of executions in it.
var withoutContent = map[string]string{
	"getPattern": "the declared inputs and outputs", "createPattern": "likewise", "updatePattern": "likewise", "validatePattern": "likewise", "patternSchema": "likewise",
}

// Every route by which content is read leaves a record at any level, and every route whose answer has a field for content is
// one of those.
func TestContentReadsAreRecorded(t *testing.T) {
	audit := &fakeAudit{}
	r := newRig(t, func(o *api.Options) {
		o.Audit = audit
		o.Config.RecordReads = true
	})
	recorded := map[string]int{}
	for _, route := range r.server.Table() {
		if route.Method == "" || route.Action == "" {
			continue
		}
		reads := route.Method == http.MethodGet || strings.HasSuffix(route.Action, ".read")
		content := r.server.Contents(route.Resource)
		for _, resp := range route.Responses {
			if resp.Body == nil || !hasContent(reflect.TypeOf(resp.Body), map[reflect.Type]bool{}) || withoutContent[route.OperationID] != "" {
				continue
			}
			if !content && reads {
				t.Errorf("%s has content in its answer, and %s is no resource with content", route.OperationID, route.Resource)
			}
		}
		if !reads || !content || route.Method != http.MethodGet || route.Public != nil || route.Detached {
			continue
		}
		audit.mu.Lock()
		audit.entries = nil
		audit.mu.Unlock()
		got := r.head(paths.Replace(route.Path))
		audit.mu.Lock()
		entries := slices.Clone(audit.entries)
		audit.mu.Unlock()
		if got >= 400 && route.Stream == nil { // a stream is recorded before it begins
			recorded["refused"]++ // by the fakes, which know few ids
			continue
		}
		if len(entries) != 1 || entries[0].Action != route.Action || entries[0].Outcome != wire.AuditSuccess {
			t.Errorf("%s: %d, records %+v", route.Path, got, entries)
		}
		recorded[route.Resource]++
	}
	for resource := range map[string]bool{
		"executions": true, "threads": true, "agents": true, "experiences": true, "workspaces": true, "webhooks": true, "inbox": true, "schedules": true,
		"triggers": true, "events": true, "plugins": true,
	} {
		if recorded[resource] == 0 {
			t.Errorf("no read of %s was recorded: %v", resource, recorded)
		}
	}
	if recorded["refused"] > 6 {
		t.Errorf("%d routes refused the test's request", recorded["refused"])
	}
}

// hasContent reports whether a type of answers has a field for content.
func hasContent(t reflect.Type, seen map[reflect.Type]bool) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return false
	}
	seen[t] = true
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(contentFields, name) || hasContent(f.Type, seen) {
			return true
		}
	}
	return false
}

// head asks for a path without its body, and returns the status.
func (r *rig) head(path string) int {
	r.tb.Helper()
	req, err := http.NewRequestWithContext(r.tb.Context(), http.MethodHead, r.http.URL+path, nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
