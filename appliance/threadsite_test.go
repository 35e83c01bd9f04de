package appliance_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// site is a server whose only runtime runs each message with sh, and a repository.
type site struct {
	t    *testing.T
	dir  string
	repo string // file URL
	app  *appliance.App
	api  *client.Client
	log  log
}

func newSite(t *testing.T, threads string) *site {
	t.Helper()
	return newSiteAt(t, "127.0.0.1:0", threads)
}

func newSiteAt(t *testing.T, listen, threads string) *site {
	t.Helper()
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	server, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server.Handler())
	t.Cleanup(listener.Close)
	s := &site{t: t, dir: t.TempDir()}
	s.repo = "file://" + repository(t, filepath.Join(s.dir, "origin"))
	s.configure(listen, listener.URL, threads)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log:\n%s", s.log.String())
		}
	})
	s.open()
	return s
}

func (s *site) file() string { return filepath.Join(s.dir, "wardroom.yaml") }

func (s *site) configure(listen, runtime, threads string) {
	s.t.Helper()
	write(s.t, s.file(), fmt.Sprintf(`
server: {listen: %q}
store: {path: store}
metrics: {public: true}
runtimes: {local: {url: %q, required: true}}
threads: %s
`, listen, runtime, threads))
}

func (s *site) open() {
	s.t.Helper()
	s.app = open(s.t, appliance.Options{ConfigPath: s.file(), Stderr: &s.log, Version: "1.2.3"})
	s.api = connect(s.t, s.app)
}

// restart ends the process, as far as a test can, and starts it again.
func (s *site) restart() {
	s.t.Helper()
	s.app.Close()
	s.open()
}

// repository makes a repository with one commit on main.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	write(t, mustDir(t, dir)+"/README.md", "# Widgets\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "begin"}} {
		git(t, dir, args...)
	}
	return dir
}

func mustDir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *site) spawn(objective string, change func(*client.ThreadSpec)) *client.Thread {
	s.t.Helper()
	spec := client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: runtimetest.Type, Role: "maker", Objective: objective,
		Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: s.repo}},
	}
	if change != nil {
		change(&spec)
	}
	thread, err := s.api.SpawnThread(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.explain(thread.ID)
		}
	})
	return thread
}

// explain shows what a thread came to, for a failed test.
func (s *site) explain(id string) {
	ctx := context.WithoutCancel(s.t.Context())
	if thread, err := s.api.GetThread(ctx, id); err == nil {
		s.t.Logf("the thread: %s", thread.Body)
		if agent, err := s.api.GetManagedAgent(ctx, thread.ManagedAgentID); err == nil {
			s.t.Logf("its agent: %s", agent.Body)
			if list, err := s.api.ListManagedAgentEvents(ctx, agent.ID, 0, 100); err == nil {
				s.t.Logf("its events: %s", list.Body)
			}
		}
	}
	list, err := s.api.ListThreadEvents(ctx, id, client.ThreadEventFilter{Limit: 100, Types: []string{
		client.EventThreadStatus, client.EventThreadOutput, client.EventThreadTurnComplete, client.EventThreadBlocked, client.EventThreadFailed,
	}})
	if err != nil {
		s.t.Logf("its events: %v", err)
		return
	}
	for _, e := range list.Events {
		s.t.Logf("%6d %-24s %.300s", e.Sequence, e.Type, e.Data)
	}
}

// await waits until cond holds of a thread.
func (s *site) await(id, what string, cond func(*client.Thread) bool) *client.Thread {
	s.t.Helper()
	var thread *client.Thread
	coretest.WaitFor(s.t, what, func() bool {
		var err error
		if thread, err = s.api.GetThread(s.t.Context(), id); err != nil {
			s.t.Fatal(err)
		}
		if thread.Over() && !cond(thread) {
			s.t.Fatalf("the thread is over before %s: %s", what, thread.Body)
		}
		return cond(thread)
	})
	return thread
}

func (s *site) send(id, text string) {
	s.t.Helper()
	if _, err := s.api.SendThread(s.t.Context(), id, client.ThreadInput{Message: text}); err != nil {
		s.t.Fatal(err)
	}
}
