package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingclient "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// until waits for a condition.
func until(ctx context.Context, t testing.TB, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, ctx.Err())
		}
	}
}

// spawn starts an agent that ends with the test.
func spawn(ctx context.Context, t testing.TB, rt runtime.Runtime, spec runtime.Spec) runtime.Agent {
	t.Helper()
	a, err := rt.Spawn(ctx, spec)
	if err != nil {
		t.Fatalf("spawn: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true})
	})
	return a
}

// say runs a line in a shell agent and returns what it printed.
func say(ctx context.Context, t testing.TB, rt runtime.Runtime, id, line string) string {
	t.Helper()
	result, err := rt.Send(ctx, id, runtime.Input{Message: line, ExpectResponse: true, Timeout: time.Minute})
	if err != nil || result.Response == nil {
		t.Fatalf("%s: %+v, %v", line, result, err)
	}
	return result.Response.Text
}

func wantError(t testing.TB, err error, code runtime.Code, words string) {
	t.Helper()
	if runtime.ErrorCode(err) != code || !strings.Contains(err.Error()+" "+runtime.AsError(err).Hint, words) {
		t.Errorf("error %v, want %s with %q", err, code, words)
	}
}

// status waits until an agent has one, and returns the agent.
func status(ctx context.Context, t testing.TB, rt runtime.Runtime, id string, want runtime.Status) (a runtime.Agent) {
	t.Helper()
	until(ctx, t, "the status "+string(want), func() bool {
		var err error
		a, err = rt.Inspect(ctx, id)
		return err == nil && a.Status == want
	})
	return a
}

// TestRefusals are spawns that cannot be: each says why, and leaves no pod behind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := need(t)
	p := c.plugin(t, map[string]any{
		"images": map[string]string{"none": "wardroom/none:1"}, "mounts": map[string]any{"/srv/data": map[string]any{"node": true, "mode": "ro"}}, "startTimeout": "30s",
	})
	rt := p.Conn().Runtime()
	for name, tt := range map[string]struct {
		change func(s *runtime.Spec)
		code   runtime.Code
		words  string
	}{
		"ImageMissing":    {func(s *runtime.Spec) { s.Type = "none" }, runtime.CodeImageNotFound, "wardroom/none:1"},
		"ImageNotAllowed": {func(s *runtime.Spec) { s.Image = "evil/image" }, runtime.CodeInvalidSpec, "allowImages"},
		"ImageMeta":       {func(s *runtime.Spec) { s.Image = "a;touch /tmp/x" }, runtime.CodeInvalidSpec, "image"},
		"Command":         {func(s *runtime.Spec) { s.Declared.Command = "no-such-command" }, runtime.CodeCLINotFound, "no command"},
		"CommandMeta":     {func(s *runtime.Spec) { s.Declared.Command = "sh;true" }, runtime.CodeCLINotFound, "no command"},
		"Memory":          {func(s *runtime.Spec) { s.Limits.MemoryBytes = 1 << 20 }, runtime.CodeInvalidSpec, "32 MiB"},
		"PIDs":            {func(s *runtime.Spec) { s.Limits.PIDs = 64 }, runtime.CodeInvalidSpec, "podPidsLimit"},
		"Network":         {func(s *runtime.Spec) { s.Network = "host" }, runtime.CodeInvalidSpec, "egress"},
		"Workdir":         {func(s *runtime.Spec) { s.Workdir = "/etc" }, runtime.CodeWorkdirNotAllowed, "mounts"},
		"VolumeOutside":   {func(s *runtime.Spec) { s.Volumes = []string{"/etc:/data:ro"} }, runtime.CodeInvalidSpec, "mounts"},
		"VolumeWrite":     {func(s *runtime.Spec) { s.Volumes = []string{"/srv/data:/data:rw"} }, runtime.CodeInvalidSpec, "read-only"},
		"VolumeDots":      {func(s *runtime.Spec) { s.Volumes = []string{"/srv/data/../x:/data:ro"} }, runtime.CodeInvalidSpec, ".."},
		"VolumeOverRun":   {func(s *runtime.Spec) { s.Volumes = []string{"/srv/data:/run/wardroom/x:ro"} }, runtime.CodeInvalidSpec, "mounted on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, spec := within(t), shell(id(t))
			tt.change(&spec)
			_, err := rt.Spawn(ctx, spec)
			wantError(t, err, tt.code, tt.words)
			until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
		})
	}
}

