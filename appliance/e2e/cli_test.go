package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// tool is one of the real command lines, and how the fake model is made to drive it.
type tool struct {
	name     string
	loginURL string                   // how the address of a login begins, if it shows one
	refusal  map[string]string        // an environment that is refused before the start
	approve  func(file string) string // a message after which it asks for leave to make a file
	yes      string                   // how the first choice of its dialog begins
}

var tools = []tool{
	{
		name:     "claude",
		loginURL: "https://claude.ai/",
		refusal:  map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
		approve:  func(file string) string { return "USE_TOOL[touch " + file + "] please" },
		yes:      "1. Yes",
	},
	{
		name:     "codex",
		loginURL: "https://auth.openai.com/",
		refusal:  map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1"},
		approve:  func(file string) string { return "ESCALATE USE_TOOL[touch " + file + "] please" },
		yes:      "1. Yes",
	},
	{
		name:    "gemini",
		refusal: map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"},
		approve: func(file string) string { return "USE_TOOL[touch " + file + "] please" },
		yes:     "1. Allow",
	},
}

// turnLimit is how long a real command line may take for what is quick on an idle machine.
const turnLimit = 3 * time.Minute

// pressEvery is how often a person presses a key again to which nothing happened: a command line may pass over what comes in the
// moment after it drew a dialog.
const pressEvery = 2 * time.Second

// withTools starts a server whose runtime finds the real command lines.
func withTools(t *testing.T) *crew {
	t.Helper()
	return managed(t, toolPath(t))
}

// toolPath is the configuration with which the runtime finds the real command lines.
func toolPath(t *testing.T) string {
	t.Helper()
	bin := shortDir(t)
	for _, name := range clis.Names() {
		path, ok := clis.Find(name)
		if !ok {
			continue // its own test says so
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	return fmt.Sprintf("plugins.runtime-local: {env: {PATH: %q}}", path)
}

// needs skips a test without a command line.
func needs(t *testing.T, name string) {
	t.Helper()
	if _, ok := clis.Find(name); !ok {
		requireReal(t, "%s is not installed; make clis installs it", name)
	}
}

// startModel runs the fake model.
func startModel(t *testing.T) *fakemodel.Server {
	t.Helper()
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Errorf("the fake model: %v", err)
		}
	})
	return model
}

// Each real command line is driven over HTTP through a turn, approvals by the API and by keys, a question, and
// the deaths of core and plugin.
func TestRealCLI(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.name)
			c, model := withTools(t), startModel(t)
			a := c.spawn(client.ManagedAgentSpec{Type: tool.name, Env: fakemodel.Env(tool.name, model.URL())})
			a = c.await(a.ID, client.ManagedReady)
			c.told(a.ID, "hello", "ANSWER[hello]")
			c.told(a.ID, "two\nlines", "ANSWER[two\nlines]")
			driveApprovals(t, c, tool, a)
			driveQuestion(t, c, a)
			driveKills(t, c, tool, a)
			driveLoss(t, c, a)

			v := c.view(a.ID, runtime.AttachOptions{Tail: 1000})
			v.sees("once more")
			m, err := c.api.ManagedAgentMetrics(t.Context(), a.ID)
			if err != nil || m.MemoryBytes < 20<<20 {
				t.Errorf("metrics %+v, %v", m, err)
			}
			c.retire(a.ID)
			if exit := v.ends(); exit == nil {
				t.Error("the viewer was not told of the exit")
			}
			if lines := strings.Join(c.logs(a.ID, "output"), "\n"); !strings.Contains(lines, "ANSWER[hello]") {
				t.Errorf("the log has the answers %q", lines)
			}
		})
	}
}

// later sends a message whose turn needs more from the caller.
func (c *crew) later(id, message string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		reply, err := c.api.SendManagedAgent(c.t.Context(), id, client.ManagedAgentInput{
			Message: message, ExpectResponse: true, Timeout: turnLimit,
		})
		if err != nil {
			answer <- "error: " + err.Error()
			return
		}
		answer <- reply.Response.Text
	}()
	return answer
}

