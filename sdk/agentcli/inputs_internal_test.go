package agentcli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestInputsBehindATornLine remembers what comes after a line that a full disk or a crash cut off.
func TestInputsBehindATornLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, inputsFile), []byte(`{"id":"torn","sum":"12`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := loadInputs(dir)
	for _, id := range []string{"one", "two"} {
		if err := in.put(inputRecord{ID: id, Sum: "s", State: inputSent}); err != nil {
			t.Fatal(err)
		}
	}
	again := loadInputs(dir)
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
	in := loadInputs(dir)
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
	again := loadInputs(dir)
	for i := n - maxInputs; i < n; i++ {
		if again.find(fmt.Sprint("i", i)) == nil {
			t.Fatalf("the input %d is forgotten", i)
		}
	}
	if r := again.find(fmt.Sprint("i", n-1)); r.Response == nil {
		t.Error("the newest response is forgotten")
	}
}