// TestPod looks at what an agent is in: nothing that it does not need.
func TestPod(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	name := id(t)
	_, err := c.core.Secrets(c.namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"MODEL_KEY": "k1", "other": "k2"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := c.plugin(t, map[string]any{
		"secrets": []string{name}, "secretEnv": map[string]any{"OTHER_KEY": map[string]string{"name": name, "key": "other"}}, "env": map[string]string{"PLAIN": "p"}, "egress": []string{"dns", "10.0.0.0/8:443"},
	})
	rt := p.Conn().Runtime()
	spec := shell(id(t))
	spec.Env = map[string]string{"MINE": "m"}
	a := spawn(ctx, t, rt, spec)
	if a.PodName == "" {
		t.Error("the agent names no pod")
	}
	if got := say(ctx, t, rt, a.ID, "echo $MODEL_KEY $OTHER_KEY $PLAIN $MINE $HOME $(id -u)"); got != "k1 k2 p m /home/agent 10001" {
		t.Errorf("the environment is %q", got)
	}
	if got := say(ctx, t, rt, a.ID, "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\n\\t'; touch /x 2>/dev/null || echo shut"); got != "CapEff:0000000000000000NoNewPrivs:1Seccomp:2shut" {
		t.Errorf("the agent has %q", got)
	}
	m, err := rt.Metrics(ctx, a.ID)
	if err != nil || m.MemoryLimitBytes != 96<<20 || m.MemoryBytes == 0 {
		t.Errorf("metrics %+v, %v", m, err)
	}
	pods := c.pods(ctx, t, a.ID)
	if len(pods) != 1 || pods[0].Name != a.PodName || len(pods[0].OwnerReferences) != 1 {
		t.Fatalf("pods %+v", pods)
	}
	if strings.Contains(fmt.Sprint(pods[0].Spec), "MINE") || strings.Contains(fmt.Sprint(pods[0].Spec), "k1") {
		t.Error("the environment of the request, or a secret, stands in the pod")
	}
	network, err := networkingclient.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := network.NetworkPolicies(c.namespace).Get(ctx, pods[0].OwnerReferences[0].Name, metav1.GetOptions{})
	if err != nil || len(policy.Spec.Egress) != 3 || len(policy.Spec.Ingress) != 1 {
		t.Errorf("the network policy is %+v, %v", policy, err)
	}
}

// TestOutOfMemory ends an agent whose command takes more than it may have.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	spec := shell(id(t))
	spec.Declared.Args = []string{"-c", `PS1='$ '; printf '$ '; read line; exec awk 'BEGIN { s = "x"; while (1) s = s s }'`}
	a := spawn(ctx, t, rt, spec)
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if _, err := rt.Send(ctx, a.ID, runtime.Input{Message: "go"}); err != nil {
		t.Fatal(err)
	}
	if a := status(ctx, t, rt, a.ID, runtime.StatusStopped); a.Reason != runtime.ReasonOutOfMemory {
		t.Errorf("the reason is %q", a.Reason)
	}
}

// TestPodRemoved takes the pod of an agent away, as an eviction or a drained node does: the agent is lost, and says so.
func TestPodRemoved(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if err := c.core.Pods(c.namespace).Delete(ctx, a.PodName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a = status(ctx, t, rt, a.ID, runtime.StatusStopped)
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, a.ID)) == 0 })
}

// TestRunsOn has an agent run for longer than a pod is kept without one: nothing ends it.
func TestRunsOn(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	rt := c.plugin(t, map[string]any{"keepPods": "10s"}).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	until(ctx, t, "its pod to be older, or to end", func() bool {
		pods := c.pods(ctx, t, a.ID)
		if len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 {
			return true
		}
		state := pods[0].Status.ContainerStatuses[0].State
		return state.Running == nil || time.Since(state.Running.StartedAt.Time) > 12*time.Second
	})
	if got := say(ctx, t, rt, a.ID, "echo on"); got != "on" {
		t.Errorf("it says %q", got)
	}
}

// gate is a way to the API server that can be shut.
type gate struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // guards what follows
	shut  bool
	delay time.Duration // of what the server says
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func (g *gate) serve() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		shut := g.shut
		g.conns[conn] = true
		g.mu.Unlock()
		if shut {
			_ = conn.Close()
			continue
		}
		g.wg.Go(func() {
			defer func() { _ = conn.Close() }()
			on, err := net.Dial("tcp", g.to)
			if err != nil {
				return
			}
			defer func() { _ = on.Close() }()
			g.wg.Go(func() { _, _ = io.Copy(on, conn); _ = on.Close() })
			_, _ = io.Copy(slowly{conn, g}, on)
		})
	}
}

// slowly passes on what a server says after the delay of its gate.
type slowly struct {
	io.Writer
	gate *gate
}

func (s slowly) Write(p []byte) (int, error) {
	s.gate.mu.Lock()
	delay := s.gate.delay
	s.gate.mu.Unlock()
	<-time.After(delay) // what is tested is that it takes so long
	return s.Writer.Write(p)
}