// blocked waits for a prompt.
func (c *crew) blocked(id, kind string) *client.ManagedPrompt {
	c.t.Helper()
	a := c.awaitAgent(id, "prompt", func(a *client.ManagedAgent) bool {
		return a.Status == client.ManagedBusy && a.StatusReason == "blocked" && a.Prompt != nil
	})
	if a.Prompt.Kind != kind || a.Prompt.ID == "" || len(a.Prompt.Options) < 2 {
		c.t.Fatalf("the prompt: %+v", a.Prompt)
	}
	return a.Prompt
}

// escapes are what a screen holds beside its text.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|.)`)

func plain(screen string) string { return escapes.ReplaceAllString(screen, "") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func driveApprovals(t *testing.T, c *crew, tool tool, a *client.ManagedAgent) {
	t.Helper()
	file := func(name string) string { return filepath.Join(a.Workdir, name) }

	answer := c.later(a.ID, tool.approve(file("by-api")))
	p := c.blocked(a.ID, "approval")
	if !strings.Contains(fmt.Sprint(p.Text, p.Input), file("by-api")) || exists(file("by-api")) {
		t.Errorf("asks %+v; the file is there: %t", p, exists(file("by-api")))
	}
	c.refused(c.agentPost(a.ID, "send", `{"message":"now"}`), 409, "CONFLICT", "BLOCKED")
	c.refused(c.agentPost(a.ID, "answer", `{"promptId":"p-of-old","choice":"allow"}`), 409, "CONFLICT", "NO_PROMPT")
	c.refused(c.agentPost(a.ID, "answer", `{"choice":"perhaps"}`), 400, "VALIDATION_ERROR", "")
	if _, err := c.api.AnswerManagedAgent(t.Context(), a.ID, client.ManagedAgentAnswer{PromptID: p.ID, Choice: "allow"}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got, "TOOL_RESULT") || !exists(file("by-api")) {
		t.Errorf("after an approval over the API: %q; the file is there: %t", got, exists(file("by-api")))
	}

	answer = c.later(a.ID, tool.approve(file("by-key")))
	p = c.blocked(a.ID, "approval")
	v := c.view(a.ID, runtime.AttachOptions{})
	pressed := time.Time{}
	eventually(t, "the end of the dialog", func() bool {
		now := c.agent(a.ID).Prompt
		if now == nil || now.ID != p.ID {
			return true
		}
		if time.Since(pressed) > pressEvery && strings.Contains(plain(c.screen(a.ID)), tool.yes) {
			v.types("1")
			pressed = time.Now()
		}
		return false
	})
	if got := <-answer; !strings.Contains(got, "TOOL_RESULT") || !exists(file("by-key")) {
		t.Errorf("after an approval by key: %q; the file is there: %t", got, exists(file("by-key")))
	}
	v.close()

	c.await(a.ID, client.ManagedReady)
	answer = c.later(a.ID, tool.approve(file("refused")))
	c.blocked(a.ID, "approval")
	if _, err := c.api.AnswerManagedAgent(t.Context(), a.ID, client.ManagedAgentAnswer{Choice: "deny"}); err != nil {
		t.Fatal(err)
	}
	<-answer // how the turn ends depends on the tool
	c.await(a.ID, client.ManagedReady)
	if exists(file("refused")) {
		t.Error("what was refused was done")
	}
}

func driveQuestion(t *testing.T, c *crew, a *client.ManagedAgent) {
	t.Helper()
	answer := c.later(a.ID, "ASK[which one?] please")
	p := c.blocked(a.ID, "question")
	if p.Text != "which one?" || p.Options[1].Label != "beta" {
		t.Errorf("asks %+v", p)
	}
	if _, err := c.api.AnswerManagedAgent(t.Context(), a.ID, client.ManagedAgentAnswer{Choice: p.Options[1].ID}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got, "beta") {
		t.Errorf("after the answer: %q", got)
	}
}

// driveKills kills the plugin while the agent asks, and the core while it works.
func driveKills(t *testing.T, c *crew, tool tool, a *client.ManagedAgent) {
	t.Helper()
	c.await(a.ID, client.ManagedReady)
	file := filepath.Join(a.Workdir, "over-a-kill")
	if _, err := c.api.SendManagedAgent(t.Context(), a.ID, client.ManagedAgentInput{Message: tool.approve(file)}); err != nil {
		t.Fatal(err)
	}
	before := c.blocked(a.ID, "approval")
	c.killRuntime()
	c.runtimeReady()
	if now := c.blocked(a.ID, "approval"); now.ID != before.ID {
		t.Errorf("the prompt is %+v, was %+v", now, before)
	}
	if _, err := c.api.AnswerManagedAgent(t.Context(), a.ID, client.ManagedAgentAnswer{PromptID: before.ID, Choice: "allow"}); err != nil {
		t.Fatal(err)
	}
	c.await(a.ID, client.ManagedReady)
	if !exists(file) {
		t.Error("what was approved after the death of the plugin was not done")
	}

	turn := c.agent(a.ID).Turn
	if _, err := c.api.SendManagedAgent(t.Context(), a.ID, client.ManagedAgentInput{Message: "SLOW[3] SAY[a slow answer]"}); err != nil {
		t.Fatal(err)
	}
	c.kill()
	c.start()
	c.runtimeReady()
	now := c.awaitAgent(a.ID, "end of the turn", func(now *client.ManagedAgent) bool {
		return now.Status == client.ManagedReady && now.Turn == turn+1
	})
	if now.PID != a.PID {
		t.Errorf("the agent has the process %d, had %d", now.PID, a.PID)
	}
	var said []string
	for _, e := range c.events(a.ID) {
		d, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "managed_agent.turn_complete" && d.Turn == turn+1 {
			said = append(said, d.Text)
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "a slow answer slow1 ") {
		t.Errorf("the turn over a kill of the core ended with %q", said)
	}
	c.told(a.ID, "once more", "ANSWER[once more]")
}

// driveLoss kills the holder of the agent's terminal: the agent is lost, and goes on with its session when it is
// started again.
func driveLoss(t *testing.T, c *crew, a *client.ManagedAgent) {
	t.Helper()
	before := c.await(a.ID, client.ManagedReady)
	if before.SessionID == "" {
		t.Fatalf("the session of the tool is not known: %s", before.Body)
	}
	killed(t, parent(t, a.PID))
	lost(t, c, a)
	if _, err := c.api.RestartManagedAgent(t.Context(), a.ID, client.ManagedAgentRestart{}); err != nil {
		t.Fatal(err)
	}
	now := c.await(a.ID, client.ManagedReady)
	if now.SessionID != before.SessionID || now.PID == before.PID {
		t.Errorf("after its loss it has the session %s and the process %d, had %s and %d",
			now.SessionID, now.PID, before.SessionID, before.PID)
	}
	defer func() {
		if t.Failed() {
			t.Logf("events %s\nscreen %s", kinds(c.events(a.ID)), plain(c.screen(a.ID)))
		}
	}()
	eventually(t, "the conversation on the screen", func() bool {
		return strings.Contains(plain(c.screen(a.ID)), "ANSWER[")
	})
	c.told(a.ID, "and once more", "ANSWER[and once more]")
}

// A command line without a credential says that it needs a login, and where; one whose settings cannot work is
// refused.
func TestRealCLILogin(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.name)
			c := withTools(t)
			a := c.spawn(client.ManagedAgentSpec{Type: tool.name})
			a = c.awaitAgent(a.ID, "login", func(a *client.ManagedAgent) bool {
				return a.Status == client.ManagedError && a.StatusReason == "login_required" &&
					(tool.loginURL == "" || a.LoginURL != "")
			})
			if !strings.HasPrefix(a.LoginURL, tool.loginURL) {
				t.Errorf("the login is at %q", a.LoginURL)
			}
			if !strings.Contains(kinds(c.events(a.ID)), "login_required") {
				t.Errorf("events %s", kinds(c.events(a.ID)))
			}
			c.retire(a.ID)
			_, err := c.api.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: tool.name, Env: tool.refusal})
			if client.CodeOf(err) != client.CodeConflict || !strings.Contains(fmt.Sprint(err), "credential") {
				t.Errorf("a model without a credential: %v", err)
			}
		})
	}
}
