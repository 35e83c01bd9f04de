package e2e_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/holder/confine"
)

// isolation describes what agents are kept from in one configuration.
type isolation struct {
	landlock, user bool
	check          string // part of what the plugin says of it
}

// TestHostileAgent lets an agent try what it must not get: the keys and the store of the service, its configuration, its
// sockets, its processes, and the room of another agent.
func TestHostileAgent(t *testing.T) {
	signals := confine.ABI() >= 6
	for name, is := range map[string]isolation{
		"Landlock": {landlock: true, check: "landlock"}, "User": {user: true, check: "user 65534"},
		"Both": {landlock: true, user: true, check: "user 65534"}, "Neither": {check: "no landlock (switched off)"},
	} {
		t.Run(name, func(t *testing.T) {
			if abi := confine.ABI(); is.landlock && abi < confine.MinABI {
				t.Skipf("the kernel has Landlock %d; %d is needed", abi, confine.MinABI)
			}
			if is.user && os.Getuid() != 0 {
				t.Skip("only root may run agents as somebody else")
			}
			c := isolated(t, is)
			other, a := c.shell(), c.shell()
			other, a = c.await(other.ID, client.ManagedReady), c.await(a.ID, client.ManagedReady)
			c.told(other.ID, "echo private >mine && echo made", "made")
			c.told(a.ID, "grep NoNewPrivs /proc/self/status | tr -d '[:space:]'; echo", "NoNewPrivs:1")

			can := func(what, command string, want bool) {
				t.Helper()
				got := c.ask(a.ID, "( "+command+" ) >/dev/null 2>&1 && echo open || echo shut")
				if expected := map[bool]string{true: "open", false: "shut"}[want]; got != expected {
					t.Errorf("%s is %s, want %s", what, got, expected)
				}
			}
			apart := is.landlock || is.user // from the service
			store, server := filepath.Join(c.dir, "store"), c.process.PID()
			can("a key", "cat "+store+"/threads.key", !apart)
			can("the store", "ls "+store, !apart)
			can("a new file in the store", "echo x >"+store+"/new-"+fmt.Sprint(apart), !apart)
			can("the configuration", "cat "+c.dir+"/wardroom.yaml", !apart)
			can("the record of an agent", "ls "+store+"/plugins/data/runtime-local/sessions", !apart)
			can("the environment of the service", fmt.Sprintf("cat /proc/%d/environ", server), !apart)
			can("the memory of the service", fmt.Sprintf("head -c 0 /proc/%d/mem", server), !apart)
			can("the files of the service by its process", fmt.Sprintf("ls /proc/%d/root/ /proc/%d/fd/", server, server), !apart)
			can("a signal to the service", fmt.Sprintf("kill -0 %d", server), !apart || !is.user && !signals)
			can("a signal to the plugin", fmt.Sprintf("kill -0 %d", c.pluginPID()), !apart || !is.user && !signals)
			can("a signal to its holder", "kill -0 $PPID", !apart || !is.user && !signals)
			// Agents have one user: what keeps them from one another is Landlock.
			can("the room of another agent", "cat "+other.Workdir+"/mine", !is.landlock)
			can("the environment of another agent", fmt.Sprintf("cat /proc/%d/environ", other.PID), !is.landlock)
			can("a signal to another agent", fmt.Sprintf("kill -0 %d", other.PID), !is.landlock || !signals)

			can("its own room", "echo x >mine && cat mine && echo y >~/f && mv ~/f ~/g && mktemp", true)
			can("programs", "ls /usr/bin && git --version && echo x >/dev/null", true)
			plugged(t, c, a, is)
			c.retire(other.ID)
			c.retire(a.ID)
			eventually(t, "what the plugin says of its isolation: "+is.check, func() bool {
				p, err := c.api.GetPlugin(t.Context(), "runtime-local")
				return err == nil && strings.Contains(checkText(p, "isolation"), is.check)
			})
		})
	}
}

// isolated starts a server whose agents are confined that way.
func isolated(t *testing.T, is isolation) *crew {
	t.Helper()
	config := "landlock: " + map[bool]string{true: "require", false: "off"}[is.landlock]
	if !is.user {
		return crewed(t, nil, []string{"plugins.dir: " + plugins, "runtimes.local: {plugin: runtime-local, config: {isolation: {" + config + "}}}"})
	}
	rooms := shortDir(t)
	if err := os.Chmod(rooms, 0o711); err != nil {
		t.Fatal(err)
	}
	return crewed(t, nil, []string{"plugins.dir: " + plugins, fmt.Sprintf(
		"runtimes.local: {plugin: runtime-local, config: {roomsDir: %s/rooms, isolation: {%s, user: \"65534\", group: \"65533\"}}}", rooms, config)})
}

// plugged lets the agent talk to the plugin by its socket. Where it may connect at all, it does not get past the handshake.
func plugged(t *testing.T, c *crew, a *client.ManagedAgent, is isolation) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Log("no python3: the sockets of plugins are not tried")
		return
	}
	var socket string
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read from
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if path := fields[len(fields)-1]; strings.Contains(path, "/plugin-dir") && strings.HasPrefix(path, c.dir) {
			socket = path
		}
	}
	if socket == "" {
		t.Fatal("the plugin has no socket")
	}
	script := `import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(20)
try:
    s.connect("` + socket + `")
except OSError:
    print("no way"); raise SystemExit
s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
try:
    data = s.recv(9)
except OSError:
    data = b""
print("served" if len(data) == 9 and data[3] == 4 else "refused")
`
	want := "refused"
	if is.user {
		want = "no way"
	}
	c.told(a.ID, `python3 -c "import base64; exec(base64.b64decode('`+base64.StdEncoding.EncodeToString([]byte(script))+`'))"`, want)
}

// checkText returns the text of a check of a plugin.
func checkText(p *client.Plugin, name string) string {
	for _, check := range p.Checks {
		if check.Name == name {
			return check.Text
		}
	}
	return ""
}
