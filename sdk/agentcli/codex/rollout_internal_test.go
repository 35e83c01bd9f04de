package codex

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// growing is a room with one file.
func growing(file *[]byte) agentcli.Room {
	return agentcli.Room{ReadFrom: func(_ string, offset int64, limit int) ([]byte, int64, error) {
		data := *file
		at := offset
		if at < 0 {
			at = max(0, int64(len(data))+at)
		}
		if at >= int64(len(data)) {
			return nil, at, nil
		}
		return data[at:min(int64(len(data)), at+int64(limit))], at, nil
	}}
}

func readAll(r *rollout, room agentcli.Room, want string) (said []string) {
	for {
		text, more := r.read(room, want)
		said = append(said, text...)
		if !more {
			return said
		}
	}
}

const (
	begun = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"a"}}` + "\n"
	spoke = `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"a",` +
		`"item":{"type":"AgentMessage","content":[{"text":"x"}]}}}` + "\n"
	complete = `{"type":"event_msg","payload":{"type":"task_complete","turn_id":"a","last_agent_message":"y"}}` + "\n"
)

// A line that is longer than what is read at a time is passed over, and what follows it is not.
func TestRolloutLongLine(t *testing.T) {
	long := `{"type":"response_item","payload":"` + strings.Repeat("z", 3*rolloutChunk) + `"}` + "\n"
	file := []byte(begun + long + spoke + long + complete)
	r := rollout{Path: "p"}
	said := readAll(&r, growing(&file), "")
	if strings.Join(said, ",") != "x" || r.Turn == nil || !r.Turn.Over || r.Turn.Text != "y" || r.Offset != int64(len(file)) {
		t.Errorf("said %q, %+v, turn %+v", said, r, r.Turn)
	}
}

// A transcript that was not followed so far is read from near its end, and at most to the end of one turn.
func TestRolloutTail(t *testing.T) {
	old := strings.Repeat(strings.ReplaceAll(begun+spoke+complete, `"a"`, `"old"`), 20000)
	file := []byte(old + begun + spoke)
	r := rollout{}
	r.follow("p")
	if said := readAll(&r, growing(&file), "a"); strings.Join(said, ",") != "x" || r.Turn == nil || r.Turn.Over {
		t.Errorf("said %q, %+v", said, r.Turn)
	}
	file = append(file, complete+strings.ReplaceAll(begun, `"a"`, `"next"`)...)
	readAll(&r, growing(&file), "a")
	if r.Turn == nil || !r.Turn.Over || r.Turn.ID != "a" {
		t.Errorf("turn %+v", r.Turn)
	}
	r.next()
	readAll(&r, growing(&file), "")
	if r.Turn == nil || r.Turn.ID != "next" {
		t.Errorf("turn %+v", r.Turn)
	}
}

// A transcript that was cut in place is read on from its new end, and nothing of it twice.
func TestRolloutCut(t *testing.T) {
	used := `{"type":"token_usage_record","payload":{"turn_id":"a","turn_token_usage":{"input_tokens":1}}}` + "\n"
	for name, room := range map[string]func(file *[]byte) agentcli.Room{
		"in parts": growing,
		"whole": func(file *[]byte) agentcli.Room {
			return agentcli.Room{ReadFile: func(string) ([]byte, error) { return *file, nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := []byte(begun + used + spoke)
			r := rollout{Path: "p"}
			readAll(&r, room(&file), "")
			for _, left := range []string{begun + used, ""} {
				file = []byte(left)
				readAll(&r, room(&file), "") // as it does now and then
				if r.Offset != int64(len(left)) {
					t.Errorf("it goes on at %d, want %d", r.Offset, len(left))
				}
			}
			file = []byte(used + complete)
			readAll(&r, room(&file), "")
			if r.Turn == nil || !r.Turn.Over || r.Turn.Text != "y" || r.Turn.Requests != 2 {
				t.Errorf("turn %+v", r.Turn)
			}
		})
	}
}

// FuzzRollout reads a transcript that grows piece by piece, and one that is there at once: both tell the same.
func FuzzRollout(f *testing.F) {
	f.Add([]byte(begun+spoke+complete), uint8(7), "")
	f.Add([]byte("half a line\n"+begun+"{}\n"+spoke), uint8(1), "a")
	f.Add([]byte(`{"type":"event_msg","payload":{"type":"task_complete","turn_id":"a",`+
		`"error":{"message":"m","codex_error_info":{"x":{"http_status_code":500}}}}}`+"\n"), uint8(3), "a")
	f.Fuzz(func(t *testing.T, data []byte, step uint8, want string) {
		if len(data) > 1<<16 {
			return
		}
		whole, pieces := rollout{Path: "p"}, rollout{Path: "p"}
		all := readAll(&whole, growing(&data), want)
		var some []string
		for n := 0; n <= len(data); n += int(step) + 1 {
			part := data[:n]
			if pieces.Turn == nil || !pieces.Turn.Over {
				some = append(some, readAll(&pieces, growing(&part), want)...)
			}
		}
		if pieces.Turn == nil || !pieces.Turn.Over {
			some = append(some, readAll(&pieces, growing(&data), want)...)
		}
		if strings.Join(all, "\x00") != strings.Join(some, "\x00") || (whole.Turn == nil) != (pieces.Turn == nil) {
			t.Errorf("at once %q %+v, in pieces %q %+v", all, whole.Turn, some, pieces.Turn)
		}
		if r := whole.Turn; r != nil && r.Failure != nil {
			if e := r.Failure.turnError(); e.Code == "" || strings.TrimSpace(e.Message) == "" {
				t.Errorf("%+v is %+v", r.Failure, e)
			}
		}
		_ = whole.Turn.usage()
	})
}

// The room may know only how to read a whole file.
func TestReadPart(t *testing.T) {
	file := bytes.Repeat([]byte("line\n"), 10)
	room := agentcli.Room{ReadFile: func(string) ([]byte, error) { return file, nil }}
	for offset, want := range map[int64]string{0: string(file), 45: "line\n", -5: "line\n", -500: string(file), 50: ""} {
		if got, _, err := readPart(room, "p", offset); err != nil || string(got) != want {
			t.Errorf("from %d: %q, %v", offset, got, err)
		}
	}
	if _, _, err := readPart(agentcli.Room{}, "p", 0); !os.IsNotExist(err) {
		t.Errorf("without a way to read: %v", err)
	}
}
