package docker_test

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

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"github.com/wardroom/wardroom/plugins/runtime-docker/docker"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// until waits for a condition.
func until(ctx context.Context, t testing.TB, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
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

// id makes an id of an agent that no other test has: their containers are called by it.
func id(t testing.TB) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// containers returns those of an agent, whatever their state.
func (e *engine) containers(ctx context.Context, t testing.TB, agent string) []container.Summary {
	t.Helper()
	list, err := e.client(t).ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", docker.LabelAgent+"="+agent))})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRefusals are spawns that cannot be: each says why, and leaves no container behind.
func TestRefusals(t *testing.T) {
	e, ctx := need(t), within(t)
	data := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	p := e.plugin(t, map[string]any{
		"images": map[string]string{"none": "wardroom/none:1"}, "volumes": map[string]string{data: "ro", filepath.Dir(link): "ro", filepath.Dir(e.socket): "ro"},
		"networks": []string{"wardroom-missing"},
	})
	rt := p.Conn().Runtime()
	for name, tt := range map[string]struct {
		change func(s *runtime.Spec)
		code   runtime.Code
		words  string
	}{
		"ImageMissing":     {func(s *runtime.Spec) { s.Type = "none" }, runtime.CodeImageNotFound, "docker load"},
		"ImageNotAllowed":  {func(s *runtime.Spec) { s.Image = "evil/image" }, runtime.CodeInvalidSpec, "allowImages"},
		"ImageMeta":        {func(s *runtime.Spec) { s.Image = "a;touch /tmp/x" }, runtime.CodeInvalidSpec, "image"},
		"Command":          {func(s *runtime.Spec) { s.Declared.Command = "no-such-command" }, runtime.CodeCLINotFound, "no command"},
		"CommandMeta":      {func(s *runtime.Spec) { s.Declared.Command = "sh;true" }, runtime.CodeCLINotFound, "no command"},
		"CPUs":             {func(s *runtime.Spec) { s.Limits.CPU = 512 }, runtime.CodeResourceLimit, "512 cores"},
		"Memory":           {func(s *runtime.Spec) { s.Limits.MemoryBytes = 1 << 20 }, runtime.CodeInvalidSpec, "16 MiB"},
		"NetworkMissing":   {func(s *runtime.Spec) { s.Network = "wardroom-missing" }, runtime.CodeNetworkError, "docker network create"},
		"NetworkOfHost":    {func(s *runtime.Spec) { s.Network = "host" }, runtime.CodeInvalidSpec, "network"},
		"NetworkOfOther":   {func(s *runtime.Spec) { s.Network = "container:x" }, runtime.CodeInvalidSpec, "network"},
		"NetworkForbidden": {func(s *runtime.Spec) { s.Network = "bridge2" }, runtime.CodeInvalidSpec, "networks"},
		"Workdir":          {func(s *runtime.Spec) { s.Workdir = "/etc" }, runtime.CodeWorkdirNotAllowed, "system"},
		"WorkdirOfSocket":  {func(s *runtime.Spec) { s.Workdir = filepath.Dir(e.socket) }, runtime.CodeWorkdirNotAllowed, "socket"},
		"VolumeRoot":       {func(s *runtime.Spec) { s.Volumes = []string{"/:/host:ro"} }, runtime.CodeInvalidSpec, "whole machine"},
		"VolumeSocket":     {func(s *runtime.Spec) { s.Volumes = []string{e.socket + ":/s:ro"} }, runtime.CodeInvalidSpec, "neither"},
		"VolumeOfSocket":   {func(s *runtime.Spec) { s.Volumes = []string{filepath.Dir(e.socket) + ":/s:ro"} }, runtime.CodeInvalidSpec, "socket"},
		"VolumeOutside":    {func(s *runtime.Spec) { s.Volumes = []string{"/etc:/data:ro"} }, runtime.CodeInvalidSpec, "allowed"},
		"VolumeSymlink":    {func(s *runtime.Spec) { s.Volumes = []string{link + ":/data:ro"} }, runtime.CodeInvalidSpec, "allowed"},
		"VolumeDots":       {func(s *runtime.Spec) { s.Volumes = []string{data + "/../x:/data:ro"} }, runtime.CodeInvalidSpec, ".."},
		"VolumeRelative":   {func(s *runtime.Spec) { s.Volumes = []string{"data:/data:ro"} }, runtime.CodeInvalidSpec, "absolute"},
		"VolumeMode":       {func(s *runtime.Spec) { s.Volumes = []string{data + ":/data:rw,z"} }, runtime.CodeInvalidSpec, "mode"},
		"VolumeWrite":      {func(s *runtime.Spec) { s.Volumes = []string{data + ":/data:rw"} }, runtime.CodeInvalidSpec, "read-only"},
		"VolumeOverHolder": {func(s *runtime.Spec) { s.Volumes = []string{data + ":/wardroom/holder:ro"} }, runtime.CodeInvalidSpec, "mounted on"},
		"VolumeOverPasswd": {func(s *runtime.Spec) { s.Volumes = []string{data + ":/etc/passwd:ro"} }, runtime.CodeInvalidSpec, "mounted on"},
		"VolumeMissing":    {func(s *runtime.Spec) { s.Volumes = []string{data + "/none:/data:ro"} }, runtime.CodeInvalidSpec, "cannot be found"},
		"VolumeTwice":      {func(s *runtime.Spec) { s.Volumes = []string{data + ":/data:ro", data + ":/data:ro"} }, runtime.CodeInvalidSpec, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(id(t))
			tt.change(&spec)
			_, err := rt.Spawn(ctx, spec)
			wantError(t, err, tt.code, tt.words)
			if left := e.containers(ctx, t, spec.ID); len(left) > 0 {
				t.Errorf("%d containers are left", len(left))
			}
			if agents, err := rt.List(ctx, runtime.ListFilter{}); err != nil || len(agents) > 0 {
				t.Errorf("agents %+v, %v", agents, err)
			}
		})
	}
}

// TestContainer looks at what an agent gets, from within and as the engine tells it.
func TestContainer(t *testing.T) {
	e, ctx := need(t), within(t)
	data := t.TempDir()
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "file"), []byte("content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(t.TempDir(), "work $(touch x);'\"")
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(work, 0o777); err != nil {
		t.Fatal(err)
	}
	rt := e.plugin(t, map[string]any{"volumes": map[string]string{data: "ro"}}).Conn().Runtime()
	spec := shell(id(t))
	spec.Name, spec.Workdir, spec.Volumes = `$(touch /tmp/x); "name" '`, work, []string{data + ":/data:ro"}
	spec.Env = map[string]string{"TOKEN": "a-secret; $(touch x)"}
	spec.Limits = runtime.Limits{MemoryBytes: 64 << 20, CPU: 0.25, PIDs: 50}
	a := spawn(ctx, t, rt, spec)
	for line, want := range map[string]string{
		"id -u":          "10001",
		"cat /data/file": "content",
		"pwd":            work,
		`echo "$TOKEN"`:  "a-secret; $(touch x)",
		"grep CapEff /proc/self/status | tr -d '\\t'":     "CapEff:0000000000000000",
		"grep NoNewPrivs /proc/self/status | tr -d '\\t'": "NoNewPrivs:1",
		"echo x 2>/dev/null >/data/x || echo shut":        "shut",
		"echo x 2>/dev/null >/x || echo shut":             "shut",
		"echo x >/tmp/x && echo x >$HOME/x && echo made":  "made",
		"ls":               "",
		"whoami":           "agent",
		"cat /proc/1/comm": "holder",
	} {
		if got := say(ctx, t, rt, a.ID, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	info, err := e.client(t).ContainerInspect(ctx, a.ContainerID)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(info); err != nil || strings.Contains(string(text), "a-secret") {
		t.Errorf("the engine tells of the agent's environment: %v", err)
	}
	h := info.HostConfig
	if h.Memory != 64<<20 || h.MemorySwap != 64<<20 || h.NanoCPUs != 25e7 || *h.PidsLimit != 50 || !h.ReadonlyRootfs || h.Privileged ||
		len(h.CapDrop) != 1 || h.CapDrop[0] != "ALL" || string(h.NetworkMode) != "wardroom-agents" || !h.RestartPolicy.IsNone() {
		t.Errorf("host config %+v", h)
	}
	m, err := rt.Metrics(ctx, a.ID)
	if err != nil || m.MemoryBytes == 0 || m.MemoryLimitBytes != 64<<20 {
		t.Errorf("metrics %+v, %v", m, err)
	}
	if err := rt.Stop(ctx, a.ID, runtime.StopOptions{}); err != nil {
		t.Error(err)
	}
	if left := e.containers(ctx, t, a.ID); len(left) > 0 {
		t.Errorf("%d containers are left after the stop", len(left))
	}
}

// TestNetworkNames reaches one agent from another by its name.
func TestNetworkNames(t *testing.T) {
	e, ctx := need(t), within(t)
	name := "wrnet-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	t.Cleanup(func() { _ = e.client(t).NetworkRemove(context.Background(), name) })
	rt := e.plugin(t, map[string]any{"network": name}).Conn().Runtime()
	one, two := shell(id(t)+"-1"), shell(id(t)+"-2")
	one.Name, two.Name = "Server One", "client"
	spawn(ctx, t, rt, one)
	spawn(ctx, t, rt, two)
	if got := say(ctx, t, rt, one.ID, "(echo hello | nc -l -p 8080 >/dev/null 2>&1 &)"); got != "" {
		t.Log(got)
	}
	for _, host := range []string{"server-one"} {
		if got := say(ctx, t, rt, two.ID, "until nc -w 5 "+host+" 8080 </dev/null; do :; done"); !strings.Contains(got, "hello") {
			t.Errorf("%s answered %q", host, got)
		}
	}
	if info, err := e.client(t).NetworkInspect(ctx, name, network.InspectOptions{}); err != nil || info.Labels[docker.LabelRole] != "network" {
		t.Errorf("the network is %+v, %v", info.Labels, err)
	}
	for _, spec := range []runtime.Spec{one, two} {
		if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
}

// TestOutOfMemory is an agent that takes more than it may have.
func TestOutOfMemory(t *testing.T) {
	e, ctx := need(t), within(t)
	rt := e.plugin(t, nil).Conn().Runtime()
	spec := shell(id(t))
	spec.Limits.MemoryBytes = 32 << 20
	spawn(ctx, t, rt, spec)
	say(ctx, t, rt, spec.ID, "true")
	if _, err := rt.Send(ctx, spec.ID, runtime.Input{Raw: "exec tail /dev/zero\n"}); err != nil {
		t.Fatal(err)
	}
	var a runtime.Agent
	until(ctx, t, "the end of the agent", func() bool {
		var err error
		a, err = rt.Inspect(ctx, spec.ID)
		return err == nil && a.Status == runtime.StatusStopped
	})
	if a.Reason != runtime.ReasonOutOfMemory || a.ExitCode == nil || *a.ExitCode != 137 {
		t.Errorf("it ended as %s (%s), %v", a.Status, a.Reason, a.ExitCode)
	}
	until(ctx, t, "the removal of the container", func() bool { return len(e.containers(ctx, t, spec.ID)) == 0 })
}

// TestHolderKilled kills what holds the terminal: the agent ends with it, and is lost.
func TestHolderKilled(t *testing.T) {
	e, ctx := need(t), within(t)
	rt := e.plugin(t, nil).Conn().Runtime()
	spec := shell(id(t))
	a := spawn(ctx, t, rt, spec)
	info, err := e.client(t).ContainerInspect(ctx, a.ContainerID)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(info.State.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the end of the agent", func() bool {
		a, err = rt.Inspect(ctx, spec.ID)
		return err == nil && a.Status == runtime.StatusStopped
	})
	if a.Reason != runtime.ReasonLost {
		t.Errorf("it ended as %s (%s), %v", a.Status, a.Reason, a.ExitCode)
	}
	// It can be started again, and nothing is in its way.
	if a, err = rt.Restart(ctx, spec.ID, runtime.RestartOptions{}); err != nil || a.Status == runtime.StatusStopped {
		t.Errorf("restart: %+v, %v", a, err)
	}
	if got := say(ctx, t, rt, spec.ID, "echo back"); got != "back" {
		t.Errorf("it said %q", got)
	}
}

// TestNameTaken is a container of somebody else under the name of an agent's.
func TestNameTaken(t *testing.T) {
	e, ctx := need(t), within(t)
	spec := shell(id(t))
	c := e.client(t)
	made, err := c.ContainerCreate(ctx, &container.Config{Image: "wardroom/test:1", Cmd: []string{"true"}}, nil, nil, nil, "wardroom-"+spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}) })
	_, err = e.plugin(t, nil).Conn().Runtime().Spawn(ctx, spec)
	wantError(t, err, runtime.CodeAlreadyExists, "wardroom-"+spec.ID)
	if _, err := c.ContainerInspect(ctx, made.ID); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

// TestTwoAppliances share an engine: neither touches what the other has, nor does a copy of its state.
func TestTwoAppliances(t *testing.T) {
	e, ctx := need(t), within(t)
	one, two := e.plugin(t, nil), e.plugin(t, nil)
	spec := shell(id(t))
	a := spawn(ctx, t, one.Conn().Runtime(), spec)
	// The other knows the handle, as a restored copy of the first would.
	found, err := two.Conn().Runtime().Recover(ctx, []runtime.Handle{a.Handle})
	if err != nil || len(found) != 1 || found[0].Error == nil || found[0].Error.Code != runtime.CodeNotFound {
		t.Errorf("recover: %+v, %v", found, err)
	}
	_, err = two.Conn().Runtime().Spawn(ctx, spec)
	wantError(t, err, runtime.CodeAlreadyExists, "not of this runtime")
	l := e.open(t, t.TempDir(), nil)
	docker.Sweep(l, ctx, 0)
	if got := say(ctx, t, one.Conn().Runtime(), a.ID, "echo alive"); got != "alive" {
		t.Errorf("it said %q", got)
	}
}

// TestLeftovers removes what a crash left, and nothing that may be somebody's.
func TestLeftovers(t *testing.T) {
	e, ctx := need(t), within(t)
	state := t.TempDir()
	p := e.plugin(t, map[string]any{"stateDir": state})
	spec := shell(id(t))
	a := spawn(ctx, t, p.Conn().Runtime(), spec)
	c := e.client(t)
	info, err := c.ContainerInspect(ctx, a.ContainerID)
	if err != nil {
		t.Fatal(err)
	}
	// As a crash would leave it between the making of a container and the next start of the agent.
	labels := map[string]string{docker.LabelOwner: info.Config.Labels[docker.LabelOwner], docker.LabelRole: "agent", docker.LabelAgent: "gone-" + spec.ID}
	left, err := c.ContainerCreate(ctx, &container.Config{Image: "wardroom/test:1", Cmd: []string{"true"}, Labels: labels}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ContainerRemove(context.Background(), left.ID, container.RemoveOptions{Force: true}) })
	l := e.open(t, state, nil)
	docker.Sweep(l, ctx, time.Hour)
	if _, err := c.ContainerInspect(ctx, left.ID); err != nil {
		t.Errorf("one younger than the grace time: %v", err)
	}
	docker.Sweep(l, ctx, 0)
	if _, err := c.ContainerInspect(ctx, left.ID); err == nil {
		t.Error("it is still there")
	}
	if got := say(ctx, t, p.Conn().Runtime(), a.ID, "echo alive"); got != "alive" {
		t.Errorf("the agent said %q", got)
	}
}

