package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// The demo shows a container where an engine answers, and says why it shows none otherwise.
func TestContained(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	t.Setenv(testbed.EngineSocket, t.TempDir()+"/none.sock")
	if err := newDemo(options{dir: t.TempDir()}, &out).contain(ctx); err != nil || !strings.Contains(out.String(), "no agent in a container") {
		t.Fatalf("without an engine: %v\n%s", err, &out)
	}
	if os.Getenv(testbed.Built) == "" {
		t.Skip("runs the built product: make build, and WARDROOM_BIN names its bin/wardroom")
	}
	if err := os.Unsetenv(testbed.EngineSocket); err != nil { // t.Setenv puts it back
		t.Fatal(err)
	}
	engine, err := testbed.NewEngine(ctx)
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Setenv(testbed.EngineSocket, engine.Socket)
	out.Reset()
	if err := newDemo(options{dir: t.TempDir(), wardroom: os.Getenv(testbed.Built)}, &out).contain(ctx); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if n := strings.Count(out.String(), "on boxed"); n != 2 {
		t.Errorf("the agent answered %d times:\n%s", n, &out)
	}
}
