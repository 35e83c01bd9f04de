package fakemodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
)

// realCLI is how one of the real programs is run for a single prompt, and how its answer is read.
type realCLI struct {
	name    string
	api     string
	prepare func(t *testing.T, home, workdir, url string) (env []string)
	args    func(prompt string) []string
	answer  func(t *testing.T, output []byte) string
}

var realCLIs = []realCLI{
	{
		name: "claude", api: "anthropic",
		prepare: func(t *testing.T, home, workdir, url string) []string {
			writeJSON(t, filepath.Join(home, ".claude", ".claude.json"), map[string]any{
				"hasCompletedOnboarding": true, "theme": "dark",
				"projects": map[string]any{workdir: map[string]any{"hasTrustDialogAccepted": true}},
			})
			return []string{
				"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"), "ANTHROPIC_BASE_URL=" + url,
				"ANTHROPIC_API_KEY=no-key-is-checked", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", "DISABLE_UPDATES=1", "DISABLE_AUTOUPDATER=1",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
			}
		},
		args: func(prompt string) []string { return []string{"-p", prompt, "--output-format", "json"} },
		answer: func(t *testing.T, output []byte) string {
			var result struct{ Result string }
			if err := json.Unmarshal(output, &result); err != nil {
				t.Fatalf("%v in %s", err, output)
			}
			return result.Result
		},
	},
	{
		name: "codex", api: "responses",
		prepare: func(t *testing.T, home, workdir, url string) []string {
			write(t, filepath.Join(home, ".codex", "config.toml"), `model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "`+url+`/v1"
wire_api = "responses"
env_key = "FAKE_MODEL_KEY"
requires_openai_auth = false
supports_websockets = false
[features]
daemon_auto_start = false
plugins = false
apps = false
remote_plugin = false
[analytics]
enabled = false
[projects."`+workdir+`"]
trust_level = "trusted"
`)
			return []string{"CODEX_HOME=" + filepath.Join(home, ".codex"), "FAKE_MODEL_KEY=no-key-is-checked"}
		},
		args: func(prompt string) []string { return []string{"exec", "--json", "--skip-git-repo-check", prompt} },
		answer: func(t *testing.T, output []byte) string {
			answer := ""
			for _, line := range jsonLines(t, output) {
				var event struct {
					Type string
					Item struct{ Type, Text string }
				}
				if json.Unmarshal(line, &event) == nil && event.Type == "item.completed" && event.Item.Type == "agent_message" {
					answer = event.Item.Text
				}
			}
			return answer
		},
	},
	{
		name: "gemini", api: "gemini",
		prepare: func(t *testing.T, home, workdir, url string) []string {
			writeJSON(t, filepath.Join(home, ".gemini", "settings.json"), map[string]any{
				"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}, "folderTrust": map[string]any{"enabled": true}},
				"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
				"privacy":   map[string]any{"usageStatisticsEnabled": false},
				"telemetry": map[string]any{"enabled": false},
			})
			writeJSON(t, filepath.Join(home, ".gemini", "trustedFolders.json"), map[string]any{workdir: "TRUST_FOLDER"})
			return []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=no-key-is-checked", "GEMINI_CLI_NO_RELAUNCH=true"}
		},
		args: func(prompt string) []string {
			return []string{"-p", prompt, "-o", "stream-json", "--approval-mode", "yolo"}
		},
		answer: func(t *testing.T, output []byte) string {
			answer := ""
			for _, line := range jsonLines(t, output) {
				var event struct{ Type, Role, Content string }
				if json.Unmarshal(line, &event) == nil && event.Type == "message" && event.Role == "assistant" {
					answer += event.Content
				}
			}
			return answer
		},
	},
}

