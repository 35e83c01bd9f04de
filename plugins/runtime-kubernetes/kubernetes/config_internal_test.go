package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func decoded(t testing.TB, text string) Config {
	t.Helper()
	c, err := decode([]byte(text), "/state")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProblems(t *testing.T) {
	fine := decoded(t, `{"namespace": "a-b", "egress": ["dns", "10.0.0.0/8", "10.1.2.3/32:443", "fd00::/8"], "mounts": {"/srv/x": {"claim": "c", "mode": "rw"}},
		"secretEnv": {"KEY": {"name": "s", "key": "k"}}, "requests": {"memory": "64m"}}`)
	if list := fine.problems(); len(list) > 0 {
		t.Errorf("a right configuration has problems: %+v", list)
	}
	for config, want := range map[string]string{
		`{"limits": {"memory": "1m"}}`:                                        "/limits/memory",
		`{"requests": {"memory": "2g"}}`:                                      "/requests/memory",
		`{"requests": {"cpu": 2}}`:                                            "/requests/cpu",
		`{"namespace": "A;b"}`:                                                "/namespace",
		`{"secrets": ["fine", "not fine"]}`:                                   "/secrets/1",
		`{"pullSecrets": ["$(x)"]}`:                                           "/pullSecrets/0",
		`{"image": "A B"}`:                                                    "/image",
		`{"images": {"claude": "::"}}`:                                        "/images/claude",
		`{"allowImages": ["a;b*"]}`:                                           "/allowImages/0",
		`{"env": {"LD_PRELOAD": "x"}}`:                                        "/env",
		`{"secretEnv": {"HOME": {"name": "a", "key": "b"}}}`:                  "/secretEnv",
		`{"orphanGrace": "0s"}`:                                               "/orphanGrace",
		`{"keepPods": "1s"}`:                                                  "/keepPods",
		`{"egress": ["example.com"]}`:                                         "/egress/0",
		`{"egress": ["10.0.0.0/8:0"]}`:                                        "/egress/0",
		`{"mounts": {"/a/../b": {"claim": "c", "mode": "ro"}}}`:               "/mounts/~1a~1..~1b",
		`{"mounts": {"/etc/x": {"claim": "c", "mode": "ro"}}}`:                "/mounts/~1etc~1x",
		`{"mounts": {"/srv": {"mode": "ro"}}}`:                                "/mounts/~1srv",
		`{"mounts": {"/srv": {"claim": "c", "node": true, "mode": "ro"}}}`:    "/mounts/~1srv",
		`{"mounts": {"/srv": {"claim": "c", "subPath": "../x", "mode": ""}}}`: "/mounts/~1srv/subPath",
	} {
		c := decoded(t, config)
		found := false
		for _, p := range c.problems() {
			found = found || p.Path == want
		}
		if !found {
			t.Errorf("%s: no problem of %s among %+v", config, want, c.problems())
		}
	}
}

func TestChoose(t *testing.T) {
	c := decoded(t, `{"images": {"claude": "mine/claude:1"}, "allowImages": ["team/*", "other/one:2"]}`)
	for _, tt := range []struct{ kind, image, want string }{
		{"claude", "", "mine/claude:1"}, {"codex", "", "wardroom/codex"}, {"shell", "", "wardroom/base"}, {"shell", "mine/claude:1", "mine/claude:1"},
		{"shell", "team/any:3", "team/any:3"}, {"shell", "other/one:2", "other/one:2"}, {"shell", "other/one:3", ""}, {"shell", "teams/x", ""}, {"shell", " team/x", ""},
	} {
		got, err := c.Choose(&runtime.Spec{Type: tt.kind, Image: tt.image}, checkImage)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s of %s is %q, %v; want %q", tt.image, tt.kind, got, err, tt.want)
		}
	}
}

func TestParseVolume(t *testing.T) {
	c := decoded(t, `{}`)
	for _, text := range []string{"/a:/b:ro", "/a/b:/data/c:rw", "/a:/b"} {
		if _, _, _, err := c.parseVolume(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", ":", "/a", "a:/b:ro", "/a:b:ro", "/a:/b:RO", "/a:/b:ro:z", "/a/../b:/b:ro", "/a:/b/..:ro", "/a:/:ro", "/:/b:ro", "/a:/proc/x:ro", "/a:/etc:ro",
		"/a:/run/wardroom/s:rw", "/a:/run:ro", "/a:/home/agent/x:ro", "/a:/workspace:rw", "/a:/b\n:ro", "/a:/usr:ro",
	} {
		if from, to, _, err := c.parseVolume(text); err == nil {
			t.Errorf("%q is %s at %s", text, from, to)
		}
	}
}

func FuzzParseVolume(f *testing.F) {
	c := Config{HomeDir: defaultHome}
	for _, seed := range []string{"/a:/b:ro", "::", "/..:/:rw", "/a:/run/wardroom/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		from, to, _, err := c.parseVolume(text)
		if err != nil {
			return
		}
		for _, p := range []string{from, to} {
			if !strings.HasPrefix(p, "/") || strings.Contains(p, ":") || strings.HasSuffix(p, "/..") || strings.Contains(p, "/../") {
				t.Fatalf("%q is %s at %s", text, from, to)
			}
		}
		if c.reserved(to) != "" {
			t.Fatalf("%q is mounted at %s", text, to)
		}
	})
}

