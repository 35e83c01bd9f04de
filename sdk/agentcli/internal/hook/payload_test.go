package hook_test

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
)

func TestParse(t *testing.T) {
	p, err := hook.Parse([]byte(` {"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"new":[1]}` + "\n"))
	if err != nil || p.Event != "PreToolUse" || p.Tool != "Bash" || p.Input["command"] != "ls" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "null", "[]", `{"tool_name":1}`, `{"tool_input":"x"}`, "{", strings.Repeat(" ", hook.MaxPayload+1)} {
		if p, err := hook.Parse([]byte(bad)); err == nil || !reflect.DeepEqual(p, hook.Payload{}) {
			t.Errorf("%.20q: %+v, %v", bad, p, err)
		}
	}
}

// Names and ids are kept by drivers: what calls a hook by itself does not choose how long they are.
func TestParseCuts(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	p, err := hook.Parse([]byte(`{"tool_name":"` + long + `","tool_use_id":"` + long + `","session_id":"` + long + `","transcript_path":"/` + long + `"}`))
	if err != nil || len(p.Tool) != 200 || len(p.ToolUseID) != 200 || len(p.SessionID) != 200 || len(p.Transcript) != 4<<10 {
		t.Errorf("%d, %d, %d, %d bytes, %v", len(p.Tool), len(p.ToolUseID), len(p.SessionID), len(p.Transcript), err)
	}
}

func TestCommand(t *testing.T) {
	argv := []string{"printf", "%s\n", "/a b/hook", "it's", "$HOME;`ls`", ""}
	out, err := exec.Command("sh", "-c", hook.Command(argv, "Stop")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "/a b/hook\nit's\n$HOME;`ls`\n\nStop\n"; string(out) != want {
		t.Errorf("the shell makes %q of it, want %q", out, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tool_input":{"questions":[]},"permission_suggestions":[{"type":"x"}],"details":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := hook.Parse(data); err != nil && !reflect.DeepEqual(p, hook.Payload{}) {
			t.Errorf("half a payload: %+v", p)
		}
	})
}
