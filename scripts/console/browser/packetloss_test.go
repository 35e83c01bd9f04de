package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// lossyLink is a network namespace with a server in it, which two addresses lead to. On one of them the kernel loses 30 of a hundred
// packets in each direction.
type lossyLink struct {
	name     string // of the namespace
	bad      string // address with losses
	good     string // address without
	firewall []string
}

// newLossyLink makes the namespace, or says why that cannot be: it takes root and the module xt_statistic. It is made before a browser
// starts, and ended after it: a browser drops what it loads when the addresses of its machine change.
func newLossyLink(ctx context.Context) (w *lossyLink, end func(), err error) {
	if os.Getuid() != 0 {
		return nil, nil, errors.New("packets are lost by the kernel only for root")
	}
	for _, tool := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, nil, fmt.Errorf("%s is not installed (Debian: apt-get install iproute2 iptables)", tool)
		}
	}
	clearLossyLinks(ctx)
	network, err := freeNetwork()
	if err != nil {
		return nil, nil, err
	}
	id := strconv.Itoa(os.Getpid())
	w = &lossyLink{name: lossyName + id, bad: network + "2", good: network + "3"}
	host, peer := "wrh"+id, "wrp"+id
	end = func() {
		ctx := context.WithoutCancel(ctx)
		_ = exec.CommandContext(ctx, "ip", "link", "del", host).Run() // its peer goes with it
		_ = exec.CommandContext(ctx, "ip", "netns", "del", w.name).Run()
	}
	inside := func(args ...string) []string { return append([]string{"ip", "netns", "exec", w.name}, args...) }
	for _, args := range [][]string{
		{"ip", "netns", "add", w.name},
		{"ip", "link", "add", host, "type", "veth", "peer", "name", peer, "netns", w.name},
		{"ip", "link", "set", host, "addrgenmode", "none"}, // no address that comes seconds later
		inside("iptables", "-A", "INPUT", "-d", w.bad, "-m", "statistic", "--mode", "random", "--probability", "0.3", "-j", "DROP"),
		inside("iptables", "-A", "OUTPUT", "-s", w.bad, "-m", "statistic", "--mode", "random", "--probability", "0.3", "-j", "DROP"),
		{"ip", "addr", "add", network + "1/24", "dev", host},
		{"ip", "link", "set", host, "up"},
		{"ip", "-n", w.name, "addr", "add", w.bad + "/24", "dev", peer},
		{"ip", "-n", w.name, "addr", "add", w.good + "/24", "dev", peer},
		{"ip", "-n", w.name, "link", "set", peer, "up"},
		{"ip", "-n", w.name, "link", "set", "lo", "up"},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			end()
			return nil, nil, fmt.Errorf("this kernel does not lose packets on demand: %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
	}
	w.firewall = inside("iptables", "-L", "-v", "-x", "-n")
	return w, end, nil
}

// lossyName begins the names of namespaces; the process that made one follows.
const lossyName = "wardroom-"

// clearLossyLinks removes the namespaces of processes that were killed, with their interfaces.
func clearLossyLinks(ctx context.Context) {
	names, _ := filepath.Glob("/run/netns/" + lossyName + "*") // the pattern is right
	for _, name := range names {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(name), lossyName))
		if err != nil {
			continue // of somebody else
		}
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); errors.Is(err, os.ErrNotExist) {
			_ = exec.CommandContext(ctx, "ip", "netns", "del", filepath.Base(name)).Run()
		}
	}
}

// freeNetwork returns the first three numbers of addresses that no interface of this machine has: of two with the same ones, packets
// take either.
func freeNetwork() (string, error) {
	taken, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for i := range 256 {
		prefix := fmt.Sprintf("10.231.%d.", (os.Getpid()+i)%256)
		if !slices.ContainsFunc(taken, func(a net.Addr) bool { return strings.HasPrefix(a.String(), prefix) }) {
			return prefix, nil
		}
	}
	return "", errors.New("interfaces have all networks of 10.231.0.0/16")
}

// lost counts the packets that the kernel dropped.
func (w *lossyLink) lost(t *testing.T) (packets int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.firewall[0], w.firewall[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "DROP" {
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			packets += n
		}
	}
	return packets
}

// server starts the product in the namespace, with the crew. Its client takes the way without losses.
func (w *lossyLink) server(t *testing.T) *testbed.Server {
	t.Helper()
	const port = "8080" // the namespace has nothing else
	dir := t.TempDir()
	config := filepath.Join(dir, "wardroom.yaml")
	text := fmt.Sprintf("server: {listen: \"0.0.0.0:%s\", hosts: [%q, %q]}\nstore: {path: %q}\n", port, w.bad, w.good, filepath.Join(dir, "data"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &testbed.Server{
		Command: testbed.Command{Args: []string{"ip", "netns", "exec", w.name, shared.binary, "serve", "--insecure", "--config", config}, Log: filepath.Join(dir, "wardroom.log")},
		Limit:   testbed.ReadyLimit, Dir: dir, Host: w.good + ":" + port, URL: "http://" + w.good + ":" + port,
	}
	var err error
	if s.Client, err = client.New(s.URL, client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Start(t.Context()); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "wardroom.log"))
		t.Fatalf("%v\n%s", err, log)
	}
	crew, err := shared.staff(t.Context(), s, dir)
	for _, p := range crew {
		t.Cleanup(p.Kill)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Where the kernel loses 30 of a hundred packets in each direction, the console goes on, and nothing is lost or done twice.
func TestPacketLoss(t *testing.T) {
	w := shared.lossy
	if w == nil {
		t.Skip(shared.noLossy)
	}
	s := w.server(t)
	workThroughLoss(t, s.Client, "http://"+w.bad+":8080")
	lost := w.lost(t)
	t.Logf("%d packets were lost", lost)
	if lost < 20 {
		t.Errorf("%d packets were lost: the page did not take the way with losses", lost)
	}
}
