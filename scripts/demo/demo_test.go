package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/scripts/testbed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuoted(t *testing.T) {
	got := strings.Join(quoted([]string{"run", "--input", `{"a": 1}`}), " ")
	if want := `run --input '{"a": 1}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What the demo says for an end ends the agents that were started meanwhile as well, while there is a server that can end them.
func TestStopLine(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	top := t.TempDir()
	dir, asked := filepath.Join(top, "it's the demo"), filepath.Join(top, "asked")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func() *testbed.Process {
		p, err := testbed.Command{Args: []string{"sleep", "600"}, Log: filepath.Join(top, "log")}.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	server := start()
	product := filepath.Join(top, "wardroom")
	script := "#!/bin/sh\necho $WARDROOM_SERVER $* $(kill -0 $SERVER && echo there) >> '" + asked + "'\n[ $2 = list ] && printf 'magent_1\\nmagent_2\\n'\n"
	if err := os.WriteFile(product, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := newDemo(options{wardroom: product, dir: dir, keep: true}, &out)
	d.server = &testbed.Server{Process: server, URL: "http://there"}
	d.agents = []*testbed.Process{start()}
	if err := d.farewell(); err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(out.String(), "stop:  ")
	stop := exec.CommandContext(ctx, "sh", "-c", line)
	stop.Env = append(os.Environ(), "SERVER="+strconv.Itoa(server.PID()))
	if text, err := stop.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got, _ := os.ReadFile(asked)
	const want = "http://there agent list --managed --all -q there\nhttp://there agent stop magent_1 there\nhttp://there agent stop magent_2 there\n"
	if string(got) != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
	for _, p := range []*testbed.Process{server, d.agents[0]} {
		if err := testbed.Until(ctx, 10*time.Second, "the end", func(context.Context) (bool, error) { return p.Ended(), nil }); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the files: %v", err)
	}
}

// A process that does not end is killed after a while, and the files are removed.
func TestStopLineOfDeaf(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	top := t.TempDir()
	dir, tools := filepath.Join(top, "demo"), filepath.Join(top, "tools")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(tools, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tools, "sleep"), []byte("#!/bin/sh\n"), 0o700); err != nil { // pauses take no time
		t.Fatal(err)
	}
	deaf, err := testbed.Command{Args: []string{"sh", "-c", "trap '' TERM; exec sleep 600"}, Log: filepath.Join(top, "log")}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(deaf.Kill)
	d := newDemo(options{wardroom: "true", dir: dir, keep: true}, io.Discard)
	d.server = &testbed.Server{Process: deaf, URL: "http://there"}
	if err := d.farewell(); err != nil {
		t.Fatal(err)
	}
	stop := exec.CommandContext(ctx, "sh", d.path("stop.sh"))
	stop.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	if text, err := stop.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := testbed.Until(ctx, 10*time.Second, "the end", func(context.Context) (bool, error) { return deaf.Ended(), nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the files: %v", err)
	}
}
