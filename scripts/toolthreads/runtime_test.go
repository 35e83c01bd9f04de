package toolthreads_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// limits are those of the tools in containers and pods.
const limits = `limits: {memory: 1g, cpu: 2}`

// need returns what a variable names. Without it the test is skipped, or fails where real components are required.
func need(t *testing.T, variable, what string) string {
	t.Helper()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("starts agents in containers, and gives files to their user, which takes root")
	}
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("%s names no %s with the images of packaging/images", variable, what)
	}
	return value
}

// serve starts a server with one runtime, whose settings get what is in $DIR, and has each tool do its thread there.
func serve(t *testing.T, runtime, settings, address string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server := start(ctx, t, runtime, settings)
	shop := repository(ctx, t, server.Dir)
	for _, tool := range tools {
		t.Run(tool, func(t *testing.T) { give(ctx, t, server.Client, tool, shop, address) })
	}
}

// start starts a server with one runtime.
func start(ctx context.Context, t *testing.T, runtime, settings string) *testbed.Server {
	t.Helper()
	at, err := os.MkdirTemp("/var/tmp", "threads") // not in /tmp, which containers and pods have of their own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	binary, err := testbed.Product(ctx, "", at)
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(testbed.Plugins(binary), "runtime-"+runtime)
	sum, err := testbed.Checksum(plugin)
	if err != nil {
		t.Skipf("%v: make build makes the plugins, and WARDROOM_BIN names its bin/wardroom", err)
	}
	config := fmt.Sprintf(`server: {listen: $LISTEN}
store: {path: $DIR/store, minFree: 64MiB}
engine: {roleBinding: managed}
threads: {root: $DIR/threads, finish: {push: true}}
plugins: {dir: %q, runtime-%s: {kind: runtime, sha256: %q}}
runtimes: {%s: {plugin: runtime-%s, required: true, config: {%s, %s}}}
`, filepath.Dir(plugin), runtime, sum, runtime, runtime, limits, settings)
	server, err := testbed.NewServer(binary, at, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(time.Minute) })
	return server
}

func TestContainers(t *testing.T) {
	e, network, address := toolEngine(t)
	serve(t, "docker", fmt.Sprintf("socket: %q, network: %s", e.Socket, network), address)
}

// toolEngine returns an engine with the images of the tools, a network of the test's own, and the address that this machine has
// there.
func toolEngine(t *testing.T) (e *testbed.Engine, network, address string) {
	t.Helper()
	need(t, testbed.EngineSocket, "engine")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // the network goes after the test
	t.Cleanup(cancel)
	e, err := testbed.NewEngine(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	for _, tool := range tools {
		if err := e.Call(ctx, http.MethodGet, "/images/wardroom/"+tool+"/json", nil, nil); err != nil {
			t.Skipf("the engine has no image of %s: %v", tool, err)
		}
	}
	network = "wardroom-threads-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := e.Call(ctx, http.MethodPost, "/networks/create", map[string]string{"Name": network, "Driver": "bridge"}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Call(ctx, http.MethodDelete, "/networks/"+network, nil, nil) })
	var about struct {
		IPAM struct{ Config []struct{ Gateway string } }
	}
	if err := e.Call(ctx, http.MethodGet, "/networks/"+network, nil, &about); err != nil || len(about.IPAM.Config) == 0 {
		t.Fatalf("the network has no address: %v", err)
	}
	return e, network, about.IPAM.Config[0].Gateway
}

// TestPods needs the cluster of scripts/cluster, whose node is this machine: worktrees are directories of it.
func TestPods(t *testing.T) {
	kubeconfig, address := toolCluster(t)
	serve(t, "kubernetes", podSettings(kubeconfig), address)
}

// podSettings are those of a runtime in the cluster of the tests.
func podSettings(kubeconfig string) string {
	return fmt.Sprintf(`kubeconfig: %q, namespace: default, pull: never, requests: {memory: 64m, cpu: 0.05}, mounts: {"$DIR/threads": {node: true, mode: rw}}`, kubeconfig)
}

// toolCluster returns a cluster with the images of the tools, and the address that this machine has in its network of pods.
func toolCluster(t *testing.T) (kubeconfig, address string) {
	t.Helper()
	kubeconfig = need(t, "WARDROOM_CLUSTER", "cluster")
	if os.Getenv("WARDROOM_CLUSTER_TOOLS") == "" {
		t.Skip("WARDROOM_CLUSTER_TOOLS says that the images of packaging/images are on the node")
	}
	bridge, err := net.InterfaceByName("wardroom0")
	if err != nil {
		t.Skipf("this machine is not the node: %v", err)
	}
	addresses, err := bridge.Addrs()
	if err != nil || len(addresses) == 0 {
		t.Fatalf("the network of pods has no address: %v", err)
	}
	address, _, _ = strings.Cut(addresses[0].String(), "/")
	return kubeconfig, address
}