// The whole point: the real programs take the endpoint for their provider.
func TestRealCLIs(t *testing.T) {
	for _, cli := range realCLIs {
		t.Run(cli.name, func(t *testing.T) {
			binary := findCLI(t, cli.name)
			t.Run("answer", func(t *testing.T) {
				server := start(t, fakemodel.Options{})
				if got, want := cli.run(t, server, binary, "say hello").wait(), "ANSWER[say hello]"; got != want {
					t.Errorf("answer %q, want %q", got, want)
				}
				answered(t, server, cli.api, "text")
			})
			t.Run("tool", func(t *testing.T) {
				server := start(t, fakemodel.Options{})
				got := cli.run(t, server, binary, "please USE_TOOL[echo one two]").wait()
				if !strings.Contains(got, "ANSWER[please USE_TOOL[echo one two]] TOOL_RESULT[") || !strings.Contains(got, "one two") {
					t.Errorf("answer %q, want the tool's result in it", got)
				}
				answered(t, server, cli.api, "tool")
			})
			t.Run("thought and tools", func(t *testing.T) {
				server := start(t, fakemodel.Options{})
				got := cli.run(t, server, binary, "THINK USE_TOOLS[2] LONG[300]").wait()
				if !strings.Contains(got, "hi-2") || !strings.HasSuffix(strings.TrimSpace(got), "line 00300 of the long answer") {
					t.Errorf("answer %q, want the second tool's result and 300 lines", got)
				}
			})
			t.Run("report on a file", func(t *testing.T) {
				server := start(t, fakemodel.Options{})
				run := cli.prepared(t, server, binary, `READ[.notes/notes.md] USE_TOOL[echo two] QUOTE[remember] SAY[read] REPORT[{"state": "complete"}]`)
				worktree(t, run.cmd.Dir) // in which git does not see the file
				write(t, filepath.Join(run.cmd.Dir, ".notes", "notes.md"), "forget this\nremember that\n")
				run.begin()
				got := run.wait()
				if !strings.HasPrefix(got, "read QUOTED[") || !strings.Contains(got, "remember that]") || strings.Contains(got, "forget") ||
					!strings.HasSuffix(strings.TrimSpace(got), "```wardroom\n{\"state\": \"complete\"}\n```") {
					t.Errorf("answer %q", got)
				}
				answered(t, server, cli.api, "read")
				answered(t, server, cli.api, "tool")
			})
			t.Run("held", func(t *testing.T) {
				server := start(t, fakemodel.Options{})
				run := cli.run(t, server, binary, "HOLD[door] knock")
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := server.AwaitHeld(ctx, "door"); err != nil {
					t.Fatalf("%v\n%s", err, run.stderr.String())
				}
				released := time.Now()
				if n, err := server.Release("door"); err != nil || n != 1 {
					t.Fatalf("released %d, %v, want 1", n, err)
				}
				if got, want := run.wait(), "ANSWER[HOLD[door] knock]"; got != want {
					t.Errorf("answer %q, want %q", got, want)
				}
				q := answered(t, server, cli.api, "text")
				if q.ReceivedNs >= released.UnixNano() || q.FirstNs < released.UnixNano() || q.LastNs < q.FirstNs {
					t.Errorf("released at %d, logged %+v", released.UnixNano(), q)
				}
			})
		})
	}
}

func findCLI(t *testing.T, name string) string {
	t.Helper()
	binary, ok := clis.Find(name)
	if !ok {
		message := name + " is not installed; run scripts/clis/install.sh .cache/clis"
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return binary
}

// answered is the last logged answer of a kind.
func answered(t *testing.T, server *fakemodel.Server, api, kind string) fakemodel.Request {
	t.Helper()
	found := fakemodel.Request{}
	for _, q := range server.Requests() {
		if q.API == api && q.Kind == kind {
			found = q
		}
	}
	if found.Seq == 0 {
		t.Errorf("no %s answer over %s is logged: %+v", kind, api, server.Requests())
	}
	return found
}

// running is a real program at work.
type running struct {
	t              *testing.T
	cli            realCLI
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (c realCLI) run(t *testing.T, server *fakemodel.Server, binary, prompt string) *running {
	t.Helper()
	r := c.prepared(t, server, binary, prompt)
	r.begin()
	return r
}

// prepared is run before the start: its working directory is there.
func (c realCLI) prepared(t *testing.T, server *fakemodel.Server, binary, prompt string) *running {
	t.Helper()
	home, workdir := realDir(t), realDir(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &running{t: t, cli: c, cmd: exec.CommandContext(ctx, binary, c.args(prompt)...)}
	r.cmd.Dir = workdir
	r.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color"},
		c.prepare(t, home, workdir, server.URL())...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = 5 * time.Second
	return r
}

func (r *running) begin() {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
}

// wait waits for the end of the program and returns its answer.
func (r *running) wait() string {
	r.t.Helper()
	if err := r.cmd.Wait(); err != nil {
		r.t.Fatalf("%s: %v\n%s\n%s", r.cli.name, err, r.stdout.String(), r.stderr.String())
	}
	return r.cli.answer(r.t, r.stdout.Bytes())
}

// realDir is an empty folder without links in its path: the programs trust real paths.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// worktree makes an empty folder a working tree of a repository that excludes .notes.
func worktree(t *testing.T, dir string) {
	t.Helper()
	repository := realDir(t)
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
		{"worktree", "add", "-q", "-b", "work", dir},
	} {
		cmd := exec.Command("git", append([]string{"-C", repository}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(t, filepath.Join(repository, ".git", "info", "exclude"), "/.notes/\n")
}

func jsonLines(t *testing.T, output []byte) [][]byte {
	t.Helper()
	var lines [][]byte
	for line := range bytes.Lines(output) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{")) {
			lines = append(lines, line)
		}
	}
	return lines
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(data))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