// TestVolumes mounts what a spec asks for from the deepest path of the configuration, and never what it may not have.
func TestVolumes(t *testing.T) {
	l := &Launcher{config: decoded(t, `{"mounts": {"/srv": {"claim": "all", "mode": "ro"}, "/srv/ws": {"claim": "ws", "subPath": "w", "mode": "rw"}, "/node": {"node": true, "mode": "rw"}}}`)}
	spec := &runtime.Spec{ID: "a", Workdir: "/srv/ws/t/1", Volumes: []string{"/srv/data:/data:ro", "/node:/n:rw"}}
	volumes, mounts, err := l.volumes(wish{spec: spec, git: agentcli.Git{Dir: "/srv/ws/m/worktrees/1", Common: "/srv/ws/m"}})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]corev1.VolumeMount{}
	for _, m := range mounts {
		by[m.MountPath] = m
	}
	for at, want := range map[string]corev1.VolumeMount{
		"/srv/ws/t/1": {SubPath: "w/t/1"}, "/srv/ws/m": {SubPath: "w/m", ReadOnly: true}, "/srv/ws/m/refs": {SubPath: "w/m/refs"},
		"/srv/ws/m/worktrees/1": {SubPath: "w/m/worktrees/1"}, "/data": {SubPath: "data", ReadOnly: true}, "/n": {},
	} {
		got, ok := by[at]
		if !ok || got.SubPath != want.SubPath || got.ReadOnly != want.ReadOnly {
			t.Errorf("%s is %+v, want %+v", at, got, want)
		}
	}
	if by["/srv/ws/t/1"].Name != by["/srv/ws/m"].Name || by["/data"].Name == by["/srv/ws/m"].Name || len(volumes) != 7 {
		t.Errorf("%d volumes for %+v", len(volumes), mounts)
	}
	for _, bad := range []*runtime.Spec{
		{ID: "a", Workdir: "/etc"}, {ID: "a", Workdir: "/srv/../etc"}, {ID: "a", Volumes: []string{"/srv/data:/d:rw"}}, {ID: "a", Volumes: []string{"/other:/d:ro"}},
		{ID: "a", Volumes: []string{"/srv/a:/d:ro", "/srv/b:/d:ro"}}, {ID: "a", Workdir: "/node/w", Volumes: []string{"/srv/a:/node/w:ro"}},
	} {
		if _, mounts, err := l.volumes(wish{spec: bad}); err == nil {
			t.Errorf("%+v has %+v", bad, mounts)
		}
	}
}

// TestVolumesOfTheService has a request ask for what the chart mounts for work trees: the workspaces of all threads, and the copies of
// repositories that they are made from, are not given away as volumes.
func TestVolumesOfTheService(t *testing.T) {
	root := t.TempDir()
	text := fmt.Sprintf(`{"mounts": {%q: {"claim": "ws", "mode": "rw"}, "/srv": {"claim": "data", "mode": "ro"}}}`, root)
	l := &Launcher{config: decoded(t, text), rooms: local.Rooms{Private: []string{root, "/srv/wardroom/store"}}}
	for _, from := range []string{root, root + "/mirrors", root + "/trees/ws_1", "/srv", "/srv/wardroom/store/x"} {
		_, mounts, err := l.volumes(wish{spec: &runtime.Spec{ID: "a", Volumes: []string{from + ":/data:ro"}}})
		if runtime.ErrorCode(err) != runtime.CodeInvalidSpec {
			t.Errorf("the volume %s gives %+v, %v", from, mounts, err)
		}
	}
	spec := &runtime.Spec{ID: "a", Workdir: root + "/trees/ws_1", Volumes: []string{"/srv/data:/data:ro"}}
	if _, _, err := l.volumes(wish{spec: spec, git: agentcli.Git{Dir: root + "/mirrors/m/worktrees/1", Common: root + "/mirrors/m"}}); err != nil {
		t.Errorf("the work tree of a thread: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, id := range []string{"a", "agent_UPPER_1", "-_-", strings.Repeat("x", 64)} {
		if name := podName(id, "ABCDEFGHIJKL"); !nameForm.MatchString(name) || len(name) > 63 {
			t.Errorf("the pod of %s is %s", id, name)
		}
		if v := labelValue(id); !labelForm.MatchString(v) {
			t.Errorf("the label of %s is %s", id, v)
		}
	}
}
