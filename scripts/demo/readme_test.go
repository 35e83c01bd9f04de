package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// reader is somebody who follows the README, command by command, in a folder that looks like a checkout.
type reader struct {
	t      *testing.T
	dir    string
	env    []string
	server *testbed.Server
	swaps  []string // what is typed instead of what
}

// readerLimit is how long one block of commands may take, on a machine that has other work.
const readerLimit = 3 * time.Minute

// TestReadme types the commands of the README in their order. Typed otherwise are the address of the server and that of the
// receiver of webhooks, which must be free, ids that only the output tells, and the environment of the coding tool, which talks
// to a model of the test's own. `agent attach` takes a terminal, and has tests where it is.
func TestReadme(t *testing.T) {
	if _, ok := clis.Find("claude"); !ok {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal("claude is not installed; make clis installs it")
		}
		t.Skip("claude is not installed; make clis installs it")
	}
	blocks, session := readmeBlocks(t)
	r := newReader(t)
	r.block(blocks, "make demo", false) // this package's own work, and that of the whole of the tests
	r.block(blocks, "make build", false)

	agent := r.begin(r.block(blocks, "go run ./sdk/agent/examples/go", true))
	r.until(`test "$(bin/wardroom agent list -q | wc -l)" = 1`)
	out := r.run(r.block(blocks, "cat > urgency.yaml", true))
	r.wants(out, `"urgency"`, "pattern urgency 1.0.0 stored", "2 completed")

	team := r.block(blocks, "go build -o bin/demo-agent", true)
	gate := r.block(blocks, "bin/wardroom run enterprise-review --async", true)
	gate = strings.Replace(gate, "bin/wardroom question list", waitFor(`bin/wardroom question list -q | grep -q .`)+"bin/wardroom question list", 1)
	gate = strings.ReplaceAll(gate, "question-id", `"$(bin/wardroom question list -q | head -1)"`)
	out = r.run(strings.ReplaceAll(team+gate, "exec-id", `"$(bin/wardroom execution list -q | head -1)"`))
	r.wants(out, "startup-team 1.0.0", "✓ 2 review", "question_answered", `completed         {"approved":true`)

	out = r.run(r.block(blocks, "bin/wardroom agent spawn claude", true))
	r.wants(out, "ANSWER[what does this repository do?]", "helper")

	thread := r.block(blocks, "bin/wardroom thread prepare", true)
	follow := r.begin(thread)
	r.until(`bin/wardroom thread list --status blocked -q | grep -q .`)
	there := r.block(blocks, "bin/wardroom thread list", true)
	// Its first message, and the one that is sent, are done before somebody finds that the work is.
	done := waitFor(`state="$(bin/wardroom thread get "$id" -o json)"; grep -q '"status": *"ready"' <<<"$state" && grep -q '"queuedInputs": *0' <<<"$state"`) +
		"bin/wardroom thread get \"$id\"\n"
	there = strings.Replace(there, "bin/wardroom thread complete", done+"bin/wardroom thread complete", 1)
	r.run("id=\"$(bin/wardroom thread list -q | head -1)\"\n" + strings.ReplaceAll(there, "thread-id", `"$id"`))
	r.wants(r.end(follow, 0), "1 commit", "completed")

	r.run(strings.Join(session, "\n") + "\n" + waitFor("bin/wardroom webhook list -q | grep -q .") + "kill $(jobs -p)\n")
	_ = agent.Process.Signal(os.Interrupt)
	r.end(agent, -1)
	if left := strings.TrimSpace(strings.Join(blocks, "")); left != "" {
		t.Errorf("commands of the README that are not typed here:\n%s", left)
	}
}

var (
	readmeShell   = regexp.MustCompile("(?s)\n```sh\n(.*?)```")
	readmeSession = regexp.MustCompile(`(?m)^\$ (.*)$`)
)

// readmeBlocks returns the commands of the README: the blocks of a shell, and the lines of sessions.
func readmeBlocks(t *testing.T) (blocks, session []string) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range readmeShell.FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, m[1])
	}
	for _, m := range readmeSession.FindAllStringSubmatch(string(page), -1) {
		session = append(session, m[1])
	}
	return blocks, session
}

