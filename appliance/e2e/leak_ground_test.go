package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// ashType is an agent type that an image of busybox can run.
const ashType = `agentTypes.ash: {command: sh, env: {PS1: "ready> ", CANARY_TOKEN: ` + canary + `}, ready: {pattern: "^ready> ?$"}, idle: 1s, exit: exit}`

// fleetSecret is in the environment that the configuration of a runtime gives to all its agents.
const fleetSecret = "c4naryOfTheFleetq7x"

// nestedPlugin builds a plugin that is a module of its own, with the holder beside it, or takes those of a product that was built
// before, and returns their folder and the checksum.
func nestedPlugin(t *testing.T, name string) (dir, sum string) {
	t.Helper()
	dir = shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // the user of a container runs the holder
		t.Fatal(err)
	}
	product := os.Getenv(testbed.Built)
	for _, b := range [][]string{{name, "../../plugins/" + name, "."}, {"holder", "../..", "./plugins/holder"}} {
		if product != "" {
			data, err := os.ReadFile(filepath.Join(testbed.Plugins(product), b[0]))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, b[0]), data, 0o755)
			}
			if err != nil {
				t.Fatalf("%v; make build builds the plugins", err)
			}
			continue
		}
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, b[0]), b[2])
		build.Dir, build.Env = b[1], append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", b[0], err, out)
		}
	}
	sum, err := testbed.Checksum(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return dir, sum
}

// rig runs a script of the project.
func rig(args ...string) error {
	out, err := exec.Command("bash", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return nil
}

// Secrets are in nothing that tells of a container either: not in what the engine says of it, its log, its events, or the engine's own
// files and log.
func TestNothingLeaksOfContainers(t *testing.T) {
	socket, engine := os.Getenv("WARDROOM_DOCKER_SOCKET"), ""
	if socket == "" {
		if os.Getuid() != 0 {
			requireReal(t, "WARDROOM_DOCKER_SOCKET names no engine, and only root can start one")
		}
		engine = shortDir(t)
		socket = filepath.Join(engine, "docker.sock")
		const script = "../../scripts/engine/engine.sh"
		t.Cleanup(func() {
			if err := rig(script, "down", engine); err != nil {
				t.Error(err)
			}
		})
		if err := rig(script, "up", engine); err != nil {
			requireReal(t, "there is no container engine: %v", err)
		}
		if err := rig(script, "image", engine, "wardroom/test:1"); err != nil {
			t.Fatal(err)
		}
	}
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	ask := func(path string) []byte {
		t.Helper()
		resp, err := local.Get("http://engine" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, text, err)
		}
		return text
	}
	dir, sum := nestedPlugin(t, "runtime-docker")
	started := time.Now().Unix()
	searchLeaks(t, &ground{
		plugin: "runtime-docker", agentType: "ash", env: fleetSecret, sum: sum,
		lines: []string{
			"plugins.dir: " + dir, ashType,
			fmt.Sprintf("runtimes.docker: {plugin: runtime-docker, config: {socket: %q, image: 'wardroom/test:1', env: {FLEET_TOKEN: %s}}}", socket, fleetSecret),
		},
		places: func(agent string, secrets []string) map[string]string {
			t.Helper()
			var list []struct{ ID string }
			if err := json.Unmarshal(ask(`/containers/json?all=1&filters={"label":["io.wardroom.agent=`+agent+`"]}`), &list); err != nil {
				t.Fatal(err)
			}
			if len(list) != 1 {
				t.Fatalf("%d containers of the agent %s", len(list), agent)
			}
			id := list[0].ID
			found := map[string]string{
				"the engine's events": string(ask(fmt.Sprintf("/events?since=%d&until=%d", started, time.Now().Unix()+1))),
				"the engine's images": string(ask("/images/json")), "the engine's networks": string(ask("/networks")),
			}
			for _, what := range []string{"json", "top", "changes", "logs?stdout=1&stderr=1"} {
				found["the container's "+what] = string(ask("/containers/" + id + "/" + what))
			}
			if engine != "" {
				inFiles(t, engine, secrets...)
			}
			return found
		},
	}, false)
}

// kubectl asks a cluster.
type kubectl struct {
	t          *testing.T
	program    []string
	kubeconfig string
}

