package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestParseVolume(t *testing.T) {
	for text, want := range map[string]volume{
		"/a:/b:ro":             {source: "/a", target: "/b"},
		"/a/:/b//c:rw":         {source: "/a", target: "/b/c", write: true},
		"/a:/b":                {source: "/a", target: "/b"},
		"/$(x) ;'\":/opt/x:ro": {source: "/$(x) ;'\"", target: "/opt/x"},
	} {
		if got, err := parseVolume(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", ":", "::", "/a", "a:/b:ro", "/a:b:ro", "/a:/b:", "/a:/b:RO", "/a:/b:ro:z", "/a/../b:/b:ro", "/a:/b/..:ro", "/a:/:ro", "/a:/proc/x:ro",
		"/a:/etc:ro", "/a:/usr/bin/x:ro", "/a:/wardroom:ro", "/a:/wardroom/run:rw", "/a\x00:/b:ro", "/a:/b\n:ro", "/a:/usr:ro",
	} {
		if got, err := parseVolume(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func FuzzParseVolume(f *testing.F) {
	for _, seed := range []string{"/a:/b:ro", "::", "/..:/:rw", "/a:/wardroom/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVolume(text)
		if err != nil {
			return
		}
		for _, p := range []string{v.source, v.target} {
			if !strings.HasPrefix(p, "/") || strings.Contains(p, ":") || strings.HasSuffix(p, "/..") || strings.Contains(p, "/../") {
				t.Fatalf("%q is %+v", text, v)
			}
		}
		if within(v.target, inside) || v.target == "/" {
			t.Fatalf("%q is %+v", text, v)
		}
	})
}

func TestChoose(t *testing.T) {
	c, err := decode([]byte(`{"images": {"claude": "mine/claude:1"}, "allowImages": ["team/*", "other/one:2"]}`), "/state")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ kind, image, want string }{
		{"claude", "", "mine/claude:1"}, {"codex", "", "wardroom/codex"}, {"shell", "", "wardroom/base"}, {"shell", "mine/claude:1", "mine/claude:1"},
		{"shell", "team/any:3", "team/any:3"}, {"shell", "other/one:2", "other/one:2"}, {"shell", "other/one:3", ""}, {"shell", "teams/x", ""},
		{"shell", "team/../x", ""}, {"shell", "TEAM/x", ""}, {"shell", " team/x", ""},
	} {
		got, err := c.Choose(&runtime.Spec{Type: tt.kind, Image: tt.image}, checkImage)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s of %s is %q, %v; want %q", tt.image, tt.kind, got, err, tt.want)
		}
	}
}

func TestProblems(t *testing.T) {
	for config, want := range map[string]string{
		`{"limits": {"memory": "1m"}}`:          "/limits/memory",
		`{"network": "host"}`:                   "/network",
		`{"networks": ["fine", "container:x"]}`: "/networks/1",
		`{"image": "A B"}`:                      "/image",
		`{"images": {"claude": "::"}}`:          "/images/claude",
		`{"allowImages": ["a;b*"]}`:             "/allowImages/0",
		`{"volumes": {"/": "ro"}}`:              "/volumes/~1",
		`{"volumes": {"/a/../b": "ro"}}`:        "/volumes/~1a~1..~1b",
		`{"workdirs": ["/a/"]}`:                 "/workdirs/0",
		`{"user": "0:0"}`:                       "/user",
		`{"env": {"LD_PRELOAD": "x"}}`:          "/env",
		`{"orphanGrace": "0s"}`:                 "/orphanGrace",
		`{"holder": "/nowhere/holder"}`:         "/holder",
	} {
		c, err := decode([]byte(config), "/state")
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		found := false
		for _, p := range c.problems() {
			found = found || p.Path == want
		}
		if !found {
			t.Errorf("%s: no problem of %s among %+v", config, want, c.problems())
		}
	}
}

func TestRefused(t *testing.T) {
	e := &engine{socket: "/s"}
	for text, want := range map[string]runtime.Code{
		"Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available":           runtime.CodeResourceLimit,
		"Minimum memory limit allowed is 6MB":                                              runtime.CodeResourceLimit,
		"mkdir /var/lib/docker/x: no space left on device":                                 runtime.CodeResourceLimit,
		"mkdir /var/lib/docker/x: disk quota exceeded":                                     runtime.CodeResourceLimit,
		"No such image: wardroom/x:1":                                                      runtime.CodeImageNotFound,
		"network wardroom-x not found":                                                     runtime.CodeNetworkError,
		"failed to create endpoint x on network y: adding interface veth to bridge failed": runtime.CodeNetworkError,
		"invalid mount config for type \"bind\": bind source path does not exist: /x":      runtime.CodeInvalidSpec,
		"something else": runtime.CodeSpawnFailed,
	} {
		if got := runtime.ErrorCode(e.refused("make the container", errors.New("Error response from daemon: "+text))); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	_, err := net.Dial("unix", "/nowhere/s")
	for cause, want := range map[error]runtime.Code{
		context.DeadlineExceeded: runtime.CodeSocketError, context.Canceled: runtime.CodeCanceled, client.ErrorConnectionFailed("unix:///s"): runtime.CodeSocketError, //nolint:staticcheck // as the client makes it
		fmt.Errorf("cannot connect: %w", err): runtime.CodeSocketError, errors.New("no"): runtime.CodeSpawnFailed, runtime.NotFound("x"): runtime.CodeNotFound,
	} {
		if got := runtime.ErrorCode(e.failed("ask", cause)); got != want {
			t.Errorf("%v is %s, want %s", cause, got, want)
		}
	}
}

func TestAliases(t *testing.T) {
	for name, want := range map[string]string{"one": "one", "Server One": "server-one", "a.b_c": "a-b-c a.b_c", "$(x)": "x", "": "", "---": "", "日本": ""} {
		if got := strings.Join(aliases(name), " "); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
