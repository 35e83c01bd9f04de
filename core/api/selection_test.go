package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// unmaskable are the parameters that no masking can be about: the fields that they select by are the frame of rows, they name
// no field, or what they are about is masked before it is kept.
var unmaskable = []string{
	"cursor", "status", "type", "agentType", "category", "outcome", "source", "topics", "subjects", "lastEventId", "version", "format", "errorCode", "batchId",
	"executionId", "threadIds", "agentIds", "event", "action", "actor", "resource", "runtime", "code", "state", "iss", "error", "error_description", "returnTo",
}

// fieldMasker masks fields by the ends of their paths, and leaves answers as they are.
type fieldMasker []string

func (fieldMasker) Active() bool                   { return true }
func (fieldMasker) Mask(raw []byte) []byte         { return raw }
func (fieldMasker) MaskText(_, text string) string { return text }
func (m fieldMasker) Masks(path ...string) bool {
	at := "." + strings.Join(path, ".")
	return slices.ContainsFunc(m, func(field string) bool { return strings.HasSuffix(at, "."+field) })
}

// Who may not read a field in clear may not select by it either, or could find out what it holds by asking: no route of the
// table takes such a parameter.
func TestMaskedSelection(t *testing.T) {
	masker := fieldMasker{
		"metadata.ssn", "createdBy", "description", "objective", "labels.ssn", "pattern", "region", "repo", "role", "capabilities", "owner", "user", "name", "statusReason",
	}
	may := false
	r := newRig(t, func(o *api.Options) {
		o.Mask = masker
		o.Decide = func(_ context.Context, _ core.Principal, a core.Access) core.Ruling {
			return core.Ruling{Allowed: a.Action != "data.unmasked" || may}
		}
	})
	refused := 0
	for _, route := range r.server.Table() {
		if route.Method != http.MethodGet || route.Stream != nil {
			continue
		}
		for _, p := range route.Query {
			value := "x"
			if len(p.Enum) > 0 {
				value = p.Enum[0]
			}
			name := p.Name
			switch p.Type {
			case api.ParamPairs:
				value = "ssn=x"
			case api.ParamKeys:
				name += ".ssn"
			case api.ParamString, api.ParamList:
			default:
				continue
			}
			path := paths.Replace(route.Path) + "?" + name + "=" + strings.ReplaceAll(value, "=", "%3D")
			may = false
			got := r.do("GET", path, "")
			if slices.Contains(unmaskable, p.Name) || p.Name == "resource" {
				continue
			}
			if got.status != 403 || !strings.Contains(got.text, name) && !strings.Contains(got.text, p.Name) || !strings.Contains(got.text, core.ScopeDataUnmasked) {
				t.Errorf("%s: %d %s", path, got.status, got.text)
				continue
			}
			refused++
			may = true
			if got := r.do("GET", path, ""); got.status == 403 {
				t.Errorf("%s for somebody with the right: %s", path, got.text)
			}
		}
	}
	if refused < 15 {
		t.Errorf("only %d parameters were refused", refused)
	}
	may = false
	for _, path := range []string{"/api/executions?metadata.other=x", "/api/executions/histogram?metadata.other=x", "/api/executions?status=failed"} {
		if got := r.do("GET", path, ""); got.status != 200 {
			t.Errorf("%s, which is not masked: %d %s", path, got.status, got.text)
		}
	}
	// What is masked of details may lie at any depth: those who may not read it search without them.
	for _, may = range []bool{false, true} {
		var asked core.ExperienceFilter
		open := newRig(t, func(o *api.Options) {
			o.Mask = fieldMasker{"details.artifacts.author.ssn"}
			o.Decide = func(_ context.Context, _ core.Principal, a core.Access) core.Ruling {
				return core.Ruling{Allowed: a.Action != "data.unmasked" || may}
			}
		})
		open.memory.experiences = func(f core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
			asked = f
			return nil, core.PageInfo{}, nil
		}
		if got := open.do("GET", threadsPath+"/experiences?q=x", ""); got.status != 200 || asked.NoDetails == may {
			t.Errorf("a search by somebody with the right, %v: %d %+v", may, got.status, asked)
		}
	}
	may = false
	// Deliveries of a webhook tell whose metadata its filter matched.
	hook := `{"url":"https://a.example.com/","events":["*"],"filters":{"metadata":{"ssn":"x"}}}`
	if got := r.do("POST", "/api/webhooks", hook); got.status != 403 {
		t.Errorf("a webhook: %d %s", got.status, got.text)
	}
	if got := r.do("PATCH", "/api/webhooks/"+webhookID, `{"filters":{"metadata":{"ssn":"x"}}}`); got.status != 403 {
		t.Errorf("a change of a webhook: %d %s", got.status, got.text)
	}
	may = true
	if got := r.do("POST", "/api/webhooks", hook); got.status != 201 {
		t.Errorf("a webhook of somebody with the right: %d %s", got.status, got.text)
	}
}
