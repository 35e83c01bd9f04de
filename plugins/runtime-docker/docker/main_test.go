package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/plugins/runtime-docker/docker"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

// dir has the plugin with the holder beside it, as the build lays them out; made once for all tests.
var dir string

var binaries = sync.OnceValue(func() error {
	for name, pkg := range map[string]string{"runtime-docker": "..", "holder": "github.com/wardroom/wardroom/plugins/holder"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
})

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "rtdocker"); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for until := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(until); { // idle connections end by themselves
			err = goleak.Find()
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	if shared.own {
		_ = script("remove", shared.dir)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// engine is a real engine.
type engine struct {
	socket string
	dir    string // of one that the tests started
	own    bool
}

var (
	shared      engine // of all tests
	startShared = sync.OnceValue(func() error {
		if shared.socket = os.Getenv("WARDROOM_DOCKER_SOCKET"); shared.socket != "" {
			return nil
		}
		if os.Getuid() != 0 {
			return errors.New("WARDROOM_DOCKER_SOCKET names no engine, and only root can start one")
		}
		shared = engine{socket: filepath.Join(dir, "engine", "docker.sock"), dir: filepath.Join(dir, "engine"), own: true}
		if err := script("up", shared.dir); err != nil {
			shared.own = false
			return err
		}
		return script("image", shared.dir, "wardroom/test:1")
	})
)

// script runs the project's script for engines.
func script(args ...string) error {
	out, err := exec.Command("bash", append([]string{"../../../scripts/engine/engine.sh"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("engine.sh %v: %w\n%s", args, err, out)
	}
	return nil
}

// need returns the engine that tests share, with the image wardroom/test:1. Without one the test is skipped, or fails where
// real components are required.
func need(t testing.TB) *engine {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a container engine")
	}
	if err := startShared(); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("there is no container engine: %v", err)
		}
		t.Skipf("there is no container engine: %v", err)
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	return &shared
}

// fresh returns an engine of the test's own, which it may stop.
func fresh(t testing.TB, args ...string) *engine {
	t.Helper()
	if s := need(t); !s.own {
		t.Skip("an engine that was not started for the tests is not stopped by them")
	}
	at, err := os.MkdirTemp("", "eng")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{socket: filepath.Join(at, "docker.sock"), dir: at, own: true}
	t.Cleanup(func() {
		if err := script("remove", at); err != nil {
			t.Error(err)
		}
	})
	e.up(t, args...)
	if err := script("image", at, "wardroom/test:1"); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *engine) up(t testing.TB, args ...string) {
	t.Helper()
	if err := script(append([]string{"up", e.dir}, args...)...); err != nil {
		t.Fatal(err)
	}
}

func (e *engine) down(t testing.TB) {
	t.Helper()
	if err := script("down", e.dir); err != nil {
		t.Fatal(err)
	}
}

// client is one of the test's own.
func (e *engine) client(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.NewClientWithOpts(client.WithHost("unix://"+e.socket), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// settings are the plugin's for an engine, with more on top.
func (e *engine) settings(t testing.TB, more map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{"socket": e.socket, "image": "wardroom/test:1", "holder": filepath.Join(dir, "holder")}
	for name, value := range more {
		all[name] = value
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open makes a launcher over a directory; agents outlive it, and end with the test.
func (e *engine) open(t testing.TB, state string, more map[string]any) *docker.Launcher {
	t.Helper()
	config, err := docker.Decode(e.settings(t, more), state)
	if err != nil {
		t.Fatal(err)
	}
	l, err := docker.Open(docker.Options{Config: config, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// plugin starts the binary as the appliance does.
func (e *engine) plugin(t testing.TB, more map[string]any) *plugintest.Plugin {
	t.Helper()
	return plugintest.Start(t, plugintest.Options{Path: filepath.Join(dir, "runtime-docker"), Config: e.settings(t, more)})
}

// within bounds a test.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// imageRemove removes a name, and leaves what others have.
var imageRemove = image.RemoveOptions{PruneChildren: false}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
