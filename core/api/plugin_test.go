package api_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestListPlugins(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/admin/plugins", "")
	p.wants(t, 200, "")
	rows := p.at("plugins").([]any)
	failed, ready := rows[0].(map[string]any), rows[1].(map[string]any)
	if p.at("total") != 2.0 || failed["state"] != "failed" || failed["nextAttempt"] != "2026-01-02T03:04:05.678Z" ||
		failed["hint"] != "install it" || failed["pid"] != nil || failed["startedAt"] != nil {
		t.Errorf("body %s", p.text)
	}
	if ready["pid"] != 4711.0 || ready["protocol"] != 1.0 || ready["reason"] != nil || ready["health"] != "ok" || ready["configured"] != true {
		t.Errorf("plugin %v", ready)
	}
}

func TestGetPlugin(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/admin/plugins/runtime-pen", "")
	p.wants(t, 200, "")
	if p.at("schema", "type") != "object" || len(p.at("examples").([]any)) != 1 || len(p.at("checks").([]any)) != 1 {
		t.Errorf("body %s", p.text)
	}
	r.plugins.find = func(name string) (*core.PluginDetail, error) {
		return &core.PluginDetail{Plugin: *somePlugin(name, core.PluginFailed), Schema: []byte("no json")}, nil
	}
	p = r.do("GET", "/api/admin/plugins/runtime-pen", "")
	p.wants(t, 200, "")
	if v, ok := p.json["schema"]; !ok || v != nil {
		t.Errorf("schema %v", v)
	}
	r.plugins.find = func(name string) (*core.PluginDetail, error) { return nil, core.NotFound("plugin", name) }
	r.do("GET", "/api/admin/plugins/x", "").wants(t, 404, core.CodeNotFound)
	r.do("GET", "/api/admin/plugins/x/logs", "").wants(t, 404, core.CodeNotFound)
	r.do("GET", "/api/admin/plugins/x/logs?follow=true", "").wants(t, 404, core.CodeNotFound)
}

func TestVerifyPlugin(t *testing.T) {
	r := newRig(t)
	p := r.do("POST", "/api/admin/plugins/runtime-pen/verify", "{}")
	p.wants(t, 200, "")
	if want := `{"name":"runtime-pen","ok":false,"checks":[{"name":"files","status":"failed","text":"t"},{"name":"handshake","status":"skipped","text":"u"}]}`; p.text != want {
		t.Errorf("body %s", p.text)
	}
	r.do("POST", "/api/admin/plugins/runtime-pen/verify", `{"fast":true}`).wants(t, 400, core.CodeValidation)
}

func TestChangePlugin(t *testing.T) {
	r := newRig(t)
	var did []string
	r.plugins.change = func(what, name string) (*core.Plugin, error) {
		did = append(did, what+" "+name)
		if what == "disable" {
			return nil, core.Conflict("plugin", name, "", "the plugin %s is required", name)
		}
		return somePlugin(name, core.PluginReady), nil
	}
	p := r.do("POST", "/api/admin/plugins/runtime-pen/enable", "")
	p.wants(t, 200, "")
	if p.at("state") != "ready" {
		t.Errorf("body %s", p.text)
	}
	r.do("POST", "/api/admin/plugins/runtime-pen/disable", "").wants(t, 409, core.CodeConflict)
	r.do("POST", "/api/admin/plugins/runtime-pen/restart", "{}").wants(t, 200, "")
	r.do("POST", "/api/admin/plugins/runtime-pen/restart", `{"now":true}`).wants(t, 400, core.CodeValidation)
	if want := []string{"enable runtime-pen", "disable runtime-pen", "restart runtime-pen"}; !reflect.DeepEqual(did, want) {
		t.Errorf("did %v", did)
	}
}

func TestPluginLogs(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/admin/plugins/runtime-pen/logs?tail=5", "")
	p.wants(t, 200, "")
	if want := `{"logs":[{"timestamp":"2026-01-02T03:04:05.678Z","level":"info","message":"configured"}],"tail":5}`; p.text != want {
		t.Errorf("body %s", p.text)
	}
	r.do("GET", "/api/admin/plugins/runtime-pen/logs?tail=0", "").wants(t, 400, core.CodeValidation)

	p = r.do("GET", "/api/admin/plugins/runtime-pen/logs?follow=true", "")
	p.wants(t, 200, "")
	frames := strings.Split(strings.TrimSpace(p.text), "\n\n")
	if len(frames) != 2 || !strings.Contains(frames[0], "\nretry: ") || !strings.Contains(frames[0], `"message":"one"`) ||
		!strings.Contains(frames[1], `event: log`) || !strings.Contains(frames[1], `"lost":3`) {
		t.Errorf("frames %q", frames)
	}

	r.plugins.follow = func(context.Context, string, int, func(core.PluginLogLine, int) error) error {
		return core.Conflict("plugin", "runtime-pen", "disabled", "it has no log")
	}
	r.do("GET", "/api/admin/plugins/runtime-pen/logs?follow=true", "").wants(t, 409, core.CodeConflict)
}

// A follower that goes away ends the following.
func TestPluginLogsReaderGone(t *testing.T) {
	r := newRig(t)
	ended := make(chan struct{})
	r.plugins.follow = func(ctx context.Context, _ string, _ int, visit func(core.PluginLogLine, int) error) error {
		defer close(ended)
		for {
			if err := visit(core.PluginLogLine{Timestamp: epoch, Level: "info", Message: "again"}, 0); err != nil {
				return err
			}
		}
	}
	resp, err := r.client.Get(r.http.URL + "/api/admin/plugins/runtime-pen/logs?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestWithoutPlugins(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Parts = nil })
	r.do("GET", "/api/admin/plugins", "").wants(t, 404, core.CodeNotFound)
}

func TestServerLog(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/admin/log?level=error&text=Disk&tail=5", "")
	p.wants(t, 200, "")
	if want := `{"logs":[{"timestamp":"2026-01-02T03:04:05.678Z","level":"error","message":"Disk"}],"tail":5}`; p.text != want {
		t.Errorf("body %s", p.text)
	}
	for _, bad := range []string{"level=loud", "tail=0", "since=yesterday"} {
		r.do("GET", "/api/admin/log?"+bad, "").wants(t, 400, core.CodeValidation)
	}
	p = r.do("GET", "/api/admin/log?follow=true", "")
	p.wants(t, 200, "")
	if frames := strings.Split(strings.TrimSpace(p.text), "\n\n"); len(frames) != 2 || !strings.Contains(frames[0], `"part":"wardroom.api"`) {
		t.Errorf("frames %q", frames)
	}
}
