package api_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestListExperiences(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", threadsPath+"/experiences", "")
	p.wants(t, 200, "")
	rows := p.at("experiences").([]any)
	if len(rows) != 2 || rows[0].(map[string]any)["score"] != 0.75 || rows[1].(map[string]any)["role"] != "" || strings.Contains(p.text, "internal") {
		t.Error(p.text)
	}
	var got core.ExperienceFilter
	r.memory.experiences = func(f core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
		got = f
		return nil, core.PageInfo{}, nil
	}
	p = r.do("GET", threadsPath+"/experiences?q=flaky%20test&repo=app&role=r&outcome=failed&executionId=e&limit=5&offset=10", "")
	p.wants(t, 200, "")
	want := core.ExperienceFilter{Query: "flaky test", Repo: "app", Role: "r", Outcome: core.ExperienceFailed, ExecutionID: "e",
		Page: core.Page{Limit: 5, Offset: 10}}
	if !reflect.DeepEqual(got, want) || !strings.Contains(p.text, `"experiences":[]`) {
		t.Errorf("filter %+v, %s", got, p.text)
	}
	for _, query := range []string{"?outcome=good", "?limit=0", "?q=a&cursor=b", "?query=a", "?q=%00"} {
		r.do("GET", threadsPath+"/experiences"+query, "").wants(t, 400, core.CodeValidation)
	}
}

// One experience is read like its row in the list: by those who may read its execution.
func TestGetExperience(t *testing.T) {
	hidden := false
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if hidden && a.ID == execID {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			return nil
		}
	})
	p := r.do("GET", threadsPath+"/experiences/exp_2", "")
	p.wants(t, 200, "")
	if p.at("outcome") != "failed" || !strings.Contains(p.text, `"details":{}`) {
		t.Error(p.text)
	}
	r.do("GET", threadsPath+"/experiences/exp_3", "").wants(t, 404, core.CodeNotFound)
	hidden = true
	r.do("GET", threadsPath+"/experiences/exp_2", "").wants(t, 404, core.CodeNotFound)
}
