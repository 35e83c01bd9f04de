package setting_test

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// reads makes a room with one file, or none.
func reads(text string, err error) agentcli.Room {
	return agentcli.Room{Home: "/home/a", ReadFile: func(string) ([]byte, error) { return []byte(text), err }}
}

func TestMerged(t *testing.T) {
	add := map[string]any{"a": map[string]any{"new": true}, "list": []any{"x"}, "v": 2}
	for _, tt := range []struct {
		name, have string
		err        error
		want       string
	}{
		{"Missing", "", fs.ErrNotExist, `{"a":{"new":true},"list":["x"],"v":2}`},
		{"Empty", " \n", nil, `{"a":{"new":true},"list":["x"],"v":2}`},
		{"Merged", `{"a":{"old":12345678901234567890},"list":["y","x"],"v":1,"z":null}`, nil,
			`{"a":{"old":12345678901234567890,"new":true},"list":["y","x"],"v":2,"z":null}`},
		{"Comments", "// of a person\n{/* a, \"b\" */\"z\":\"/* \\\" // */\", // the last\n\"y\":\"http://x\"}//", nil,
			`{"a":{"new":true},"list":["x"],"v":2,"z":"/* \" // */","y":"http://x"}`},
		{"OtherKinds", `{"a":1,"list":"x"}`, nil, `{"a":{"new":true},"list":["x"],"v":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, err := setting.Merged(reads(tt.have, tt.err), "/home/a/f", add)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(file.Data, &got); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal([]byte(tt.want), &want)
			if !reflect.DeepEqual(got, want) || file.Keep || file.Mode != 0o600 {
				t.Errorf("%+v %s", file, file.Data)
			}
		})
	}
	for _, bad := range []agentcli.Room{reads("[]", nil), reads("null", nil), reads("{", nil), reads(`{"a": "\`, nil), reads("", fs.ErrPermission)} {
		if _, err := setting.Merged(bad, "/home/a/f", add); runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
			t.Errorf("error %v", err)
		}
	}
	if file, err := setting.Merged(agentcli.Room{}, "/f", add); err != nil || !file.Keep {
		t.Errorf("without reading: %+v, %v", file, err)
	}
}

func TestLookup(t *testing.T) {
	spec := &runtime.Spec{Env: map[string]string{"A": "spec", "EMPTY": ""}}
	room := agentcli.Room{Env: []string{"A=room", "B=first", "B=last", "EMPTY=room"}}
	for name, want := range map[string]string{"A": "spec", "B": "last", "C": "", "EMPTY": ""} {
		if got := setting.Lookup(spec, room, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestInside(t *testing.T) {
	room := agentcli.Room{Home: "/home/a"}
	for name, want := range map[string]bool{"/home/a": true, "/home/a/b": true, "/home/ab": false, "/home/a/../b": false} {
		if got := setting.Inside(room, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFind(t *testing.T) {
	missing := agentcli.Room{LookPath: func(string) (string, error) { return "", fs.ErrNotExist }}
	for _, room := range []agentcli.Room{{}, missing} {
		_, err := setting.Find(room, "claude", "install it")
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeCLINotFound || e.Hint != "install it" {
			t.Errorf("error %+v", err)
		}
	}
	broken := agentcli.Room{LookPath: func(string) (string, error) { return "", runtime.Errorf(runtime.CodeSocketError, "x") }}
	if _, err := setting.Find(broken, "claude", "install it"); runtime.ErrorCode(err) != runtime.CodeSocketError {
		t.Errorf("error %v", err)
	}
}
