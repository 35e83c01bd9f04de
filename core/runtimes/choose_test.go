package runtimes_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestChoiceByNeed gives agents to runtimes that have what they ask for.
func TestChoiceByNeed(t *testing.T) {
	local, docker := newFake("claude"), newFake("claude")
	docker.images, docker.limits = true, true
	r := newRig(t, newMemory(t), map[string]*fake{"local": local, "docker": docker}).ready("local", "docker")
	for name, tt := range map[string]struct {
		spec core.ManagedAgentSpec
		want string
	}{
		"Nothing": {core.ManagedAgentSpec{}, "local"},
		"Image":   {core.ManagedAgentSpec{Image: "x"}, "docker"},
		"Network": {core.ManagedAgentSpec{Network: "x"}, "docker"},
		"Volumes": {core.ManagedAgentSpec{Volumes: []string{"/a:/b:ro"}}, "docker"},
		"Memory":  {core.ManagedAgentSpec{MemoryBytes: 1 << 30}, "docker"},
		"CPU":     {core.ManagedAgentSpec{CPU: 1}, "docker"},
		"Named":   {core.ManagedAgentSpec{CPU: 1, Runtime: "local"}, "local"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Type = "claude"
			if a := r.spawn(tt.spec); a.Runtime != tt.want {
				t.Errorf("it went to %s, want %s", a.Runtime, tt.want)
			}
		})
	}
	docker.change(func() { docker.limits = false })
	docker.change(func() { docker.sick = "the engine is away; start it" })
	if a := r.spawn(core.ManagedAgentSpec{Type: "claude", CPU: 1}); a.Runtime != "local" {
		t.Errorf("with the other away it went to %s", a.Runtime)
	}
	_, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude", Runtime: "docker"})
	if e := core.AsError(err); !e.Unavailable || !strings.Contains(e.Message, "the engine is away; start it") {
		t.Errorf("named, and away: %v", err)
	}
	_, err = r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude", Image: "x"})
	if e := core.AsError(err); !e.Unavailable || !strings.Contains(e.Message, "the engine is away") {
		t.Errorf("an image, and away: %v", err)
	}
	for _, info := range r.Runtimes(ctx) {
		if away := info.Name == "docker"; info.Ready == away || away && info.Reason != "the engine is away; start it" {
			t.Errorf("shown as %+v", info)
		}
	}
}

// TestChoiceWithoutImages refuses what no runtime has.
func TestChoiceWithoutImages(t *testing.T) {
	r := newRig(t, newMemory(t), map[string]*fake{"local": newFake("claude")}).ready("local")
	_, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude", Volumes: []string{"/a:/b:ro"}})
	wantCode(t, err, core.CodeValidation, "")
	if core.AsError(err).Details["field"] != "volumes" {
		t.Errorf("got %v", err)
	}
}

// TestElsewhere tries the next runtime where the first one lacks something, and tells what the first one said.
func TestElsewhere(t *testing.T) {
	local, docker := newFake("claude"), newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": local, "docker": docker}).ready("local", "docker")
	for code, want := range map[runtime.Code]bool{
		runtime.CodeCLINotFound: true, runtime.CodeImageNotFound: true, runtime.CodeSocketError: true, runtime.CodeNetworkError: true,
		runtime.CodeResourceLimit: true, runtime.CodeWorkdirNotAllowed: false, runtime.CodeAuthRequired: false,
	} {
		local.change(func() { local.spawn = func(runtime.Spec) error { return runtime.Errorf(code, "not here") } })
		a, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"})
		if want != (err == nil && a.Runtime == "docker") {
			t.Errorf("after %s: %+v, %v", code, a, err)
		}
		docker.change(func() {
			docker.spawn = func(runtime.Spec) error { return runtime.Errorf(runtime.CodeImageNotFound, "nor there") }
		})
		if _, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"}); err == nil || !strings.Contains(err.Error(), "not here") {
			t.Errorf("after %s on both: %v", code, err)
		}
		docker.change(func() { docker.spawn = nil })
	}
}
