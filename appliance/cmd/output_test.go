package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// hostile is a text that a terminal would obey: control characters of one byte and of two, and characters that turn the reading
// direction or are none.
const hostile = "a\u007f\u009b31m\u0085b\u202ec\u200d\U000e0041 \x1b[2J"

// obeyed returns the first character of a text that a terminal could obey.
func obeyed(text string) string {
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return fmt.Sprintf("%q", r)
		}
	}
	return ""
}

// What is printed for scripts is as the server has it, and moves no terminal.
func TestDocumentsOfControlCharacters(t *testing.T) {
	name, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf(`{"id":"agent_1","name":%s,"labels":{%s:"x"},"broken":"%s"}`, name, name, "\x9b")
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: 1\nevent: completed\ndata: {\"executionId\":\"exec_1\",\"status\":\"completed\",\"result\":%s}\n\n", name)
			return
		}
		say(w, 200, `{"agents":[`+row+`],"total":1}`)
	})
	documents := map[string]func(text string, into any) error{
		"json": func(text string, into any) error { return json.Unmarshal([]byte(text), into) },
		"yaml": func(text string, into any) error { return yaml.Unmarshal([]byte(text), into) },
	}
	for format, read := range documents {
		list := execute(t, url, "agent", "list", "-o", format)
		list.expect(t, 0)
		var all struct {
			Agents []struct {
				Name, Broken string
				Labels       map[string]string
			}
		}
		if err := read(list.stdout.String(), &all); err != nil || len(all.Agents) != 1 {
			t.Fatalf("%s: %v: %s", format, err, &list.stdout)
		}
		if a := all.Agents[0]; a.Name != hostile || a.Broken != "\ufffd" || a.Labels[hostile] != "x" {
			t.Errorf("%s: %q", format, a)
		}
		events := execute(t, url, "execution", "watch", "exec_1", "-o", format)
		events.expect(t, 0)
		var event struct{ Data struct{ Result string } }
		if err := read(events.stdout.String(), &event); err != nil || event.Data.Result != hostile {
			t.Errorf("%s: event %q, %v", format, event.Data.Result, err)
		}
		for _, text := range []string{list.stdout.String(), events.stdout.String()} {
			if found := obeyed(text); found != "" {
				t.Errorf("%s: %s is in %q", format, found, text)
			}
		}
	}
	part := execute(t, url, "agent", "list", "-o", "jsonpath=.agents[0]")
	part.expect(t, 0)
	var agent struct{ Name string }
	if err := json.Unmarshal([]byte(part.stdout.String()), &agent); err != nil || agent.Name != hostile || obeyed(part.stdout.String()) != "" {
		t.Errorf("part %q: %v: %q", agent.Name, err, part.stdout.String())
	}
	text := execute(t, url, "agent", "list", "-o", "jsonpath=.agents[0].name")
	if text.expect(t, 0); text.stdout.String() != hostile+"\n" {
		t.Errorf("text %q", text.stdout.String())
	}
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// A help that could not be written is an error, as any other output is.
func TestFullOutput(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "policy", "show"}, {"policy"}, {"run", "--help"}, {"policy", "show"}} {
		var failed bytes.Buffer
		deps := cmd.Deps{Stdout: full{}, Stderr: &failed, Policy: cmd.PolicyTools{Text: func() string { return "package a\n" }}}
		if code := cmd.Execute(t.Context(), deps, args); code != 1 || failed.String() != "error: no space left on device\n" {
			t.Errorf("%v ends with %d: %q", args, code, failed.String())
		}
	}
}

// The built-in policy is a text for people, and part of a document for programs.
func TestPolicyShow(t *testing.T) {
	const rego = "package a\n\nallow := \"<&>\"\n"
	for format, want := range map[string]string{
		"table": rego, "json": "{\n  \"rego\": \"package a\\n\\nallow := \\\"<&>\\\"\\n\"\n}\n", "jsonpath={.rego}": rego + "\n",
	} {
		var out, failed bytes.Buffer
		deps := cmd.Deps{Stdout: &out, Stderr: &failed, Policy: cmd.PolicyTools{Text: func() string { return rego }}}
		if code := cmd.Execute(t.Context(), deps, []string{"policy", "show", "-o", format}); code != 0 || out.String() != want {
			t.Errorf("-o %s ends with %d: %q, %q", format, code, out.String(), failed.String())
		}
	}
}
