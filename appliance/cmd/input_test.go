package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

func TestMetadataFlag(t *testing.T) {
	got, err := metadataFlag(new(cobra.Command), []string{"subject=true", "n=1", "consent=true"})
	if want := map[string]any{"subject": "true", "n": "1", "consent": true}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v, want %#v", got, err, want)
	}
	if got, err := metadataFlag(new(cobra.Command), []string{"consent=false"}); err != nil || got["consent"] != false {
		t.Errorf("%#v, %v", got, err)
	}
	if got, err := metadataFlag(new(cobra.Command), []string{"consent=maybe"}); err != nil || got["consent"] != "maybe" { // the server says what it wants
		t.Errorf("%#v, %v", got, err)
	}
	if got, err := metadataFlag(new(cobra.Command), nil); err != nil || got != nil {
		t.Errorf("%#v, %v", got, err)
	}
	if _, err := metadataFlag(new(cobra.Command), []string{"consent"}); err == nil {
		t.Error("a pair without = is taken")
	}
}

// What is given as an input is sent as it is, whatever a float64 makes of its numbers.
func TestInputsWithNumbers(t *testing.T) {
	const input = `{"id":9007199254740993,"far":1e400}`
	if err := checkObject([]byte(input)); err != nil {
		t.Error(err)
	}
	if got, err := lineInputs([]byte(input + "\n" + input)); err != nil || len(got) != 2 || string(got[1]) != input {
		t.Errorf("lines: %s, %v", got, err)
	}
	if got, err := arrayInputs([]byte("[" + input + "]")); err != nil || len(got) != 1 || string(got[0]) != input {
		t.Errorf("array: %s, %v", got, err)
	}
	if err := checkObject([]byte("1e400")); err == nil || err.Error() != "must be a JSON object, not a number" {
		t.Error(err)
	}
}

// A policy is asked about the numbers of the input that was given.
func TestPromptWithNumbers(t *testing.T) {
	const input = `{"far":1e400,"id":9007199254740993}`
	var asked core.PromptQuestion
	var out, failed bytes.Buffer
	deps := Deps{Stdout: &out, Stderr: &failed, Getenv: func(string) string { return "" }, Policy: PolicyTools{
		EvalApproval: func(_ context.Context, _ *config.Config, q core.PromptQuestion) (core.PromptRuling, bool, error) {
			asked = q
			return core.PromptRuling{}, false, nil
		},
	}}
	if code := Execute(t.Context(), deps, []string{"policy", "eval-prompt", "--tool", "pay", "--input", input}); code != 0 {
		t.Fatalf("it ends with %d: %s", code, failed.String())
	}
	if raw, err := json.Marshal(asked.Input); err != nil || string(raw) != input {
		t.Errorf("the policy is asked about %s, %v", raw, err)
	}
	if code := Execute(t.Context(), deps, []string{"policy", "eval-prompt", "--tool", "pay", "--input", "[1]"}); code != 2 {
		t.Errorf("a list is an input: %d", code)
	}
}
