package toolthreads_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// resume has a thread of a tool end after a turn, another go on with it, and its agent start again: each time the model is asked
// with all that was said before, in the same session. Its runtime reaches this machine by an address; over is called between the
// thread and the one that goes on with it.
func resume(ctx context.Context, t *testing.T, api *client.Client, tool, repo, address string, over func(*client.Thread)) {
	t.Helper()
	dump := t.TempDir()
	model := fakemodel.New(fakemodel.Options{Dump: dump})
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	stop := func(id string) { _ = api.StopThread(context.WithoutCancel(ctx), id, true, 0) } // one that is over is not stopped
	first, err := api.SpawnThread(ctx, client.ThreadSpec{
		ExecutionID: client.NewExecution, Name: tool + "-resumed", AgentType: tool, Role: "maker", Objective: "Begin the " + tool + " clock. SAY[The dial is made.]",
		Preparation: client.ThreadPreparation{
			Workspace: &client.WorkspaceSpec{Repo: "file://" + repo}, Env: fakemodel.Env(tool, "http://"+forward(t, address, model.URL())),
		},
		Policy: client.ThreadPolicy{CompleteAfterTurns: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(first.ID)
	first = until(ctx, t, api, first.ID, "the first thread is over", (*client.Thread).Over)
	if first.Status != client.ThreadCompleted || first.SessionID == "" {
		t.Fatalf("it came to %s", first.Body)
	}
	over(first)
	next, err := api.ContinueThread(ctx, first.ID, client.ThreadContinue{Message: "Go on with the hands. SAY[The hands are made.]"})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(next.ID)
	on := until(ctx, t, api, next.ID, "the second thread is over", (*client.Thread).Over)
	if on.Status != client.ThreadCompleted || on.TurnCount != 1 || on.SessionID != first.SessionID || on.ManagedAgentID == first.ManagedAgentID {
		t.Errorf("with %s in the session %s went on %s", first.ManagedAgentID, first.SessionID, on.Body)
	}
	said := []string{"Begin the " + tool + " clock.", "The dial is made."}
	remembers(t, model, dump, "Go on with the hands.", said)

	// The same agent starts again, in a room that was taken over itself.
	again, err := api.RestartManagedAgent(ctx, on.ManagedAgentID, client.ManagedAgentRestart{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.StopManagedAgent(context.WithoutCancel(ctx), again.ID, true, 0) }()
	reply, err := api.SendManagedAgent(ctx, again.ID, client.ManagedAgentInput{
		Message: "Wind it up. SAY[It goes.]", ExpectResponse: true, Timeout: 2 * time.Minute,
	})
	if err != nil || reply.Response == nil || reply.Response.Text != "It goes." {
		t.Fatalf("the agent that started again answers %+v, %v", reply, err)
	}
	if again, err = api.GetManagedAgent(ctx, again.ID); err != nil || again.SessionID != first.SessionID {
		t.Errorf("it has the session %s, %v; it was %s", again.SessionID, err, first.SessionID)
	}
	remembers(t, model, dump, "Wind it up.", append(said, "Go on with the hands.", "The hands are made."))
}

// until waits until a thread is as done wants it.
func until(ctx context.Context, t *testing.T, api *client.Client, id, what string, done func(*client.Thread) bool) *client.Thread {
	t.Helper()
	var thread *client.Thread
	err := testbed.Until(ctx, 4*time.Minute, what, func(ctx context.Context) (ok bool, err error) {
		thread, err = api.GetThread(ctx, id)
		return err == nil && done(thread), err
	})
	if err != nil {
		t.Fatalf("%v; it is %s", err, thread.Body)
	}
	return thread
}

// remembers reports the requests of a message's turn that lack something of what was said before.
func remembers(t *testing.T, model *fakemodel.Server, dump, message string, said []string) {
	t.Helper()
	asked := 0
	for _, r := range model.Requests() {
		if r.Kind != "text" || !strings.Contains(r.User, message) {
			continue
		}
		asked++
		body, err := os.ReadFile(filepath.Join(dump, fmt.Sprintf("%06d-%s.json", r.Seq, r.API)))
		if err != nil {
			t.Fatal(err)
		}
		if missing := slices.DeleteFunc(slices.Clone(said), func(words string) bool { return strings.Contains(string(body), words) }); len(missing) > 0 {
			t.Errorf("the model is asked %q without %q", message, missing)
		}
	}
	if asked == 0 {
		t.Errorf("the model is not asked %q: %+v", message, model.Requests())
	}
}

// TestContainersResume has a thread go on with another in a container of its own, when that of the other is gone.
func TestContainersResume(t *testing.T) {
	e, network, address := toolEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server := start(ctx, t, "docker", fmt.Sprintf("socket: %q, network: %s", e.Socket, network))
	shop := repository(ctx, t, server.Dir)
	for _, tool := range tools {
		t.Run(tool, func(t *testing.T) {
			resume(ctx, t, server.Client, tool, shop, address, func(old *client.Thread) {
				agent, err := server.Client.GetManagedAgent(ctx, old.ManagedAgentID)
				if err != nil || agent.ContainerID == "" {
					t.Fatalf("the agent is %+v, %v", agent, err)
				}
				if err := testbed.Until(ctx, time.Minute, "the container is gone", func(ctx context.Context) (bool, error) {
					return e.Call(ctx, "GET", "/containers/"+agent.ContainerID+"/json", nil, nil) != nil, nil
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestPodsResume has a thread go on with another in a pod of its own, when that of the other is gone, and with it the home there.
func TestPodsResume(t *testing.T) {
	kubeconfig, address := toolCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server := start(ctx, t, "kubernetes", podSettings(kubeconfig)+", keepPods: 10s")
	shop := repository(ctx, t, server.Dir)
	for _, tool := range tools {
		t.Run(tool, func(t *testing.T) {
			resume(ctx, t, server.Client, tool, shop, address, func(old *client.Thread) {
				agent, err := server.Client.GetManagedAgent(ctx, old.ManagedAgentID)
				if err != nil || agent.PodName == "" {
					t.Fatalf("the agent is %+v, %v", agent, err)
				}
				if err := testbed.Until(ctx, 2*time.Minute, "the pod is over", func(ctx context.Context) (bool, error) {
					phase, err := exec.CommandContext(ctx, "kubectl", "--kubeconfig", kubeconfig, "-n", "default", "get", "pod", agent.PodName,
						"--ignore-not-found", "-o", "jsonpath={.status.phase}").Output()
					return string(phase) != "Running", err
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
