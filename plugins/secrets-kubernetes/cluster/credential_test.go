package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/secret"
)

// command returns settings by a kubeconfig with a credential that a script gets in place of the token.
func (a *api) command(t *testing.T, script string) json.RawMessage {
	t.Helper()
	settings, path := a.settings(t, map[string]any{"timeout": "1s"})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), fmt.Sprintf("token: %q", a.token), fmt.Sprintf(
		`exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true, command: sh, args: ["-c", %q]}`, script), 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return settings
}

// The command of a kubeconfig that gets the credential may hang: a call ends with its time and names the command, and the plugin closes
// with it.
func TestCredentialCommandHangs(t *testing.T) {
	a := newAPI(t)
	file := filepath.Join(t.TempDir(), "pid")
	end := func() {
		data, _ := os.ReadFile(file)
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(data))); pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	defer end()
	c, problems := decode(a.command(t, "sleep 1000 & echo $! >"+file+"; wait"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := open(c, hclog.NewNullLogger())
	done := make(chan *secret.Error, 1)
	go func() {
		_, err := s.resolve(t, "agents/db", "password")
		_ = s.close(context.Background())
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || err.Code != secret.CodeUnavailable || !strings.Contains(err.Message, "the command of the kubeconfig that gets the credential, sh, has not ended") || err.Hint == "" {
			t.Errorf("the call ends with %+v", err)
		}
	case <-time.After(15 * time.Second):
		end() // so that it does not hang on
		t.Errorf("the call, or Close, hangs with the command; then it is %v", <-done)
	}
}

// A token that the cluster knows no more is replaced by another run of the command, which receives where the cluster is.
func TestCredentialCommandRenews(t *testing.T) {
	a := newAPI(t)
	a.put("agents/db", map[string]string{"password": password})
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a.token)
	settings := a.command(t, `case "$KUBERNETES_EXEC_INFO" in *'"server":"`+a.URL+`"'*) ;; *) exit 3;; esac; `+
		`printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' "$(cat `+file+`)"`)
	s := provider(t, settings)
	if got, err := s.resolve(t, "agents/db", "password"); err != nil || got != password {
		t.Fatalf("at first: %q, %v", got, err)
	}
	a.set(func() { a.token = "another" })
	write("another")
	object, err := s.get(t.Context(), "agents/db")
	if err != nil {
		object, err = s.get(t.Context(), "agents/db") // the first one found out
	}
	if err != nil || string(object.Data["password"]) != password {
		t.Errorf("with another token: %v, %v", object, err)
	}
}
