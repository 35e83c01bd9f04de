package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// inHome returns what runs command lines of a user, whose files are in dir.
func inHome(t *testing.T, dir string) func(want int, args ...string) string {
	t.Helper()
	return func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code := cmd.Execute(t.Context(), cmd.Deps{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Sleep:  func(context.Context, time.Duration) error { return nil },
			Getenv: func(key string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[key] },
		}, args)
		if code != want {
			t.Errorf("%s: exit %d, want %d: %s", args, code, want, out.String())
		}
		return out.String()
	}
}

// Commands that change the contexts at once lose nothing of each other.
func TestContextsAtOnce(t *testing.T) {
	run := inHome(t, t.TempDir())
	const commands = 20
	var all sync.WaitGroup
	for i := range commands {
		all.Go(func() { run(0, "context", "add", fmt.Sprintf("c%d", i), "--server", "http://127.0.0.1:1") })
	}
	all.Wait()
	if got := strings.Count(run(0, "context", "list"), "http://127.0.0.1:1"); got != commands {
		t.Errorf("%d contexts, want %d", got, commands)
	}
}

// What is changed while a login waits for its approval stays, and the login is kept for the server that it is of alone.
func TestContextsDuringLogin(t *testing.T) {
	run := inHome(t, t.TempDir())
	approve, ended, refuses := func() {}, make(chan string, 2), atomic.Bool{}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/auth/methods":
			say(w, 200, `{"sso":true}`)
		case "/auth/cli":
			say(w, 200, `{"deviceCode":"d","userCode":"AB-CD","url":"/cli","expiresIn":60000,"interval":1}`)
		case "/api/session":
			ended <- r.Method + " " + r.Header.Get("Authorization")
			if refuses.Load() {
				say(w, 400, `{"error":{"code":"VALIDATION_ERROR","message":"no"}}`)
				return
			}
			say(w, 200, `{}`)
		default:
			approve()
			say(w, 200, `{"token":"secret","id":"sess_1","user":"user:ann","name":"Ann","expiresAt":"2999-01-02T03:04:05Z"}`)
		}
	})
	run(0, "context", "add", "lab", "--server", "http://127.0.0.1:1")
	approve = func() {
		run(0, "context", "add", "plant", "--server", "http://127.0.0.1:2", "--use")
		run(0, "context", "remove", "lab")
	}
	run(0, "login", "--device", "--server", url)
	if text := run(0, "context", "list"); !strings.Contains(text, "*  plant") || strings.Contains(text, "lab") || !strings.Contains(text, "login of user:ann") {
		t.Errorf("after the login:\n%s", text)
	}
	run(0, "context", "add", "mine", "--server", url)
	approve = func() { run(0, "context", "add", "mine", "--server", "http://127.0.0.1:3") }
	if text := run(1, "login", "--device", "--context", "mine"); !strings.Contains(text, "the context mine was changed meanwhile") {
		t.Errorf("login to what was changed: %s", text)
	}
	if text := run(0, "context", "list"); strings.Count(text, "login of") != 1 || !strings.Contains(text, "http://127.0.0.1:3") {
		t.Errorf("after the second login:\n%s", text)
	}
	// A session whose credential is kept nowhere is ended, or said to go on.
	if n := len(ended); n != 1 || <-ended != "DELETE Bearer secret" {
		t.Errorf("the server was asked %d times for the end of the session", n)
	}
	refuses.Store(true)
	run(0, "context", "add", "mine", "--server", url)
	if text := run(1, "login", "--device", "--context", "mine"); len(ended) != 1 || !strings.Contains(text, "The credential is not kept here, but the server does not know: the session sess_1 goes on there until 2999-01-0") {
		t.Errorf("a login that can be neither kept nor ended, after %d requests: %s", len(ended), text)
	}
}

// A file of contexts that lies elsewhere, with other settings of a user, is changed there.
func TestContextsBehindLink(t *testing.T) {
	dir := t.TempDir()
	run := inHome(t, dir)
	run(0, "context", "add", "lab", "--server", "http://127.0.0.1:1")
	file, elsewhere := filepath.Join(dir, "wardroom", "contexts.json"), filepath.Join(dir, "kept.json")
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	run(0, "context", "add", "plant", "--server", "http://127.0.0.1:1")
	if target, err := os.Readlink(file); err != nil || target != elsewhere {
		t.Errorf("the link is %q, %v", target, err)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || !strings.Contains(string(text), "plant") {
		t.Errorf("%s, %v", text, err)
	}
	// There may be nothing yet where links lead to, one by one.
	if err := os.Rename(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(elsewhere), os.Symlink("../link", file)); err != nil {
		t.Fatal(err)
	}
	run(0, "context", "add", "new", "--server", "http://127.0.0.1:1")
	if target, err := os.Readlink(file); err != nil || target != "../link" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || !strings.Contains(string(text), "new") {
		t.Errorf("%s, %v", text, err)
	}
}
