package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxText bounds the text of a response, in bytes.
const maxText = 1 << 20

// sink is the terminal of a command: what it writes goes to the screen, and is kept as the turn's text.
type sink struct {
	out  *output
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	if room := maxText - s.text.Len(); room > 0 {
		s.text.Write(p[:min(room, len(p))])
	}
	s.out.write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), nil
}

// execute runs one line, until ctx ends. It returns what was written, the exit code, and whether the agent ends with it.
func (a *agent) execute(ctx context.Context, l *life, line string) (text string, code int, last bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "exit":
		code, _ := strconv.Atoi(strings.TrimSpace(rest))
		return "", code, true
	case "ask":
		return a.ask(ctx, l, rest), 0, false
	case "login":
		a.mu.Lock()
		a.state.LoginURL = rest
		a.mu.Unlock()
		a.tell(runtime.Event{Type: runtime.EventLoginRequired, Source: runtime.SourceScreen, LoginURL: rest})
		return "", 0, false
	}
	out := &sink{out: &a.out}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = a.spec.Workdir
	cmd.Env = append(os.Environ(), env(a.spec.Env)...)
	// A group of its own, so that whatever the command starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			_, _ = out.Write([]byte("sh cannot be run\n"))
		}
	}
	return strings.TrimRight(out.text.String(), "\n"), 0, false
}

// ask blocks until the question is answered, or ctx ends.
func (a *agent) ask(ctx context.Context, l *life, text string) string {
	prompt := &runtime.Prompt{
		ID: "p" + strconv.FormatInt(a.sentNow(), 10), Kind: runtime.PromptQuestion, Text: text,
		Options: []runtime.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
	}
	a.become(runtime.StatusBlocked, runtime.Event{Type: runtime.EventQuestion, Source: runtime.SourceHost, Prompt: prompt, Text: text})
	a.out.write([]byte(text + " [yes/no] "))
	select {
	case given := <-l.answer:
		a.out.write([]byte(given + "\r\n"))
		a.become(runtime.StatusBusy, runtime.Event{Type: runtime.EventUnblocked, Source: runtime.SourceHost, Answered: given})
		return given
	case <-ctx.Done():
		return ""
	}
}

func (a *agent) sentNow() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent
}

func env(values map[string]string) []string {
	list := make([]string, 0, len(values))
	for name, value := range values {
		list = append(list, name+"="+value)
	}
	return list
}
