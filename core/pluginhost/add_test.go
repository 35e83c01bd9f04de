package pluginhost_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// Plugins that are added run, or none of them does and the error says why; what made room for one is put back.
func TestAdd(t *testing.T) {
	r := newRig(t, pen(""))
	r.open()
	ctx := context.Background()
	second, broken := pen(""), pen("no-configure")
	second.Name, second.Path = "runtime-quill", r.dir+"/runtime-pen"
	broken.Name, broken.SHA256 = "runtime-broken", strings.Repeat("0", 64)
	broken.Path = second.Path
	if added, err := r.Add(ctx, []pluginhost.Spec{second, broken}); core.ErrorCode(err) != core.CodeInternal || !strings.Contains(err.Error(), "runtime-broken") ||
		!strings.Contains(err.Error(), "checksum") || added != nil {
		t.Fatalf("one that cannot start: %v", err)
	}
	for _, name := range []string{"runtime-quill", "runtime-broken"} {
		if p, err := r.FindPlugin(ctx, name); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("%s is left: %+v, %v", name, p, err)
		}
		if _, asked := r.checks["plugin:"+name]; asked {
			t.Errorf("the health of %s is asked for", name)
		}
	}
	for _, bad := range []pluginhost.Spec{{Name: "UP/.."}, {Name: "runtime-x", Path: "relative"}, {Name: "runtime-x", Env: map[string]string{"A=B": ""}}} {
		if _, err := r.Add(ctx, []pluginhost.Spec{second, bad}); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	added, err := r.Add(ctx, []pluginhost.Spec{pen(""), second})
	if err != nil || strings.Join(added.Names(), " ") != "runtime-quill" {
		t.Fatalf("%+v, %v", added, err)
	}
	if said := added.Keep(); len(said) != 1 || !said[0].Added || said[0].State != core.PluginReady {
		t.Errorf("it is told of as %+v", said)
	}
	if _, asked := r.checks["plugin:runtime-quill"]; !asked {
		t.Error("its health is not asked for")
	}
	// Its entry goes, and comes back with other settings.
	r.ApplyConfig(ctx, []pluginhost.Spec{pen("")})
	second.Required = true
	if added, err = r.Add(ctx, []pluginhost.Spec{second}); err != nil {
		t.Fatal(err)
	}
	p, err := r.FindPlugin(ctx, "runtime-quill")
	if err != nil || p.State != core.PluginReady || !p.Required {
		t.Errorf("come back: %+v, %v", p, err)
	}
	added.Drop()
	if p, err = r.FindPlugin(ctx, "runtime-quill"); err != nil || p.State != core.PluginDisabled || p.Required {
		t.Errorf("put back: %+v, %v", p, err)
	}
}