// newReader makes the folder, with the product that is tested, and starts its server.
func newReader(t *testing.T) *reader {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "readme") // a short path: sockets are below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, dir: filepath.Join(dir, "checkout")}
	data, tools, home := filepath.Join(dir, "data"), filepath.Join(dir, "tools"), filepath.Join(dir, "home")
	for _, name := range []string{r.dir, filepath.Join(r.dir, "bin"), data, tools, home} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	product, err := testbed.Product(t.Context(), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{filepath.Join(r.dir, "bin", "wardroom"): product, filepath.Join(tools, "wardroom"): product}
	for _, name := range []string{"core", "sdk", "scripts", "go.mod", "go.sum"} {
		links[filepath.Join(r.dir, name)] = filepath.Join(root, name)
	}
	claude, _ := clis.Find("claude")
	links[filepath.Join(tools, "claude")] = claude
	for name, to := range links {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	if r.server, err = testbed.NewDevServer(product, data); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readerLimit)
		defer cancel()
		stop := exec.CommandContext(ctx, "bash", "-c", "wardroom agent list --managed -q | xargs -r -n 1 wardroom agent stop")
		stop.Env = r.env // agents outlive everything else, in a test that failed too
		_ = stop.Run()
		r.server.Close()
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hook := listener.Addr().String()
	_ = listener.Close()
	env := fakemodel.Env("claude", model.URL())
	r.env = append(os.Environ(), "WARDROOM_SERVER="+r.server.URL, "HOME="+home, "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off",
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "NO_COLOR=1",
		"ANTHROPIC_API_KEY="+env["ANTHROPIC_API_KEY"], "ANTHROPIC_BASE_URL="+env["ANTHROPIC_BASE_URL"])
	r.swaps = []string{
		"go run ./sdk/agent/examples/go", "go run ./sdk/agent/examples/go -server \"$WARDROOM_SERVER\"",
		"bin/demo-agent -method", "bin/demo-agent -server \"$WARDROOM_SERVER\" -method",
		"--env ANTHROPIC_API_KEY=", "--env ANTHROPIC_BASE_URL --env ANTHROPIC_API_KEY=",
		"--env ANTHROPIC_API_KEY --repo", "--env ANTHROPIC_BASE_URL --env ANTHROPIC_API_KEY --repo",
		"'Say in NOTES.md", "'USE_TOOL[echo notes > NOTES.md] Say in NOTES.md",
		"bin/wardroom agent attach helper", "#",
		"webhook listen", "webhook listen --listen " + hook, "127.0.0.1:9000", hook,
	}
	r.run("git init -q -b main . && git config user.name Reader && git config user.email reader@example.com &&\n" +
		"echo hello > README && printf '/%s\\n' bin core sdk scripts go.mod go.sum urgency.yaml messages.jsonl > .gitignore && git add README .gitignore && git commit -q -m first\n")
	return r
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// block takes the block that begins so out of those that are left; typed says with what is swapped in it.
func (r *reader) block(blocks []string, begins string, typed bool) string {
	r.t.Helper()
	at := slices.IndexFunc(blocks, func(text string) bool { return strings.HasPrefix(text, begins) })
	if at < 0 {
		r.t.Fatalf("the README has no commands that begin with %q", begins)
	}
	text := blocks[at]
	blocks[at] = ""
	if !typed {
		return text
	}
	return strings.NewReplacer(r.swaps...).Replace(text)
}

// waitFor returns a shell command that waits until a condition holds, as a person would who looks again.
func waitFor(condition string) string {
	return fmt.Sprintf("for n in $(seq 600); do if %s; then break; fi; sleep 0.1; done\n", condition)
}

// until waits for a condition of the shell.
func (r *reader) until(condition string) {
	r.t.Helper()
	r.run(waitFor(condition) + condition + "\n")
}

// begin types commands and does not wait for their end.
func (r *reader) begin(text string) *exec.Cmd {
	r.t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.CreateTemp(filepath.Dir(r.dir), "out-")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a failed test leaves
		_ = out.Close()
	})
	return cmd
}

// end waits for commands, which must end with the code unless it is negative, and returns what they printed.
func (r *reader) end(cmd *exec.Cmd, code int) string {
	r.t.Helper()
	late := time.AfterFunc(readerLimit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	if code < 0 {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	_ = cmd.Wait() // its exit code is what counts
	text, err := os.ReadFile(cmd.Stdout.(*os.File).Name())
	if err != nil {
		r.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); code >= 0 && got != code {
		r.t.Fatalf("exit code %d, want %d, of\n%s\nprinted:\n%s\nthe server: %s", got, code, cmd.Args[len(cmd.Args)-1], text, r.server.Process.Tail())
	}
	return string(text)
}

// run types commands, each of which must succeed.
func (r *reader) run(text string) string {
	r.t.Helper()
	return r.end(r.begin(text), 0)
}

// wants compares what was printed with what the README promises.
func (r *reader) wants(out string, texts ...string) {
	r.t.Helper()
	for _, want := range texts {
		if !strings.Contains(out, want) {
			r.t.Fatalf("no %q in:\n%s", want, out)
		}
	}
}