func (k *kubectl) run(input string, args ...string) string {
	k.t.Helper()
	args = append(append(append([]string{}, k.program[1:]...), "--kubeconfig", k.kubeconfig), args...)
	cmd := exec.CommandContext(k.t.Context(), k.program[0], args...)
	cmd.Stdin = strings.NewReader(input)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatalf("kubectl %v: %v\n%s", args, err, failed.Bytes())
	}
	return string(out)
}

// Secrets are in nothing that tells of a pod either: its specification, events and log, and what else the runtime makes in the
// cluster; those of the cluster's own secrets, which agents get, are nowhere else.
func TestNothingLeaksOfPods(t *testing.T) {
	kubeconfig := os.Getenv("WARDROOM_CLUSTER")
	if kubeconfig == "" {
		t.Skip("WARDROOM_CLUSTER names no kubeconfig: scripts/cluster/up.sh starts a cluster") // CI starts one later, for the tests of the runtime
	}
	k := &kubectl{t: t, kubeconfig: kubeconfig, program: []string{"kubectl"}}
	if own, err := filepath.Abs("../../.cache/cluster/kube"); err == nil {
		if _, err := os.Stat(own); err == nil {
			k.program = []string{own, "kubectl"}
		}
	}
	dir, sum := nestedPlugin(t, "runtime-kubernetes")
	image := os.Getenv("WARDROOM_CLUSTER_IMAGE")
	if image == "" {
		image = "wardroom/test:1"
		if err := rig("../../scripts/cluster/image.sh", filepath.Dir(kubeconfig), image, filepath.Join(dir, "holder")); err != nil {
			t.Fatal(err)
		}
	}
	space := fmt.Sprintf("wardroom-leaks-%d", time.Now().UnixNano())
	k.run("", "create", "namespace", space)
	t.Cleanup(func() {
		out, err := exec.Command(k.program[0], append(k.program[1:], "--kubeconfig", kubeconfig, "delete", "namespace", space, "--wait=false")...).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	const ofCluster = "c4naryOfTheClusterq7x"
	k.run(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "models"}, "stringData": {"MODEL_KEY": "`+ofCluster+`", "other": "`+ofCluster+`"}}`, "-n", space, "create", "-f", "-")
	eventually(t, "the account of pods", func() bool {
		return strings.Contains(k.run("", "-n", space, "get", "serviceaccounts", "-o", "name"), "default")
	})
	work, err := os.MkdirTemp("/var/tmp", "e2e") // not in /tmp, which pods have of their own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	if err := os.Chmod(work, 0o755); err != nil {
		t.Fatal(err)
	}
	searchLeaks(t, &ground{
		plugin: "runtime-kubernetes", agentType: "ash", env: ofCluster, given: true, sum: sum,
		lines: []string{
			"plugins.dir: " + dir, ashType, "threads.root: " + work,
			fmt.Sprintf(`runtimes.pods: {plugin: runtime-kubernetes, config: {kubeconfig: %q, namespace: %s, image: %q, pull: never, stopGrace: 2s, `+
				`limits: {memory: 96m, cpu: 0.5}, requests: {memory: 32m, cpu: 0.01}, secrets: [models], secretEnv: {FLEET_TOKEN: {name: models, key: other}}, mounts: {%q: {node: true, mode: rw}}}}`, kubeconfig, space, image, work),
		},
		places: func(agent string, _ []string) map[string]string {
			t.Helper()
			found := map[string]string{}
			for _, kind := range []string{"pods", "events", "networkpolicies", "configmaps", "leases", "persistentvolumeclaims"} {
				found["the cluster's "+kind] = k.run("", "-n", space, "get", kind, "-o", "json")
			}
			pods := strings.Fields(k.run("", "-n", space, "get", "pods", "-o", "name"))
			if !strings.Contains(found["the cluster's pods"], agent) {
				t.Fatalf("no pod of the agent %s in %v", agent, pods)
			}
			for _, pod := range pods {
				found["the log of "+pod] = k.run("", "-n", space, "logs", pod)
				found["what is said of "+pod] = k.run("", "-n", space, "describe", pod)
			}
			// What the cluster keeps of its own secret is its matter; there is one, and no other.
			if secrets := strings.Fields(k.run("", "-n", space, "get", "secrets", "-o", "name")); len(secrets) != 1 {
				t.Errorf("the secrets of the namespace are %v", secrets)
			}
			return found
		},
	}, false)
}
