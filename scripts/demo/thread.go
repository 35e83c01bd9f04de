package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

const (
	threadRole = "maker"
	// threadWork is the task of the first thread, and threadOutcome its report in the end.
	threadWork    = "Add a greeting to the shop."
	threadOutcome = "The greeting is in hello.txt."
	// nextWork is the task of a later thread, which can use what the first one found.
	nextWork = "Translate the greeting of the shop."
	commit   = "echo Welcome > hello.txt && git add hello.txt && git commit -q -m greeting"
)

// script is how a thread of a tool comes to its end.
type script struct {
	objective string // its first message
	asks      bool   // it asks for leave before it does it
	last      string // a second message, after which it reports that it is done; "": it does so after the first
}

// scriptOf returns the objective and the messages for a tool: the model of the demo understands the words in brackets.
func scriptOf(t tool) script {
	report := `{"state":"complete","summary":"` + threadOutcome + `"}`
	if t.approve == nil {
		return script{objective: commit + " # " + threadWork, last: "echo '```wardroom " + report + "```'"}
	}
	words := "USE_TOOL[" + commit + "]"
	if strings.Contains(t.approve(""), "ESCALATE") {
		words = "ESCALATE " + words
	}
	return script{objective: threadWork + " " + words + " SAY[It is done.] REPORT[" + report + "]", asks: true}
}

// supervise shows a managed thread: what it would begin with, its worktree, the leave that it asks for over one more
// kill -9 of the server, its outcome, and that a later thread gets it.
func (d *demo) supervise(ctx context.Context) (err error) {
	t := d.tools[0]
	d.title("A managed thread: %s with a worktree of a git repository, a memory, and somebody who looks after it", t.name)
	if _, err := exec.LookPath("git"); err != nil {
		d.say("left out, because git is not installed")
		return nil
	}
	repo, err := d.repository(ctx)
	if err != nil {
		return err
	}
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	s := scriptOf(t)
	if err := d.threadFiles(s, fakemodel.Env(t.name, model.URL())); err != nil {
		return err
	}
	about := []string{"--repo", repo, "--role", threadRole}
	if err := d.wardroom(ctx, append([]string{"thread", "prepare", "--objective", threadWork}, about...)...); err != nil {
		return err
	}
	err = d.wardroom(ctx, append([]string{"thread", "spawn", "--type", t.name, "--name", "greeting", "--objective", "@" + d.path("objective.txt"),
		"--env-file", d.path("thread.env")}, about...)...)
	if err != nil {
		return err
	}
	list, err := d.server.Client.ListThreads(ctx, client.ThreadFilter{Role: threadRole})
	if err != nil || len(list.Threads) != 1 {
		return fmt.Errorf("the thread is not listed: %w", err)
	}
	id := list.Threads[0].ID
	defer func() {
		if err != nil {
			d.forsake(id)
		}
	}()
	if err := d.threadThroughKill(ctx, id, s); err != nil {
		return err
	}
	if err := d.threadEnds(ctx, id); err != nil {
		return err
	}
	d.threads++
	return d.remembered(ctx, about)
}

// repository makes a git repository with one commit and returns its URL.
func (d *demo) repository(ctx context.Context) (string, error) {
	dir := d.path("shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("A shop.\n"), 0o644); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main"}, {"add", "README"},
		{"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--message", "a shop"},
	} {
		if text, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w\n%s", args[0], err, text)
		}
	}
	return "file://" + dir, nil
}

// threadFiles writes what the command line reads: a message of several words, and variables that are secret.
func (d *demo) threadFiles(s script, env map[string]string) error {
	var lines strings.Builder
	for name, value := range env {
		fmt.Fprintf(&lines, "%s=%s\n", name, value)
	}
	if err := os.WriteFile(d.path("thread.env"), []byte(lines.String()), 0o600); err != nil {
		return err
	}
	return os.WriteFile(d.path("objective.txt"), []byte(s.objective), 0o644)
}

