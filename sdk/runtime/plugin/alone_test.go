package plugin_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

func environment(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// TestServe runs the program by hand: an agent answers over HTTP, and ends with the program.
func TestServe(t *testing.T) {
	a := &author{}
	port := freePort(t)
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"maxAgents": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	served, stop := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		ended <- runtimeplugin.Serve(served, a.options(), environment(map[string]string{
			"PORT": port, "CONFIG_FILE": config, "XDG_STATE_HOME": t.TempDir(), "LOG_LEVEL": "error",
		}))
	}()
	client, err := runtimeclient.New(runtimeclient.Options{URL: "http://127.0.0.1:" + port})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdle()
	ctx := within(t)
	var capabilities runtime.Capabilities
	for {
		if capabilities, err = client.Capabilities(ctx); err == nil {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case err := <-ended:
			t.Fatalf("the server ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("the server does not answer: %v", err)
		}
	}
	if capabilities.MaxAgents != 3 || capabilities.Name != "pen" {
		t.Errorf("capabilities %+v", capabilities)
	}
	if _, err := client.Spawn(ctx, runtime.Spec{ID: "one", Type: "sh"}); err != nil {
		t.Fatal(err)
	}
	result, err := client.Send(ctx, "one", runtime.Input{Message: "echo answer-$((6*7))", ExpectResponse: true})
	if err != nil || result.Response == nil || result.Response.Text != "answer-42" {
		t.Errorf("the agent said %+v, error %v", result, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if a.ends.Load() != 1 {
		t.Errorf("End was called %d times", a.ends.Load())
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"Port", map[string]string{"PORT": "x", "STATE_DIR": dir}, "PORT"},
		{"NoConfig", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": filepath.Join(dir, "missing")}, "CONFIG_FILE"},
		{"NotJSON", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": write("a", "secret-value{")}, "is not JSON"},
		{"Schema", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": write("b", `{"maxAgents": "secret-value"}`)}, "/maxAgents"},
		{"Unknown", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": write("c", `{"colour": "secret-value"}`)}, "colour"},
		{"New", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": write("d", `{"maxAgents": 13}`)}, "bad luck"},
		{"NoHome", map[string]string{"PORT": "0"}, "STATE_DIR"},
		{"StateIsFile", map[string]string{"PORT": "0", "STATE_DIR": filepath.Join(write("e", ""), "x")}, "STATE_DIR"},
		{"Setting", map[string]string{"PORT": "0", "STATE_DIR": dir, "MAX_AGENTS": "many"}, "MAX_AGENTS"},
		{"SettingBeforeFile", map[string]string{"PORT": "0", "STATE_DIR": dir, "CONFIG_FILE": write("f", `{"maxAgents": 3}`), "MAX_AGENTS": "13"}, "bad luck"},
		{"RunIsFile", map[string]string{"PORT": "0", "STATE_DIR": dir, "RUN_DIR": filepath.Join(write("g", ""), "x")}, "RUN_DIR"},
		{"NotLoopback", map[string]string{"PORT": "0", "STATE_DIR": dir, "WARDROOM_LISTEN": "0.0.0.0"}, "token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &author{}
			err := runtimeplugin.Serve(within(t), a.options(), environment(tt.env))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-value") {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestPlaceByHand finds directories of the user's own where the environment names none.
func TestPlaceByHand(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		env        map[string]string
		state, run string
	}{
		"Home":  {map[string]string{"HOME": dir}, ".local/state/wardroom/runtime-pen", ".local/state/wardroom/runtime-pen/run"},
		"Named": {map[string]string{"STATE_DIR": dir + "/s", "RUN_DIR": dir + "/r"}, "s", "r"},
		"XDG":   {map[string]string{"XDG_STATE_HOME": dir + "/x", "XDG_RUNTIME_DIR": dir + "/y"}, "x/wardroom/runtime-pen", "y/wardroom-runtime-pen"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &author{}
			tt.env["PORT"], tt.env["LOG_LEVEL"] = "0", "error"
			served, stop := context.WithCancel(within(t))
			ended := make(chan error, 1)
			o := a.options()
			go func() { ended <- runtimeplugin.Serve(served, o, environment(tt.env)) }()
			select {
			case place := <-a.places:
				if place.StateDir != filepath.Join(dir, tt.state) || place.RunDir != filepath.Join(dir, tt.run) || place.Host != nil {
					t.Errorf("the place is %+v", place)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			case err := <-ended:
				t.Errorf("the server ended: %v", err)
			}
			stop()
		})
	}
}