// slow delays all that the server says.
func (g *gate) slow(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delay = d
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if shut {
		for conn := range g.conns {
			_ = conn.Close()
		}
		g.conns = map[net.Conn]bool{}
	}
}

// gated writes a kubeconfig that leads through a gate.
func (c *cluster) gated(t testing.TB) (*gate, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: listener, conns: map[net.Conn]bool{}}
	for _, one := range config.Clusters {
		g.to = strings.TrimPrefix(one.Server, "https://")
		one.Server = "https://" + listener.Addr().String() // a name of the server's certificate
	}
	g.wg.Go(g.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		g.set(true)
		g.wg.Wait()
	})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return g, path
}

// TestServerAway shuts the way to the API server: agents are unreachable and not lost, spawns fail with UNAVAILABLE, and all is
// well again when it is back, after a restart of the plugin as well.
func TestServerAway(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	g, path := c.gated(t)
	p := c.plugin(t, map[string]any{"kubeconfig": path})
	rt := p.Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	say(ctx, t, rt, a.ID, "kept=yes")
	g.set(true)
	status(ctx, t, rt, a.ID, runtime.StatusUnreachable)
	if _, err := rt.Spawn(ctx, shell(id(t))); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a spawn meanwhile: %v", err)
	}
	if health, err := p.Conn().Health(ctx); err != nil || health.Status != plugin.StatusFailed {
		t.Errorf("health %+v", health)
	}
	g.set(false)
	status(ctx, t, rt, a.ID, runtime.StatusReady)
	if got := say(ctx, t, rt, a.ID, "echo $kept"); got != "yes" {
		t.Errorf("the agent says %q", got)
	}
	conn, err := p.Restart(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := say(ctx, t, conn.Runtime(), a.ID, "echo $kept again"); got != "yes again" {
		t.Errorf("after a restart the agent says %q", got)
	}
}

// TestQuota asks for more than the namespace may have.
func TestQuota(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	c := need(t).apart(ctx, t)
	_, err := c.core.ResourceQuotas(c.namespace).Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "little"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"limits.memory": resource.MustParse("80Gi")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the quota to be counted", func() bool {
		q, err := c.core.ResourceQuotas(c.namespace).Get(ctx, "little", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	spec := shell(id(t))
	spec.Limits.MemoryBytes = 100 << 30
	_, err = c.plugin(t, nil).Conn().Runtime().Spawn(ctx, spec)
	wantError(t, err, runtime.CodeResourceLimit, "quota")
}

// TestUnschedulable asks for more than a node has.
func TestUnschedulable(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	_, err := c.plugin(t, map[string]any{"nodeSelector": map[string]string{"no-such": "label"}, "startTimeout": "3s"}).Conn().Runtime().Spawn(ctx, shell(id(t)))
	wantError(t, err, runtime.CodeResourceLimit, "no node takes the pod")
}

// TestSweep removes pods that no agent has, and those of no other state directory.
func TestSweep(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	mine, other := t.TempDir(), t.TempDir()
	spec, foreign := shell(id(t)), shell(id(t)+"x")
	l, far := c.open(t, mine, nil), c.open(t, other, nil)
	for launcher, s := range map[*kubernetes.Launcher]*runtime.Spec{l: &spec, far: &foreign} {
		if _, err := launcher.Prepare(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(mine, "agents", spec.ID+".json")); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the pod to be removed", func() bool {
		kubernetes.Sweep(l, ctx, time.Millisecond)
		return len(c.pods(ctx, t, spec.ID)) == 0
	})
	if len(c.pods(ctx, t, foreign.ID)) != 1 {
		t.Error("the pod of another state directory is gone too")
	}
	if err := far.Remove(ctx, foreign.ID); err != nil {
		t.Error(err)
	}
}

