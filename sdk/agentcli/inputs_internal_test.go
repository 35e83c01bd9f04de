package agentcli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// mustLoadInputs reads what is remembered of an agent with an environment.
func mustLoadInputs(t *testing.T, dir string, env map[string]string) *inputs {
	t.Helper()
	in, err := loadInputs(dir, newRedactor(env))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestInputsBehindATornLine remembers what comes after a line that a full disk or a crash cut off.
func TestInputsBehindATornLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, inputsFile), []byte(`{"id":"torn","sum":"12`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := mustLoadInputs(t, dir, nil)
	for _, id := range []string{"one", "two"} {
		if err := in.put(inputRecord{ID: id, Sum: "s", State: inputSent}); err != nil {
			t.Fatal(err)
		}
	}
	again := mustLoadInputs(t, dir, nil)
	for _, id := range []string{"one", "two"} {
		if again.find(id) == nil {
			t.Errorf("the input %q is forgotten: a repeat would be typed twice", id)
		}
	}
}

// TestInputsWithLargeResponses keeps the newest responses, and every id, in a file that can be read again.
func TestInputsWithLargeResponses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := mustLoadInputs(t, dir, nil)
	const n = maxInputs + 10
	text := strings.Repeat("x", maxKeptText)
	most := int64(0)
	for i := range n {
		r := inputRecord{ID: fmt.Sprint("i", i), Sum: "s", State: inputTurn, Response: &runtime.Response{Text: text}}
		if err := in.put(r); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, inputsFile)); err == nil {
			most = max(most, info.Size())
		}
	}
	if most > 2*maxInputsFile {
		t.Errorf("the file grew to %d bytes", most)
	}
	kept := 0
	for _, r := range in.known {
		if r.Response != nil {
			kept += len(r.Response.Text)
		}
	}
	if kept > maxInputsFile {
		t.Errorf("%d bytes of responses are kept", kept)
	}
	again := mustLoadInputs(t, dir, nil)
	for i := n - maxInputs; i < n; i++ {
		if again.find(fmt.Sprint("i", i)) == nil {
			t.Fatalf("the input %d is forgotten", i)
		}
	}
	if r := again.find(fmt.Sprint("i", n-1)); r.Response == nil {
		t.Error("the newest response is forgotten")
	}
}

// TestResponsesInClear redacts the responses that earlier versions kept as they were, in the file too, and leaves all else as it was.
func TestResponsesInClear(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, inputsFile)
	const secret = "sk-0123456789"
	earlier := mustLoadInputs(t, dir, nil)
	for _, r := range []inputRecord{
		{ID: "plain", Sum: "s", State: inputTurn, Response: &runtime.Response{Text: "done", Turn: 1}},
		{ID: "again", Sum: "s", State: inputTurn, Response: &runtime.Response{Text: secret}},
		{ID: "again", Sum: "s", State: inputTurn, Response: &runtime.Response{Text: "no more"}},
		{ID: "open", Sum: "s", State: inputTurn, Response: &runtime.Response{Text: "the key is " + secret, Turn: 2}},
		{ID: "cut", Sum: "s", State: inputTyping},
	} {
		if err := earlier.put(r); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"API_KEY": secret}
	for range 2 { // a crash behind the first changes nothing
		in := mustLoadInputs(t, dir, env)
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%v: the file has %s", err, data)
		}
		for id, want := range map[string]string{"plain": "done", "again": "no more", "open": "the key is ***"} {
			if r := in.find(id); r == nil || r.Response == nil || r.Response.Text != want {
				t.Errorf("of %s is remembered %+v", id, r)
			}
		}
		if r := in.find("open"); r.Response.Turn != 2 {
			t.Errorf("the turn of the response is %d", r.Response.Turn)
		}
		if in.cut != "cut" {
			t.Errorf("the message that was cut off is %q", in.cut)
		}
	}
}