// threadThroughKill lets a thread work until it asks for leave, or else until its first turn is over, kills the server,
// and finds the thread as it was.
func (d *demo) threadThroughKill(ctx context.Context, id string, s script) error {
	before, err := d.waitThread(ctx, id, "asks for leave or has worked", func(t *client.Thread) bool {
		return s.asks && t.Status == client.ThreadBlocked && t.Prompt != nil || !s.asks && t.Status == client.ThreadReady && t.TurnCount == 1
	})
	if err != nil {
		return err
	}
	if err := d.wardroom(ctx, "thread", "list"); err != nil {
		return err
	}
	pid, err := d.kill()
	if err != nil {
		return err
	}
	d.say("\n-- kill -9 %d: the server is gone while its thread is %s", pid, before.Status)
	if err := d.startServer(ctx); err != nil {
		return err
	}
	if err := d.waitAgents(ctx); err != nil {
		return err
	}
	after, err := d.waitThread(ctx, id, "is as it was", func(t *client.Thread) bool { return t.Status == before.Status })
	if err != nil {
		return err
	}
	if !s.asks {
		return d.wardroom(ctx, "thread", "send", id, s.last)
	}
	if after.Prompt == nil || after.Prompt.ID != before.Prompt.ID {
		return fmt.Errorf("the thread asks something else after the kill: %s", after.Body)
	}
	d.say("it still asks: %s", excerpt(strings.Join(strings.Fields(after.Prompt.Text), " "), 100))
	return d.wardroom(ctx, "thread", "answer", id, "allow")
}

// threadEnds waits for the end of the thread and checks what it came to.
func (d *demo) threadEnds(ctx context.Context, id string) error {
	t, err := d.waitThread(ctx, id, "is over", (*client.Thread).Over)
	if err != nil {
		return err
	}
	if t.Status != client.ThreadCompleted || t.Completion == nil || t.Completion.Summary != threadOutcome || t.Restarts != 0 {
		return fmt.Errorf("the thread was to complete and came to %s", t.Body)
	}
	if c := t.Completion.Changes; c == nil || c.CommitCount != 1 || c.FileCount != 1 {
		return fmt.Errorf("the thread was to make one commit: %s", t.Body)
	}
	for _, args := range [][]string{{"get", id}, {"events", id}} {
		if err := d.wardroom(ctx, append([]string{"thread"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// remembered shows that what the thread came to is found, and told to a later one.
func (d *demo) remembered(ctx context.Context, about []string) error {
	if err := d.wardroom(ctx, "thread", "experiences", "greeting of a shop"); err != nil {
		return err
	}
	plan, err := d.server.Client.PrepareThread(ctx, client.ThreadSpec{
		ExecutionID: client.NewExecution, Role: threadRole, Objective: nextWork,
		Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: about[1]}},
	})
	if err != nil {
		return err
	}
	known, err := plan.MemoryContext()
	if err != nil {
		return err
	}
	if known.EpisodicExperienceCount != 1 || !strings.Contains(plan.Preparation.ContextFiles[0].Content, threadOutcome) {
		return fmt.Errorf("the memory of the next thread lacks what the first one came to: %s", plan.Body)
	}
	d.say("a thread that is to %q is told:", nextWork)
	d.say("%s", section(plan.Preparation.ContextFiles[0].Content, "## Experiences"))
	return d.wardroom(ctx, "workspace", "list")
}

// section is the part of a text in Markdown below a heading.
func section(text, heading string) string {
	_, below, _ := strings.Cut(text, heading+"\n")
	below, _, _ = strings.Cut(below, "\n## ")
	return "  " + strings.ReplaceAll(strings.TrimSpace(below), "\n", "\n  ")
}

// waitThread waits until a thread is as it is to be.
func (d *demo) waitThread(ctx context.Context, id, what string, holds func(*client.Thread) bool) (t *client.Thread, err error) {
	err = testbed.Until(ctx, turnLimit, "the thread "+what, func(ctx context.Context) (bool, error) {
		if t, err = d.server.Client.GetThread(ctx, id); err != nil {
			return false, err
		}
		if t.Over() && !holds(t) {
			return false, fmt.Errorf("the thread is over: %s", t.Body)
		}
		return holds(t), nil
	})
	return t, err
}

// forsake ends the thread of a demo that went wrong: its agent would outlive everything else.
func (d *demo) forsake(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	_ = d.server.Client.StopThread(ctx, id, true, 0) // what failed is reported already
}
