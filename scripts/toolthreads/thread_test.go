package toolthreads_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// tools are the coding tools that give knows how to ask.
var tools = []string{"claude", "codex", "gemini"}

// repository makes a bare repository with one commit below a directory, and returns its path.
func repository(ctx context.Context, t testing.TB, base string) string {
	t.Helper()
	seed, shop := filepath.Join(base, "seed"), filepath.Join(base, "shop")
	git(ctx, t, "init", "-q", "-b", "main", seed)
	git(ctx, t, "-C", seed, "commit", "-q", "--allow-empty", "-m", "first")
	git(ctx, t, "clone", "-q", "--bare", seed, shop)
	return shop
}

// give has a tool commit a file and write another one, for which it asks leave, and checks that both are in the repository when the
// thread is over. Its runtime reaches this machine by an address.
func give(ctx context.Context, t *testing.T, api *client.Client, tool, repo, address string) {
	t.Helper()
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	words := "USE_TOOL[echo Welcome >hello.txt && git add hello.txt && git commit -q -m greeting && echo more >more.txt]"
	if tool == "codex" {
		words = "ESCALATE " + words
	}
	branch := "wardroom/done-" + tool // such as are allowed
	thread, err := api.SpawnThread(ctx, client.ThreadSpec{
		ExecutionID: client.NewExecution, Name: tool, AgentType: tool, Role: "maker",
		Objective: "Add a greeting to the shop. " + words + ` SAY[It is done.] REPORT[{"state":"complete","summary":"The greeting is in hello.txt."}]`,
		Preparation: client.ThreadPreparation{
			Workspace: &client.WorkspaceSpec{Repo: "file://" + repo}, Env: fakemodel.Env(tool, "http://"+forward(t, address, model.URL())),
		},
		Policy: client.ThreadPolicy{
			Finish:     &client.ThreadFinish{Commit: true, Message: "rest", Push: true, Branch: branch},
			AutoAnswer: []client.AutoAnswerRule{{Answer: "allow"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.StopThread(context.WithoutCancel(ctx), thread.ID, true, 0) }() // one that is over is not stopped
	err = testbed.Until(ctx, 4*time.Minute, "the thread is over", func(ctx context.Context) (bool, error) {
		thread, err = api.GetThread(ctx, thread.ID)
		return err == nil && thread.Over(), err
	})
	if err != nil {
		t.Fatalf("%v; it is %s", err, thread.Body)
	}
	if thread.Status != client.ThreadCompleted || thread.Completion == nil || thread.Completion.Summary != "The greeting is in hello.txt." {
		t.Fatalf("it came to %s", thread.Body)
	}
	if got := git(ctx, t, "-C", repo, "log", "--format=%s", branch); got != "rest\ngreeting\nfirst" {
		t.Errorf("the branch has %q", got)
	}
	if got := git(ctx, t, "-C", repo, "show", branch+":hello.txt") + git(ctx, t, "-C", repo, "show", branch+":more.txt"); got != "Welcomemore" {
		t.Errorf("the files have %q", got)
	}
}

func git(ctx context.Context, t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// forward has connections to an address of this machine reach a URL of its loopback, until the test ends: the model listens
// nowhere else. It returns the address with its port.
func forward(t testing.TB, address, url string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards open
	open := map[net.Conn]bool{}
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open[c] = true
	}
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				_ = in.Close()
				continue
			}
			keep(in)
			keep(out)
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				wg.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_, _ = pair[0].Close(), pair[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}
