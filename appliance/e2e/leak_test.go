package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/coredump"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	spec "github.com/wardroom/wardroom/sdk/wire"
)

// canary is a secret in the environment of every agent of the type shell: whichever test uses one, it is in no file that the
// server or a runtime leaves, nor in any log.
const canary = "c4naryOfTheShellq7x"

// inFiles reports the files of a tree that hold a secret. Files of configuration are passed over: they are where it stands.
func inFiles(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".yaml" {
			return err
		}
		text, err := written(path)
		if err != nil {
			return nil // it is gone meanwhile
		}
		for _, secret := range secrets {
			if i := bytes.Index(text, []byte(secret)); i >= 0 {
				t.Errorf("%s holds %s: ...%q", path, secret, text[max(0, i-80):min(len(text), i+20)])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// bundled returns the text of a debug bundle. Profiles in it are compressed once more.
func bundled(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for r := tar.NewReader(unzipped); ; {
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if inner, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			if data, err = io.ReadAll(inner); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&all, "== %s\n%s\n", part.Name, data)
	}
}

// ground is the runtime of the agents in a search for leaks.
type ground struct {
	plugin    string
	sum       string // of a plugin that no manifest has; or empty
	agentType string
	lines     []string // of the configuration
	env       string   // a secret that every agent has in FLEET_TOKEN; or empty
	given     bool     // the environment of holders has it too, as the cluster gives it to containers
	// places returns what tells of an agent beside the product itself. It may look through files by itself.
	places func(agent string, secrets []string) (found map[string]string)
}

// Secrets are planted in all places that a running server, its plugin and its agents have for them, and found nowhere: not in
// the log at its most talkative, answers, live streams, deliveries, exports, reports, audit records, metrics, files of the store and of the
// runtime, a dump, a debug bundle, or lists of processes, also after everything was killed and found again; and no process can
// leave a core dump.
func TestNothingLeaksOfProcesses(t *testing.T) {
	t.Parallel()
	local := &ground{
		plugin: "runtime-local", agentType: "shell", lines: []string{"plugins.dir: " + plugins, "runtimes.local: {plugin: runtime-local}"},
		places: func(string, []string) map[string]string { return nil },
	}
	t.Run("InClear", func(t *testing.T) { searchLeaks(t, local, false) })
	t.Run("Encrypted", func(t *testing.T) { searchLeaks(t, local, true) })
}

// searchLeaks plants, lets everything happen, and searches.
func searchLeaks(t *testing.T, on *ground, atRest bool) {
	planted := map[string]string{"the environment of a type": canary}
	if on.env != "" {
		planted["the environment of all agents"] = on.env
	}
	plant := func(where string) string {
		planted[where] = fmt.Sprintf("c4naryNumber%02dq7x", len(planted))
		return planted[where]
	}
	var delivered syncText
	var followers sync.WaitGroup
	defer followers.Wait()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, "this came: ", r.Header) // as some receivers do
		r.Header.Del("Authorization")          // which it is for
		delivered.add(fmt.Sprint(r.Header, string(body)))
	}))
	defer receiver.Close()
	outside := t.TempDir()
	secretFile := filepath.Join(outside, "hook-secret")
	if err := os.WriteFile(secretFile, []byte(plant("a file that a reference names")+"-long-enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(shortDir(t), "admin.sock")
	ofPlugin := plant("the environment of a plugin")
	yaml := []string{
		"log.level: trace", "server.environment: development", "server.adminSocket: " + socket,
		fmt.Sprintf("plugins.%s: {kind: runtime, sha256: %q, env: {RUNTIME_TOKEN: %s}}", on.plugin, on.sum, ofPlugin),
		"security.audit: {enabled: true, level: verbose}",
		"threads.repositories: {tools: {url: 'https://git.example.com/tools.git', username: ci, password: " + plant("the password of a repository") + "}}",
		fmt.Sprintf("webhooks.endpoints: [{url: %q, events: ['*'], secret: 'file:%s'}]", receiver.URL, secretFile),
	}
	if atRest {
		key := filepath.Join(outside, "store.key")
		if out, code := (&server{t: t}).command("store", "key", "new", key); code != 0 {
			t.Fatalf("store key new: %d %s", code, out)
		}
		text, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimSpace(text)
		planted["the master key"] = string(text[bytes.LastIndexByte(text, ':')+1:])
		yaml = append(yaml, "security.encryption: {atRest: {enabled: true, file: "+key+"}}")
	}
	c := crewed(t, nil, append(yaml, on.lines...))
	ctx, stop := context.WithCancel(t.Context())
	defer stop() // before the followers are waited for
	// What streams tell live, over the kill too.
	var streamed syncText
	follow := func(path string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.http.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v", path, err)
		}
		followers.Go(func() {
			defer resp.Body.Close()
			buffer := make([]byte, 32<<10)
			for {
				n, err := resp.Body.Read(buffer)
				streamed.add(string(buffer[:n]))
				if err != nil {
					return // the server ended or was killed
				}
			}
		})
	}
	follow("/api/events")
	own := plant("the environment of an agent")
	a := c.spawn(client.ManagedAgentSpec{Type: on.agentType, Env: map[string]string{"SPAWN_TOKEN": own}})
	c.await(a.ID, "ready")
	thread, err := c.api.SpawnThread(ctx, client.ThreadSpec{
		ExecutionID: "new", AgentType: on.agentType, Name: "one", Preparation: client.ThreadPreparation{Env: map[string]string{"THREAD_TOKEN": plant("the environment of a thread")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	target := client.Target{Thread: &client.ThreadSpec{
		ExecutionID: "new", AgentType: on.agentType, Preparation: client.ThreadPreparation{Env: map[string]string{"LATER_TOKEN": plant("the environment of a target")}},
	}}
	if _, err := c.api.CreateSchedule(ctx, client.ScheduleSpec{
		ScheduleSpec: spec.ScheduleSpec{Name: "yearly", ScheduleTiming: spec.ScheduleTiming{Cron: "0 0 1 1 *"}}, Target: target,
	}); err != nil {
		t.Fatal(err)
	}
	trigger, err := c.api.CreateTrigger(ctx, client.TriggerSpec{
		TriggerSpec: spec.TriggerSpec{Name: "push", Secret: plant("the secret of a trigger") + "-long-enough"}, Target: target,
	})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := c.api.CreateWebhook(ctx, client.WebhookSpec{
		URL: receiver.URL + "/own", Events: []string{"*"}, Secret: plant("the secret of a webhook") + "-long-enough",
		Headers: map[string]string{"Authorization": "Bearer " + plant("the header of a webhook")},
	})
	if err != nil {
		t.Fatal(err)
	}
	follow("/api/executions/" + thread.ExecutionID + "/threads/stream")
	if _, err := c.api.SendThread(ctx, thread.ID, client.ThreadInput{Message: "echo ${#THREAD_TOKEN}"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.TestWebhook(ctx, hook.ID, "execution.completed"); err != nil {
		t.Fatal(err)
	}
	var shown []client.Delivery
	eventually(t, "deliveries", func() bool {
		page, err := c.api.ListDeliveries(ctx, client.DeliveryFilter{WebhookID: hook.ID})
		if err == nil {
			shown = page.Deliveries
		}
		return delivered.has("thread") && len(shown) > 0
	})
	eventually(t, "the stream of events", func() bool { return streamed.has(thread.ID) })
	ask, length := "echo ${#SPAWN_TOKEN} ${#CANARY_TOKEN} ${#FLEET_TOKEN}", fmt.Sprint(len(own), len(canary), len(on.env))
	c.told(a.ID, ask, length)
	before := c.agent(a.ID)

	search := func(when string) {
		t.Helper()
		now := thread
		eventually(t, "the agent of the thread", func() bool {
			if now, err = c.api.GetThread(ctx, thread.ID); err != nil {
				t.Fatal(err)
			}
			return now.ManagedAgentID != "" && len(marked(t, now.ManagedAgentID)) > 0
		})
		found := map[string]string{"deliveries": delivered.String(), "streams": streamed.String()}
		export, err := c.api.ExportData(ctx, "nobody-in-particular")
		if err != nil {
			t.Fatal(err)
		}
		exported, err := io.ReadAll(export)
		if err != nil {
			t.Fatal(err)
		}
		found["the data export"] = string(exported)
		for _, d := range shown {
			found["the delivery "+d.ID] = string(c.read("/api/webhooks/" + hook.ID + "/deliveries/" + d.ID).body)
		}
		for _, profile := range []string{"soc2", "gdpr", "hipaa"} {
			report := filepath.Join(outside, profile+".md")
			if out, code := c.command("compliance", "check", "--profile", profile, "--report", report); code > 1 {
				t.Errorf("compliance check: %d %s", code, out)
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Error(err)
			}
			found["the report of "+profile] = string(text) + string(c.read("/api/compliance/"+profile).body)
		}
		for _, path := range []string{
			"/api/managed-agents", "/api/managed-agents/" + a.ID, "/api/managed-agents/" + a.ID + "/events", "/api/managed-agents/" + a.ID + "/logs",
			"/api/managed-threads", "/api/managed-threads/" + thread.ID, "/api/managed-threads/" + thread.ID + "/events", "/api/schedules", "/api/triggers", "/api/triggers/" + trigger.ID,
			"/api/webhooks", "/api/webhooks/" + hook.ID, "/api/webhooks/" + hook.ID + "/deliveries", "/api/runtimes", "/api/admin/plugins", "/api/executions",
			"/api/audit", "/api/audit/export", "/api/metrics", "/api/health?detailed=true", "/api/admin/secrets/providers",
		} {
			answer := c.read(path)
			if answer.status != http.StatusOK {
				t.Errorf("%s: %s", path, answer)
			}
			found["GET "+path] = string(answer.body)
		}
		bundle := filepath.Join(outside, when+".tar.gz")
		if out, code := c.command("debug", "bundle", bundle, "--duration", "0s", "--server", "unix:"+socket); code != 0 {
			t.Fatalf("debug bundle: %d %s", code, out)
		}
		found["the debug bundle"] = bundled(t, bundle)
		plugin := c.processOf(on.plugin)
		agents := append(marked(t, a.ID), marked(t, now.ManagedAgentID)...)
		ours := []int{c.process.PID(), plugin}
		for _, pid := range agents {
			if up, err := proc.Stat(pid); err == nil && !slices.Contains(agents, up.Parent) {
				ours = append(ours, up.Parent) // its holder
			}
		}
		if len(ours) < 3 {
			t.Errorf("neither %s nor %s has a holder", a.ID, now.ManagedAgentID)
		}
		for _, pid := range append(agents, ours...) {
			if text, err := os.ReadFile(procFile(pid, "cmdline")); err == nil {
				found[fmt.Sprintf("the command line of %d", pid)] = string(text)
			}
			limits, err := os.ReadFile(procFile(pid, "limits"))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(limits)) {
				if f := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && f[4] != fmt.Sprint(coredump.Limit) && f[4] != "0" {
					t.Errorf("process %d may dump its core: %s", pid, line)
				}
			}
		}
		for _, pid := range ours {
			if text, err := os.ReadFile(procFile(pid, "environ")); err == nil {
				if pid == plugin {
					text = bytes.ReplaceAll(text, []byte(ofPlugin), nil) // which it is for
				}
				if on.given {
					text = bytes.ReplaceAll(text, []byte(on.env), nil)
				}
				found[fmt.Sprintf("the environment of %d", pid)] = string(text)
			}
		}
		for _, agent := range []string{a.ID, now.ManagedAgentID} {
			maps.Copy(found, on.places(agent, slices.Collect(maps.Values(planted))))
		}
		for where, secret := range planted {
			for place, text := range found {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s: %s has %s: ...%q", when, place, where, text[max(0, i-80):min(len(text), i+20)])
				}
			}
			inFiles(t, c.dir, secret)
			inFiles(t, c.server.logs, secret)
		}
	}
	search("running")
	c.kill()
	c.start()
	c.runtimeReady()
	if now := c.await(a.ID, "ready"); now.PID != before.PID || now.ContainerID != before.ContainerID || now.PodName != before.PodName {
		t.Errorf("the agent was not found again: %s, before %s", now.Body, before.Body)
	}
	if _, err := c.api.RestartManagedAgent(ctx, a.ID, client.ManagedAgentRestart{}); err != nil {
		t.Fatal(err)
	}
	c.await(a.ID, "ready")
	c.told(a.ID, ask, length)
	search("after a kill")
	if err := c.api.StopThread(ctx, thread.ID, true, 0); err != nil {
		t.Error(err)
	}
	c.retire(a.ID)
	c.stop()
	dump := filepath.Join(outside, "dump")
	args := []string{"store", "dump", dump, "--data-dir", filepath.Join(c.dir, "store")}
	if atRest {
		args = append(args, "--store-key", filepath.Join(outside, "store.key"))
	}
	if out, code := c.command(args...); code != 0 {
		t.Fatalf("store dump: %d %s", code, out)
	}
	for _, secret := range planted {
		inFiles(t, c.dir, secret)
		inFiles(t, c.server.logs, secret)
	}
	data, err := os.ReadFile(dump)
	if err != nil || len(data) == 0 {
		t.Errorf("the dump: %d bytes, %v", len(data), err)
	}
	for where, secret := range planted {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the dump has %s", where)
		}
	}
}

// syncText collects texts of several goroutines.
type syncText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncText) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text)
}

func (s *syncText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *syncText) has(part string) bool { return strings.Contains(s.String(), part) }