// TestClaim keeps the home of an agent in a claim, over the end of its pod.
func TestClaim(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	name := c.claim(t)
	rt := c.plugin(t, map[string]any{"homeClaim": name}).Conn().Runtime()
	spec := shell(id(t))
	a := spawn(ctx, t, rt, spec)
	say(ctx, t, rt, a.ID, "echo kept >~/note; echo work >note")
	if err := c.core.Pods(c.namespace).Delete(ctx, a.PodName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	status(ctx, t, rt, a.ID, runtime.StatusStopped)
	spawn(ctx, t, rt, spec)
	if got := say(ctx, t, rt, spec.ID, "cat ~/note note"); got != "kept\nwork" {
		t.Errorf("the next life finds %q", got)
	}
	volume, err := c.core.PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(volume.Spec.HostPath.Path, "agents", spec.ID)
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
	if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Prune(ctx, runtime.PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of an agent that was removed: %v", err)
	}
}

// TestFormerRoom reads in the home of an agent that has ended: in its pod while that is kept, and in the claim for homes after that.
func TestFormerRoom(t *testing.T) {
	t.Parallel()
	c := need(t)
	for name, claim := range map[string]string{"Pod": "", "Claim": c.claim(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, more := within(t), map[string]any{}
			if claim != "" {
				more["homeClaim"] = claim
			}
			l := c.open(t, t.TempDir(), more)
			spec := shell(id(t))
			room, err := l.Prepare(ctx, &spec)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Remove(context.WithoutCancel(ctx), spec.ID) })
			p, err := l.Launch(ctx, agentcli.Command{
				Spec: &spec, Room: room, Path: "/bin/sh", Args: []string{"-c", "mkdir -p ~/deep; echo words >~/deep/session"}, Env: room.Env, Cols: 80, Rows: 24,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			_ = p.Close()
			read := func(when string) {
				t.Helper()
				former, err := l.Room(ctx, &spec)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if text, err := former.ReadFile(former.Home + "/deep/session"); err != nil || string(text) != "words\n" {
					t.Errorf("%s it has %q, %v", when, text, err)
				}
				if _, err := former.ReadFile(former.Home + "/none"); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s a missing file: %v", when, err)
				}
				if _, err := former.ReadFile("/etc/passwd"); runtime.ErrorCode(err) != runtime.CodeForbidden {
					t.Errorf("%s a file outside of the room: %v", when, err)
				}
			}
			read("while its pod is kept")
			for _, pod := range c.pods(ctx, t, spec.ID) {
				if err := c.core.Pods(c.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
			if claim == "" {
				if _, err := l.Room(ctx, &spec); !errors.Is(err, agentcli.ErrGone) {
					t.Errorf("without its pod: %v", err)
				}
				return
			}
			read("without its pod")
			until(ctx, t, "no pod that reads", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
			if err := l.Remove(ctx, spec.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Room(ctx, &spec); !errors.Is(err, agentcli.ErrGone) {
				t.Errorf("an agent that was removed: %v", err)
			}
		})
	}
}

// TestWorktree commits in a linked work tree, as threads get, over a claim of this machine's directory.
func TestWorktree(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	if os.Getuid() != 0 {
		t.Skip("gives files to the user of agents, which takes root")
	}
	name := c.claim(t)
	volume, err := c.core.PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	base := volume.Spec.HostPath.Path
	main, tree := filepath.Join(base, "main"), filepath.Join(base, "tree")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main", main)
	git("-C", main, "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", main, "worktree", "add", "-q", "-b", "work", tree)
	if out, err := exec.CommandContext(ctx, "chown", "-R", "10001:10001", main, tree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rt := c.plugin(t, map[string]any{"mounts": map[string]any{base: map[string]any{"claim": name, "mode": "rw"}}}).Conn().Runtime()
	spec := shell(id(t))
	spec.Workdir = tree
	a := spawn(ctx, t, rt, spec)
	if got := say(ctx, t, rt, a.ID, "command -v git || echo none"); got == "none" {
		t.Skip("the image of the tests has no git: image.sh puts the machine's into it")
	}
	say(ctx, t, rt, a.ID, "echo text >file && git add file && git -c user.name=a -c user.email=a@example.com commit -q -m second; git tag made")
	if got := git("-C", main, "log", "-1", "--format=%s", "work"); got != "second" {
		t.Errorf("the branch is at %q", got)
	}
	for _, name := range []string{"hooks/post-commit", "config", "worktrees/other"} {
		if got := say(ctx, t, rt, a.ID, "echo x 2>/dev/null >>"+filepath.Join(main, ".git", name)+" || echo shut"); got != "shut" {
			t.Errorf("%s can be written: %q", name, got)
		}
	}
}

// TestKilled ends by SIGKILL, in its pod, the command of an agent, and the holder of another one: the first has exited, the
// second is lost, and nothing of it is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	c, ctx := need(t), within(t)
	rt := c.plugin(t, nil).Conn().Runtime()
	for _, tt := range []struct{ line, reason string }{{"kill -9 $$", runtime.ReasonExited}, {"kill -9 $PPID", runtime.ReasonLost}} {
		a := spawn(ctx, t, rt, shell(id(t)))
		status(ctx, t, rt, a.ID, runtime.StatusReady)
		if _, err := rt.Send(ctx, a.ID, runtime.Input{Raw: tt.line + "\r"}); err != nil {
			t.Fatal(err)
		}
		if got := status(ctx, t, rt, a.ID, runtime.StatusStopped); got.Reason != tt.reason {
			t.Errorf("after %s the reason is %q, want %q", tt.line, got.Reason, tt.reason)
		}
		if tt.reason == runtime.ReasonLost {
			until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, a.ID)) == 0 })
		}
	}
}
