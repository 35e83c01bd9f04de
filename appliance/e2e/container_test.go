package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// Spawns in containers that cannot be, as callers of REST and people at the command line see them: the code of the runtime,
// its status, and what to do.
func TestContainerRefusals(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	engine, err := testbed.NewEngine(ctx)
	if err != nil {
		requireReal(t, "there is no container engine: %v", err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/private/"):
			w.Header().Set("WWW-Authenticate", `Basic realm="lab"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/down/"):
			http.Error(w, "closed", http.StatusServiceUnavailable)
		case r.URL.Path == "/v2/":
		default:
			http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(registry.Close)
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	host, nowhere := strings.TrimPrefix(registry.URL, "http://"), strings.TrimPrefix(away.URL, "http://")
	dir := shortDir(t)
	product, err := testbed.Product(ctx, "", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := testbed.BuildPlugin(ctx, product, "runtime-docker"); err != nil {
		t.Fatal(err)
	}
	runtimes, err := testbed.Runtimes(product, map[string]string{"docker": fmt.Sprintf(
		`, config: {socket: %q, image: %s, pull: if-missing, networks: [wardroom-nowhere], allowImages: ["%s/*", "%s/*"]}`,
		engine.Socket, testbed.EngineImage, host, nowhere)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := testbed.NewServer(product, dir, `server: {listen: $LISTEN}
store: {path: $DIR/store, minFree: 64MiB}
agentTypes: {shell: {command: sh, env: {PS1: "ready> "}, ready: {pattern: "^ready> $"}}}
`+runtimes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spec   client.ManagedAgentSpec
		flags  []string
		status int
		code   string
		words  string
	}{
		"ImageMissing": {client.ManagedAgentSpec{Image: host + "/lab/none:1"}, []string{"--image", host + "/lab/none:1"}, 422, "IMAGE_NOT_FOUND", "manifest unknown"},
		"NotLetIn":     {client.ManagedAgentSpec{Image: host + "/private/agent:1"}, []string{"--image", host + "/private/agent:1"}, 422, "IMAGE_NOT_FOUND", "registries"},
		"RegistryDown": {client.ManagedAgentSpec{Image: host + "/down/agent:1"}, []string{"--image", host + "/down/agent:1"}, 502, "NETWORK_ERROR", "does not answer"},
		"RegistryAway": {client.ManagedAgentSpec{Image: nowhere + "/lab/agent:1"}, []string{"--image", nowhere + "/lab/agent:1"}, 502, "NETWORK_ERROR", "connection refused"},
		"Network":      {client.ManagedAgentSpec{Network: "wardroom-nowhere"}, []string{"--network", "wardroom-nowhere"}, 502, "NETWORK_ERROR", "docker network create"},
		"CPU":          {client.ManagedAgentSpec{CPU: 512}, []string{"--cpu", "512"}, 503, "RESOURCE_LIMIT", "512 cores"},
		"Volume":       {client.ManagedAgentSpec{Volumes: []string{"/etc:/data:ro"}}, []string{"--volume", "/etc:/data:ro"}, 400, "INVALID_SPEC", "allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Type = "shell"
			_, err := s.Client.SpawnManagedAgent(ctx, tt.spec)
			var refused *client.Error
			if !errors.As(err, &refused) || refused.Status != tt.status || !strings.Contains(fmt.Sprint(refused.Details), tt.code) && tt.code != "INVALID_SPEC" ||
				!strings.Contains(err.Error(), tt.words) {
				t.Errorf("REST: %+v, want %d %s with %q", err, tt.status, tt.code, tt.words)
			}
			cmd := exec.CommandContext(ctx, product, append([]string{"agent", "spawn", "shell", "--wait", "--server", s.URL}, tt.flags...)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err == nil || !strings.Contains(out.String(), tt.words) {
				t.Errorf("spawn --wait: %v, without %q:\n%s", err, tt.words, &out)
			}
		})
	}
	// The engine goes away, and the runtime says so.
	if engine.Own() {
		if err := engine.Down(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := s.Client.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "shell", Runtime: "docker"})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "engine") {
			t.Errorf("without an engine: %+v", err)
		}
	}
}
