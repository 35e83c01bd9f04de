package docker_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serve starts the binary by hand, with variables of the interface, and returns its address.
func (e *engine) serve(t testing.TB, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "runtime-docker"))
	cmd.Env = append(append(cmd.Environ(), "PORT=0", "STATE_DIR="+t.TempDir(), "LOG_LEVEL=info", "CONTAINER_SOCKET="+e.socket), env...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, over := make(chan string, 1), make(chan struct{})
	go func() { // ends with the process
		defer close(over)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if _, after, ok := strings.Cut(lines.Text(), "address="); ok {
				address <- strings.Fields(after)[0]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-over
		_ = cmd.Wait()
	})
	select {
	case at := <-address:
		return "http://" + at
	case <-over:
	case <-time.After(30 * time.Second):
	}
	t.Fatal("the server does not listen")
	return ""
}

// call sends a request and returns the status, a header and the body.
func call(t testing.TB, method, url, body string) (int, http.Header, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(within(t), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "req-of-the-test")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &answer); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	}
	return resp.StatusCode, resp.Header, answer
}

// TestServer is the container runtime server of the interface: its request, its variables, its errors.
func TestServer(t *testing.T) {
	e := need(t)
	config := filepath.Join(t.TempDir(), "config.json")
	data := t.TempDir()
	write(t, config, `{"image": "wardroom/test:1", "volumes": {"`+data+`": "ro"}, "types": {"claude-like": {"command": "sh", "env": {"PS1": "$ "}, "ready": {"pattern": "^\\$ ?$"}}}}`)
	url := e.serve(t, "CONFIG_FILE="+config, "DEFAULT_MEMORY=64m", "DEFAULT_CPU=0.25")
	status, _, agent := call(t, "POST", url+"/agents", `{"name": "one", "type": "claude-like", "resources": {"memory": "96m"},
		"volumes": ["`+data+`:/data:ro"], "env": {"A": "b"}}`)
	if status != http.StatusCreated || agent["runtime"] != "docker" || agent["containerId"] == "" {
		t.Fatalf("%d %v", status, agent)
	}
	at := url + "/agents/" + agent["id"].(string)
	defer call(t, "DELETE", at+"?force=true", "")
	info, err := e.client(t).ContainerInspect(within(t), agent["containerId"].(string))
	if err != nil || info.HostConfig.Memory != 96<<20 || info.HostConfig.NanoCPUs != 25e7 {
		t.Errorf("the container has %d bytes and %d: %v", info.HostConfig.Memory, info.HostConfig.NanoCPUs, err)
	}
	if status, _, reply := call(t, "POST", at+"/send", `{"message": "echo $A; ls -d /data", "expectResponse": true}`); status != http.StatusOK ||
		reply["response"].(map[string]any)["text"] != "b\n/data" {
		t.Errorf("send: %d %v", status, reply)
	}
	if status, _, logs := call(t, "GET", at+"/logs", ""); status != http.StatusOK || len(logs["logs"].([]any)) == 0 {
		t.Errorf("logs: %d %v", status, logs)
	}
	if status, _, m := call(t, "GET", at+"/metrics", ""); status != http.StatusOK || m["memoryLimitBytes"] != float64(96<<20) {
		t.Errorf("metrics: %d %v", status, m)
	}
	for body, want := range map[string]struct {
		status    int
		code, own string // of the interface, and of the runtime
	}{
		`{"type": "claude"}`: {422, "IMAGE_NOT_FOUND", "IMAGE_NOT_FOUND"},
		`{"type": "claude-like", "resources": {"cpu": 900}}`:                      {503, "RESOURCE_LIMIT", "RESOURCE_LIMIT"},
		`{"type": "claude-like", "resources": {"memory": "lots"}}`:                {400, "VALIDATION_ERROR", "INVALID_SPEC"},
		`{"type": "claude-like", "resources": {"cpu": "many"}}`:                   {400, "VALIDATION_ERROR", "INVALID_ARGUMENT"},
		`{"type": "claude-like", "volumes": ["/var/run/docker.sock:/d.sock:rw"]}`: {400, "VALIDATION_ERROR", "INVALID_SPEC"},
		`{"type": "claude-like", "network": "host"}`:                              {400, "VALIDATION_ERROR", "INVALID_SPEC"},
		`{"type": "claude-like", "network": "$(reboot)"}`:                         {400, "VALIDATION_ERROR", "INVALID_SPEC"},
		`{"type": "claude-like", "privileged": true}`:                             {400, "VALIDATION_ERROR", "INVALID_ARGUMENT"},
	} {
		status, header, answer := call(t, "POST", url+"/agents", body)
		failed, _ := answer["error"].(map[string]any)
		details, _ := failed["details"].(map[string]any)
		if status != want.status || failed["code"] != want.code || details["code"] != want.own || answer["requestId"] != "req-of-the-test" || header.Get("X-Request-Id") != "req-of-the-test" {
			t.Errorf("%s: %d %v, want %d %s", body, status, answer, want.status, want.code)
		}
	}
}

// TestServerErrors are those of an engine that is not there, and of a network that is not.
func TestServerErrors(t *testing.T) {
	e := need(t)
	away := &engine{socket: filepath.Join(t.TempDir(), "none.sock")}
	status, _, answer := call(t, "POST", away.serve(t)+"/agents", `{"type": "claude"}`)
	if failed, _ := answer["error"].(map[string]any); status != http.StatusServiceUnavailable || failed["code"] != "SOCKET_ERROR" {
		t.Errorf("without an engine: %d %v", status, answer)
	}
	config := filepath.Join(t.TempDir(), "config.json")
	write(t, config, `{"image": "wardroom/test:1", "networks": ["wardroom-nowhere"]}`)
	status, _, answer = call(t, "POST", e.serve(t, "CONFIG_FILE="+config)+"/agents", `{"type": "shell", "command": "sh", "network": "wardroom-nowhere"}`)
	if failed, _ := answer["error"].(map[string]any); status != http.StatusBadGateway || failed["code"] != "NETWORK_ERROR" {
		t.Errorf("without the network: %d %v", status, answer)
	}
}

// TestServerRefusesVariables are settings that cannot be.
func TestServerRefusesVariables(t *testing.T) {
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"DEFAULT_MEMORY=lots", "DEFAULT_MEMORY=1k", "DEFAULT_CPU=0", "DEFAULT_CPU=NaN", "CONTAINER_NETWORK=host", "CONTAINER_SOCKET=docker.sock", "MAX_AGENTS=-1"} {
		cmd := exec.CommandContext(within(t), filepath.Join(dir, "runtime-docker"))
		cmd.Env = append(cmd.Environ(), "PORT=0", "STATE_DIR="+t.TempDir(), variable)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "MAX_AGENTS") && !strings.Contains(string(out), "DEFAULT_") && !strings.Contains(string(out), "/") {
			t.Errorf("%s: %v\n%s", variable, err, out)
		}
	}
}
