package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuoted(t *testing.T) {
	got := strings.Join(quoted([]string{"run", "--input", `{"a": 1}`}), " ")
	if want := `run --input '{"a": 1}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
