package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

func TestLoadMissingFile(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), config.Options{})
	if code := core.ErrorCode(err); code != core.CodeNotFound {
		t.Errorf("code %s of %v", code, err)
	}
	if config.Problems(err) != nil {
		t.Error("a missing file is not a problem of its text")
	}
}

func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#"), 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "conf.d")
	if err := os.WriteFile(link, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(good, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, drops := filepath.Join(dir, "pipe.yaml"), filepath.Join(dir, "drops")
	dropped := filepath.Join(drops, "conf.d", "10-pipe.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(dropped), 0o700), os.WriteFile(filepath.Join(drops, "good.yaml"), nil, 0o600),
		syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(dropped, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"Pipe", pipe, "cannot be read: is not a regular file"}, // without waiting for a writer
		{"DropInIsAPipe", filepath.Join(drops, "good.yaml"), "10-pipe.yaml: cannot be read: is not a regular file"},
		{"Directory", dir, "cannot be read: is not a regular file"},
		{"TooLarge", large, "cannot be read: is larger than 1MiB"},
		{"DropInDirIsAFile", good, "conf.d: cannot be read: not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Load(tt.path, config.Options{})
			problems := config.Problems(err)
			if len(problems) != 1 || !strings.HasSuffix(problems[0].String(), tt.want) {
				t.Errorf("problems %v, want one that ends in %q", problems, tt.want)
			}
		})
	}
}

func TestLoadUsesTheEnvironment(t *testing.T) {
	t.Setenv("WARDROOM_TEST_LEVEL", "warn")
	path := filepath.Join(t.TempDir(), "wardroom.yaml")
	if err := os.WriteFile(path, []byte("log: {level: '${WARDROOM_TEST_LEVEL}'}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != "warn" {
		t.Errorf("level %s", c.Log.Level)
	}
}

func TestParseNothingIsDefault(t *testing.T) {
	c, err := config.Parse(nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if changes := config.Changes(config.Default(), c); len(changes) != 0 {
		t.Errorf("changes %v", changes)
	}
}

func TestErrorListsEveryProblem(t *testing.T) {
	_, err := parse("log: {level: loud}\nengine: {maxActive: x}\n")
	e := core.AsError(err)
	for _, want := range []string{
		"/etc/wardroom/wardroom.yaml:1: log.level: ",
		"/etc/wardroom/wardroom.yaml:2: engine.maxActive: ",
	} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("message %q lacks %q", e.Message, want)
		}
	}
	if e.Details["field"] != "log.level" || len(config.Problems(err)) != 2 {
		t.Errorf("details %v", e.Details)
	}
}

func TestDefaultIsValid(t *testing.T) {
	if err := config.Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateInCode(t *testing.T) {
	c := config.Default()
	c.Server.Listen = "nowhere"
	c.Server.CORS.Origins = []string{"https://a.example", "*"}
	c.Engine.MaxActive = -1
	c.Engine.TaskTimeout = -time.Second
	c.Store.MinFree = -1
	c.Agents.UnhealthyAfter = 5
	c.Log.Format = ""
	var keys []string
	for _, p := range config.Problems(c.Validate()) {
		keys = append(keys, p.Key)
	}
	want := "server.listen server.cors.origins store.minFree engine.maxActive engine.taskTimeout log.format agents.unhealthyAfter"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("problems of %s\nwant %s", got, want)
	}
	if c.Engine.MaxActive != -1 {
		t.Error("Validate changed the configuration")
	}
}

func TestLoopbackOnly(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.9.9.9:1": true, "[::1]:8080": true, "localhost:80": true, "LOCALHOST:80": true,
		"[::ffff:127.0.0.1]:80": true,
		":8080":                 false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.com:80": false, "bad": false,
	} {
		if got := (config.Server{Listen: listen}).LoopbackOnly(); got != want {
			t.Errorf("LoopbackOnly of %s = %v", listen, got)
		}
	}
}
