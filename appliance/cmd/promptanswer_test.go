package cmd_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// An answer may be longer than one argument of a process can be, so that - reads it from stdin.
func TestAnswerFromStdin(t *testing.T) {
	long := strings.Repeat("word ", 40_000) + "end"
	answers := make(chan string, 8)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Choice, Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		answers <- body.Choice + ":" + body.Text
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"x"}`))
	})
	for noun, id := range map[string]string{"agent": "magent_1", "thread": "thread_1"} {
		for _, tt := range []struct {
			stdin string
			args  []string
			code  int
			want  string // choice:text; empty when nothing is sent
		}{
			{long + "\n", []string{"--text", "-"}, 0, ":" + long},
			{"not now\r\n", []string{"deny", "--text", "-"}, 0, "deny:not now"},
			{"unread", []string{"--text", "@alice decides"}, 0, ":@alice decides"},
			{"unread", []string{"allow"}, 0, "allow:"},
			{"\n", []string{"deny", "--text", "-"}, 2, ""},
		} {
			r := start(t.Context(), server, cmd.Deps{Stdin: strings.NewReader(tt.stdin)}, append([]string{noun, "answer", id}, tt.args...)...)
			r.expect(t, tt.code)
			got := ""
			select {
			case got = <-answers:
			default:
			}
			if got != tt.want {
				t.Errorf("%s %v: the answer is %.60q of %d bytes, want %.60q of %d", noun, tt.args, got, len(got), tt.want, len(tt.want))
			}
		}
	}
}
