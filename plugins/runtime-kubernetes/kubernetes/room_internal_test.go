package kubernetes

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRoomOfEnded finds the pod of an agent that has ended while it is there, and nothing of others.
func TestRoomOfEnded(t *testing.T) {
	a := &api{pods: map[string]*corev1.Pod{}, version: 1, watches: make(chan chan any, 8)}
	k := a.open(t)
	l := &Launcher{config: decoded(t, `{}`), cluster: k, owner: "owner", dir: t.TempDir()}
	spec := &runtime.Spec{ID: "agent", Type: "claude"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	gone := func(what string) {
		t.Helper()
		if _, err := l.Room(ctx, spec); !errors.Is(err, agentcli.ErrGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	gone("no such agent")
	h := handle{Version: handleVersion, ID: spec.ID, Nonce: holder.NewNonce(), Owner: "owner", Pod: "pod", UID: "uid"}
	if err := l.save(record{Handle: h, Image: "wardroom/claude", Launched: true, Over: true}); err != nil {
		t.Fatal(err)
	}
	gone("its pod is gone")
	running := podIn(corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	put := func(uid types.UID) {
		a.set("pod", corev1.PodRunning)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pods["pod"].UID, a.pods["pod"].Status = uid, running.Status
	}
	put("another")
	gone("another pod has its name")
	put("uid")
	room, err := l.Room(ctx, spec)
	if err != nil || room.Home != defaultHome || room.Workdir != workDir || room.ReadFile == nil {
		t.Errorf("its room is %+v, %v", room, err)
	}
	if _, err := room.ReadFile("/etc/passwd"); runtime.ErrorCode(err) != runtime.CodeForbidden {
		t.Errorf("a file outside of it: %v", err)
	}
	l.owner = "a restored copy"
	gone("the agent of another installation")
	l.owner = "owner"
	if !l.RoomsEnd() {
		t.Error("homes last without a claim")
	}

	a.set("pod", "")
	l.config.HomeClaim = "homes"
	room, err = l.Room(ctx, spec)
	if err != nil || room.ReadFile == nil || room.ReadFrom != nil || l.RoomsEnd() {
		t.Errorf("with a claim its room is %+v, %v", room, err)
	}
	if _, err := room.ReadFile("/etc/passwd"); runtime.ErrorCode(err) != runtime.CodeForbidden {
		t.Errorf("a file outside of its folder: %v", err)
	}
	away := httptest.NewServer(nil)
	away.Close()
	l.cluster = clusterAt(t, away.URL)
	if _, err := l.Room(ctx, spec); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("the cluster is away: %v", err)
	}
}

// TestReaderPod is the pod that reads in the claim for homes: it has no variables, and writes nowhere there.
func TestReaderPod(t *testing.T) {
	l := &Launcher{config: decoded(t, `{"homeClaim": "homes", "env": {"A": "b"}, "secrets": ["keys"]}`), owner: "owner", version: "test"}
	pod, err := l.readerPod(record{Handle: handle{ID: "agent"}, Image: "wardroom/claude"})
	if err != nil {
		t.Fatal(err)
	}
	one := pod.Spec.Containers[0]
	if len(one.Env)+len(one.EnvFrom) > 0 || one.Image != "wardroom/claude" || pod.Annotations[annotationAgent] != "agent" {
		t.Errorf("the pod is %+v", pod)
	}
	claims := map[string]bool{}
	for _, m := range one.VolumeMounts {
		if m.Name == "home" {
			claims[m.MountPath] = m.ReadOnly && strings.HasPrefix(m.SubPath, "agents/agent/")
		}
	}
	for _, at := range []string{defaultHome, workDir} {
		if !claims[at] {
			t.Errorf("%s is mounted as %+v", at, one.VolumeMounts)
		}
	}
}
