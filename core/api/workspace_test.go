package api_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestWorkspaces(t *testing.T) {
	r := newRig(t)
	var got core.WorkspaceFilter
	r.workspaces.findAll = func(f core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
		got = f
		return (&fakeWorkspaces{}).FindWorkspaces(context.Background(), f)
	}
	p := r.do("GET", "/api/workspaces?status=released&executionId=e&limit=3", "")
	p.wants(t, 200, "")
	if want := (core.WorkspaceFilter{Status: core.WorkspaceReleased, ExecutionID: "e", Page: core.Page{Limit: 3}}); got != want {
		t.Errorf("filter %+v", got)
	}
	if row := p.at("workspaces").([]any)[0].(map[string]any); row["workspaceId"] != workspaceID || row["kept"] != "1 unpushed commit" {
		t.Error(p.text)
	}
	r.do("GET", "/api/workspaces?status=gone", "").wants(t, 400, core.CodeValidation)
	r.do("GET", "/api/workspaces/"+workspaceID, "").wants(t, 200, "")
	r.workspaces.find = func(id string) (*core.Workspace, error) { return nil, core.NotFound("workspace", id) }
	r.do("GET", "/api/workspaces/"+workspaceID, "").wants(t, 404, core.CodeNotFound)
}

func TestWorkspaceChanges(t *testing.T) {
	r := newRig(t)
	asked := ""
	r.workspaces.diff = func(id, path string, most int) (*core.WorkspaceDiff, error) {
		asked = fmt.Sprintf("%s %q %d", id, path, most)
		if path == "gone" {
			return nil, core.NotFound("changed file", path)
		}
		return &core.WorkspaceDiff{WorkspaceID: id, Patch: "+x\n"}, nil
	}
	of := "/api/workspaces/" + workspaceID + "/changes"
	for path, want := range map[string]string{
		of: workspaceID + ` "" 1048576`, of + "?maxBytes=500": workspaceID + ` "" 500`,
		of + "/src%2Fa%20b.go?maxBytes=7": workspaceID + ` "src/a b.go" 7`,
	} {
		p := r.do("GET", path, "")
		p.wants(t, 200, "")
		if asked != want || p.at("patch") != "+x\n" {
			t.Errorf("%s: asked for %s, want %s: %s", path, asked, want, p.text)
		}
	}
	r.do("GET", of+"/gone", "").wants(t, 404, core.CodeNotFound)
	r.do("GET", of+"/"+strings.Repeat("d", 4000), "").wants(t, 200, "")
	r.do("GET", of+"/"+strings.Repeat("d", 4097), "").wants(t, 400, core.CodeValidation)
	r.do("GET", of+"?maxBytes=0", "").wants(t, 400, core.CodeValidation)
}

func TestPruneWorkspaces(t *testing.T) {
	r := newRig(t)
	var got core.WorkspacePrune
	r.workspaces.prune = func(p core.WorkspacePrune) ([]core.WorkspacePruned, error) {
		got = p
		return (&fakeWorkspaces{}).PruneWorkspaces(context.Background(), p)
	}
	p := r.do("POST", "/api/workspaces/prune", "")
	p.wants(t, 200, "")
	if !reflect.DeepEqual(got, core.WorkspacePrune{}) || p.at("removed") != 1.0 || p.at("freedBytes") != 10.0 || p.at("dryRun") != false {
		t.Errorf("%+v %s", got, p.text)
	}
	p = r.do("POST", "/api/workspaces/prune", `{"ids":["ws_1"],"force":true,"dryRun":true,"mirrors":true}`)
	p.wants(t, 200, "")
	if want := (core.WorkspacePrune{IDs: []string{"ws_1"}, Force: true, DryRun: true, Mirrors: true}); !reflect.DeepEqual(got, want) || p.at("dryRun") != true {
		t.Errorf("%+v %s", got, p.text)
	}
	for _, body := range []string{`{"force":true}`, `{"ids":"a"}`, `{"all":true}`} {
		r.do("POST", "/api/workspaces/prune", body).wants(t, 400, core.CodeValidation)
	}
}

// Only an admin removes work that is nowhere else.
func TestPruneForceScope(t *testing.T) {
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if a.Scope == "admin" {
				return core.Errorf(core.CodeForbidden, "no")
			}
			return nil
		}
	})
	r.do("POST", "/api/workspaces/prune", `{"ids":["ws_1"]}`).wants(t, 200, "")
	r.workspaces.prune = func(core.WorkspacePrune) ([]core.WorkspacePruned, error) {
		t.Error("pruned")
		return nil, nil
	}
	r.do("POST", "/api/workspaces/prune", `{"ids":["ws_1"],"force":true}`).wants(t, 403, core.CodeForbidden)
}

func TestWorkspaceUsage(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/workspaces/usage", "")
	p.wants(t, 200, "")
	if p.at("count") != 3.0 || p.at("bytes") != float64(1<<20) || p.at("maxReleasedBytes") != 0.0 {
		t.Errorf("body %s", p.text)
	}
}
