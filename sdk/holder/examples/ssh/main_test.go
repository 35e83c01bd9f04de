package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
)

// TestLauncher runs the suite over a real sshd, which is started for each connection, as a proxy command of ssh.
func TestLauncher(t *testing.T) {
	options := server(t)
	binary := filepath.Join(t.TempDir(), "holder")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../../../plugins/holder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the holder: %v\n%s", err, out)
	}
	launchertest.Run(t, launchertest.Options{
		Survives: true,
		New: func(_ *testing.T, dir string) agentcli.Launcher {
			return &launcher{ssh: append(options[:len(options):len(options)], "--", "there"), dir: dir, holder: binary}
		},
		Sever: func(t *testing.T, p agentcli.Process) {
			// The ssh that is the connection. The one that the others go through lives on.
			out, err := exec.Command("pgrep", "-f", "^ssh .*connect.*/"+p.(*process).handle.ID+"/s").Output()
			if err != nil {
				t.Fatalf("find the connection: %v", err)
			}
			for _, pid := range strings.Fields(string(out)) {
				_ = exec.Command("kill", "-9", pid).Run()
			}
		},
	})
}

// server prepares an sshd for this user, and returns the arguments with which ssh reaches it.
func server(t *testing.T) []string {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err == nil {
		_, err = exec.LookPath("ssh-keygen")
	}
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("there is no OpenSSH server: %v", err)
		}
		t.Skip("there is no OpenSSH server")
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd wants it, and its package makes it at the boot
			t.Fatal(err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"host", "key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\nLogLevel ERROR\n",
		filepath.Join(dir, "host"), filepath.Join(dir, "authorized"))
	for name, text := range map[string]string{"authorized": string(public), "sshd.conf": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// All over one connection, which is what users want too.
	control, err := os.MkdirTemp("", "ssh") // addresses of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(control) })
	options := []string{
		"-T", "-F", "none", "-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", "ControlPath=" + filepath.Join(control, "c"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-o", "IdentitiesOnly=yes", "-i", filepath.Join(dir, "key"), "-l", me.Username,
		"-o", "ProxyCommand=" + sshd + " -i -e -f " + filepath.Join(dir, "sshd.conf"),
	}
	t.Cleanup(func() { _ = exec.Command("ssh", append(options, "-O", "exit", "there")...).Run() }) // it may be gone
	return options
}
