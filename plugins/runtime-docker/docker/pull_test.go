package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	registrytypes "github.com/docker/docker/api/types/registry"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/wardroom/wardroom/plugins/runtime-docker/docker"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// registryServer is a registry on this machine, which lets in who has the password, or everybody.
type registryServer struct {
	*httptest.Server
	host  string
	held  atomic.Pointer[chan struct{}] // as long as it is not nil and open, questions for manifests wait
	down  atomic.Bool                   // it answers with 503
	pulls atomic.Int32                  // requests for manifests by who was let in
}

const registryUser, registryPassword = "lab", "of-the-registry"

func startRegistry(t *testing.T, private bool) *registryServer {
	t.Helper()
	r := new(registryServer)
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, password, _ := q.BasicAuth(); private && (user != registryUser || password != registryPassword) {
			w.Header().Set("WWW-Authenticate", `Basic realm="lab"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		if r.down.Load() {
			http.Error(w, "closed for today", http.StatusServiceUnavailable)
			return
		}
		if strings.Contains(q.URL.Path, "/manifests/") && q.Method != http.MethodPut {
			r.pulls.Add(1)
			if held := r.held.Load(); held != nil {
				select {
				case <-*held:
				case <-q.Context().Done():
				}
			}
		}
		images.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	r.Server = server
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// publish puts an image with a shell and GENERATION in its environment into a registry, and leaves nothing of it on the engine.
func (e *engine) publish(ctx context.Context, t *testing.T, ref, generation string) {
	t.Helper()
	c := e.client(t)
	made, err := c.ContainerCreate(ctx, &container.Config{Image: "wardroom/test:1", Cmd: []string{"sh"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}) }()
	if _, err := c.ContainerCommit(ctx, made.ID, container.CommitOptions{Reference: ref, Changes: []string{"ENV GENERATION=" + generation}}); err != nil {
		t.Fatal(err)
	}
	auth, err := registrytypes.EncodeAuthConfig(registrytypes.AuthConfig{Username: registryUser, Password: registryPassword})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.ImagePush(ctx, ref, image.PushOptions{RegistryAuth: auth})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for lines := json.NewDecoder(stream); ; {
		var line struct {
			Error string `json:"error"`
		}
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || line.Error != "" {
			t.Fatal(err, line.Error)
		}
	}
	if _, err := c.ImageRemove(ctx, ref, imageRemove); err != nil {
		t.Fatal(err)
	}
}

// TestPull pulls from a real registry as the policy says.
func TestPull(t *testing.T) {
	for _, tt := range []struct {
		pull          string
		first, second string // the generation that an agent has, before and after another one was published; empty: none starts
	}{
		{"never", "", ""},
		{"if-missing", "1", "1"},
		{"always", "1", "2"},
	} {
		t.Run(tt.pull, func(t *testing.T) {
			e, ctx := need(t), within(t)
			r := startRegistry(t, false)
			ref := r.host + "/lab/" + tt.pull + ":1"
			e.publish(ctx, t, ref, "1")
			t.Cleanup(func() {
				_, _ = e.client(t).ImageRemove(context.WithoutCancel(ctx), ref, image.RemoveOptions{Force: true})
			})
			rt := e.plugin(t, map[string]any{"image": ref, "pull": tt.pull}).Conn().Runtime()
			start := func(generation, suffix string) {
				t.Helper()
				before := r.pulls.Load()
				spec := shell(id(t) + suffix)
				if generation == "" {
					if _, err := rt.Spawn(ctx, spec); runtime.ErrorCode(err) != runtime.CodeImageNotFound || r.pulls.Load() != before {
						t.Fatalf("%d requests reached the registry, and the start got %v", r.pulls.Load()-before, err)
					}
					return
				}
				a := spawn(ctx, t, rt, spec)
				if got := say(ctx, t, rt, a.ID, "echo $GENERATION"); got != generation {
					t.Errorf("the agent has generation %q, want %q", got, generation)
				}
			}
			start(tt.first, "-1")
			if tt.second != tt.first { // what an agent has cannot be published away from it: another engine would do that
				other := ref + "-next"
				e.publish(ctx, t, other, tt.second)
				r.move(ctx, t, other, ref)
			}
			before := r.pulls.Load()
			start(tt.second, "-2")
			if tt.pull == "if-missing" && r.pulls.Load() != before {
				t.Errorf("an image that is there was asked for again")
			}
		})
	}
}

// move has a tag of the registry name what another one names.
func (r *registryServer) move(ctx context.Context, t *testing.T, from, to string) {
	t.Helper()
	address := func(ref string) string {
		path := strings.TrimPrefix(ref, r.host)
		at := strings.LastIndex(path, ":")
		return "http://" + r.host + "/v2" + path[:at] + "/manifests/" + path[at+1:]
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, address(from), nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Close = true
	answer, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, address(to), answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	put.Close = true
	put.Header.Set("Content-Type", answer.Header.Get("Content-Type"))
	done, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = answer.Body.Close(), done.Body.Close()
	if done.StatusCode != http.StatusCreated {
		t.Fatalf("the registry answered %d", done.StatusCode)
	}
}

// TestPullPrivate pulls as who the configuration says.
func TestPullPrivate(t *testing.T) {
	e, ctx := need(t), within(t)
	r := startRegistry(t, true)
	ref := r.host + "/lab/private:1"
	e.publish(ctx, t, ref, "1")
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	user := map[string]any{r.host: map[string]any{"username": registryUser, "passwordFile": file}}
	rt := e.plugin(t, map[string]any{"image": ref, "pull": "if-missing"}).Conn().Runtime()
	_, err := rt.Spawn(ctx, shell(id(t)+"-nobody"))
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeImageNotFound || !strings.Contains(e.Hint, "registries") {
		t.Errorf("nobody got %v", err)
	}
	rt = e.plugin(t, map[string]any{"image": ref, "pull": "if-missing", "registries": user}).Conn().Runtime()
	for _, password := range []string{"", "wrong-password"} { // no file, and a file with a wrong one
		if password != "" {
			write(t, file, password+"\n")
		}
		_, err := rt.Spawn(ctx, shell(id(t)+"-wrong"))
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeImageNotFound || !strings.Contains(e.Hint, "registries") || strings.Contains(e.Error(), "wrong-password") {
			t.Errorf("with the password %q: %v", password, err)
		}
	}
	if n := r.pulls.Load(); n != 0 {
		t.Fatalf("%d requests were let in", n)
	}
	write(t, file, registryPassword+"\n")
	a := spawn(ctx, t, rt, shell(id(t)+"-lab"))
	if got := say(ctx, t, rt, a.ID, "echo $GENERATION"); got != "1" {
		t.Errorf("the agent has generation %q", got)
	}
	t.Cleanup(func() {
		_, _ = e.client(t).ImageRemove(context.WithoutCancel(ctx), ref, image.RemoveOptions{Force: true})
	})
}

// TestPullFails has a registry that has no such image, is down, or is away: what is wrong is told apart, whatever the policy.
func TestPullFails(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(r *registryServer)
		code    runtime.Code
		retry   bool
		words   string
	}{
		"Missing": {func(*registryServer) {}, runtime.CodeImageNotFound, false, "whether the registry has it"},
		"Down":    {func(r *registryServer) { r.down.Store(true) }, runtime.CodeNetworkError, true, "does not answer"},
		"Away":    {func(r *registryServer) { r.Close() }, runtime.CodeNetworkError, true, "connection refused"},
	} {
		for _, pull := range []string{"if-missing", "always"} {
			t.Run(name+"/"+pull, func(t *testing.T) {
				e, ctx := need(t), within(t)
				r := startRegistry(t, false)
				tt.prepare(r)
				spec := shell(id(t))
				_, err := e.plugin(t, map[string]any{"image": r.host + "/lab/none:1", "pull": pull}).Conn().Runtime().Spawn(ctx, spec)
				wantError(t, err, tt.code, tt.words)
				if failed := runtime.AsError(err); failed == nil || failed.Retry != tt.retry {
					t.Errorf("%v can be tried again: want %t", err, tt.retry)
				}
				if left := e.containers(ctx, t, spec.ID); len(left) > 0 {
					t.Errorf("%d containers are left", len(left))
				}
			})
		}
	}
}

// TestPullSlow has a registry that takes its time: who does not wait is told that the pull goes on, and the next one joins it.
func TestPullSlow(t *testing.T) {
	e, ctx := need(t), within(t)
	r := startRegistry(t, false)
	ref := r.host + "/lab/slow:1"
	e.publish(ctx, t, ref, "1")
	t.Cleanup(func() {
		_, _ = e.client(t).ImageRemove(context.WithoutCancel(ctx), ref, image.RemoveOptions{Force: true})
	})
	held := make(chan struct{})
	r.held.Store(&held)
	l := e.open(t, t.TempDir(), map[string]any{"image": ref, "pull": "if-missing"})
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err := docker.Fetch(short, l, ref)
	wantError(t, err, runtime.CodeImageNotFound, "still being pulled")
	if failed := runtime.AsError(err); failed == nil || !failed.Retry {
		t.Errorf("%v cannot be tried again", err)
	}
	until(ctx, t, "the engine to ask", func() bool { return r.pulls.Load() > 0 })
	asked := r.pulls.Load()
	next := make(chan error, 1)
	go func() { next <- docker.Fetch(ctx, l, ref) }() // ends with the pull
	close(held)
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	if _, err := e.client(t).ImageInspect(ctx, ref); err != nil {
		t.Errorf("the image is not there: %v", err)
	}
	t.Logf("%d questions until it was held, %d in all", asked, r.pulls.Load())
}