// health asks a plugin how it is.
func health(ctx context.Context, t testing.TB, conn *plugin.Conn) plugin.Health {
	t.Helper()
	h, err := conn.Health(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEngineAway starts without an engine, which comes, goes and comes back: with live-restore agents live through it.
func TestEngineAway(t *testing.T) {
	e, ctx := fresh(t, "--live-restore"), within(t)
	e.down(t)
	p := e.plugin(t, nil)
	rt := p.Conn().Runtime()
	if h := health(ctx, t, p.Conn()); h.Status != plugin.StatusFailed || !strings.Contains(h.Reason, "not reached") || !strings.Contains(h.Reason, "systemctl") {
		t.Errorf("health without an engine: %+v", h)
	}
	spec := shell(id(t))
	_, err := rt.Spawn(ctx, spec)
	wantError(t, err, runtime.CodeSocketError, "start the engine")
	e.up(t, "--live-restore")
	if h := health(ctx, t, p.Conn()); h.Status != plugin.StatusOK {
		t.Errorf("health with an engine: %+v", h)
	}
	a := spawn(ctx, t, rt, spec)
	if got := say(ctx, t, rt, a.ID, "x=42; echo $x"); got != "42" {
		t.Fatalf("it said %q", got)
	}
	e.down(t)
	if got := say(ctx, t, rt, a.ID, "echo $x away"); got != "42 away" {
		t.Errorf("without the engine it said %q", got)
	}
	_, err = rt.Metrics(ctx, a.ID)
	wantError(t, err, runtime.CodeSocketError, "not reached")
	// The plugin is killed as well: a new one finds the agent without the engine.
	conn, err := p.Restart(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rt = conn.Runtime()
	found, err := rt.Recover(ctx, []runtime.Handle{a.Handle})
	if err != nil || found[0].Agent == nil {
		t.Fatalf("recover without the engine: %+v, %v", found, err)
	}
	if got := say(ctx, t, rt, a.ID, "echo $x again"); got != "42 again" {
		t.Errorf("after the crash it said %q", got)
	}
	e.up(t, "--live-restore")
	if got := say(ctx, t, rt, a.ID, "echo $x back"); got != "42 back" {
		t.Errorf("after the restart of the engine it said %q", got)
	}
	if err := rt.Stop(ctx, a.ID, runtime.StopOptions{}); err != nil {
		t.Error(err)
	}
	if left := e.containers(ctx, t, a.ID); len(left) > 0 {
		t.Errorf("%d containers are left", len(left))
	}
}

// TestEngineRestarted ends the containers, as an engine without live-restore does: agents have stopped, and start again.
func TestEngineRestarted(t *testing.T) {
	e, ctx := fresh(t), within(t)
	rt := e.plugin(t, nil).Conn().Runtime()
	spec := shell(id(t))
	a := spawn(ctx, t, rt, spec)
	say(ctx, t, rt, spec.ID, "true")
	e.down(t)
	until(ctx, t, "the end of the agent", func() bool {
		var err error
		a, err = rt.Inspect(ctx, spec.ID)
		return err == nil && (a.Status == runtime.StatusStopped || a.Status == runtime.StatusUnreachable)
	})
	e.up(t)
	until(ctx, t, "the end of the agent to be known", func() bool {
		var err error
		a, err = rt.Inspect(ctx, spec.ID)
		return err == nil && a.Status == runtime.StatusStopped
	})
	if a.Reason != runtime.ReasonExited || a.ExitCode == nil || *a.ExitCode == 0 {
		t.Errorf("it ended as %s (%s), %v", a.Status, a.Reason, a.ExitCode)
	}
	if _, err := rt.Restart(ctx, spec.ID, runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := say(ctx, t, rt, spec.ID, "echo back"); got != "back" {
		t.Errorf("it said %q", got)
	}
	if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
		t.Error(err)
	}
}

// TestArchives loads a missing image from a file, without a registry.
func TestArchives(t *testing.T) {
	e, ctx := need(t), within(t)
	c := e.client(t)
	ref := fmt.Sprintf("wardroom/loaded:%d", time.Now().UnixNano())
	if err := c.ImageTag(ctx, "wardroom/test:1", ref); err != nil {
		t.Fatal(err)
	}
	stream, err := c.ImageSave(ctx, []string{ref})
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "images.tar")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	remove := func() { _, _ = c.ImageRemove(context.Background(), ref, imageRemove) }
	remove()
	t.Cleanup(remove)
	rt := e.plugin(t, map[string]any{"image": ref, "archives": []string{archive}}).Conn().Runtime()
	spec := shell(id(t))
	spawn(ctx, t, rt, spec)
	if got := say(ctx, t, rt, spec.ID, "echo loaded"); got != "loaded" {
		t.Errorf("it said %q", got)
	}
	if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
		t.Error(err)
	}
}
