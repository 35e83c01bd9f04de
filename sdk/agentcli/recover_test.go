package agentcli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestRestartOfTheRuntime(t *testing.T) {
	g := open(t, newLauncher(t, nil), nil)
	before := g.bash("b1")
	g.ask("b1", "seq 1 200; X=42")
	at := g.attach("b1", runtime.AttachOptions{})
	at.untilText("200")
	g = g.again()
	after := g.status("b1", runtime.StatusReady)
	if after.PID != before.PID || after.Turn != 1 || !after.CreatedAt.Equal(before.CreatedAt) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	v := g.attach("b1", runtime.AttachOptions{Tail: 1000})
	v.until("the scrollback", func(f runtime.Frame, text string) bool {
		return f.Repaint && strings.Contains(text, "100") && strings.Contains(text, "200")
	})
	if got := g.ask("b1", "echo $X"); got.Text != "42" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
	if got := coarse(g.events("b1")); got != "started ready busy message turn_complete ready busy message turn_complete ready" {
		t.Errorf("events %s", got)
	}
}

func TestWorkGoesOnMeanwhile(t *testing.T) {
	c := &fakeCLI{}
	c.turn = func(p *process, msg string) { p.signal(agentcli.Signal{Kind: took, Text: msg}) }
	g, f := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1"}); err != nil {
		t.Fatal(err)
	}
	p := g.l.process()
	p.signal(agentcli.Signal{Kind: blocked, Prompt: approval("p1")})
	g.status("a", runtime.StatusBlocked)
	g.close()
	p.print("while nobody looked\r\n")
	p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Choice: "allow"})
	p.signal(agentcli.Signal{Kind: turnEnd, Text: "the answer"})
	g = reopen(t, g.l, g.o)
	a := g.status("a", runtime.StatusReady)
	if a.Turn != 1 || a.Prompt != nil {
		t.Errorf("agent %+v", a)
	}
	if got := types(g.events("a")); got != "started ready busy blocked unblocked turn_complete ready" {
		t.Errorf("events %s", got)
	}
	res, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1", ExpectResponse: true})
	if err != nil || res.Response == nil || res.Response.Text != "the answer" {
		t.Errorf("repeat: %+v, %v", res, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.drivers); n != 2 || len(f.drivers[1].saved) == 0 {
		t.Errorf("%d drivers, the last one without a state", n)
	}
}

func TestGoneMeanwhile(t *testing.T) {
	c := &fakeCLI{}
	g, _ := ready(t, c, nil)
	g.spawn(runtime.Spec{ID: "b", Type: "fake"})
	g.status("b", runtime.StatusReady)
	g.close()
	g.l.mu.Lock()
	first, second := g.l.procs["1"], g.l.procs["2"]
	delete(g.l.procs, "1")
	g.l.mu.Unlock()
	first.kill()
	second.mu.Lock()
	second.exit.Code = 3
	second.mu.Unlock()
	c.exitCode = 3
	second.typed <- []byte("/exit\r")
	<-second.gone
	<-first.gone
	g = reopen(t, g.l, g.o)
	if a := g.status("a", runtime.StatusStopped); a.Reason != runtime.ReasonLost || a.ExitCode != nil {
		t.Errorf("lost agent %+v", a)
	}
	if b := g.status("b", runtime.StatusStopped); b.Reason != runtime.ReasonExited || b.ExitCode == nil || *b.ExitCode != 3 {
		t.Errorf("ended agent %+v", b)
	}
	v := g.attach("a", runtime.AttachOptions{})
	if exit := v.drain(); exit == nil || exit.Reason != runtime.ReasonLost {
		t.Errorf("exit %+v", exit)
	}
}

func TestRecoverHandles(t *testing.T) {
	g := open(t, newLauncher(t, nil), nil)
	a := g.bash("b1")
	g.bash("b2")
	if err := g.Stop(t.Context(), "b2", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	handles := []runtime.Handle{
		a.Handle, {ID: "b2"}, {ID: "nobody"}, {ID: "bad", Data: []byte("junk")}, {ID: "other", Data: a.Handle.Data}, {ID: "b a d"},
		{ID: "old", Data: []byte(`{"v":99}`)},
	}
	check := func(g *rig, b2 runtime.Code) {
		t.Helper()
		got, err := g.Recover(t.Context(), handles)
		if err != nil || len(got) != len(handles) {
			t.Fatalf("recover: %v, %v", got, err)
		}
		if got[0].Agent == nil || got[0].Agent.PID != a.PID {
			t.Errorf("running: %+v", got[0])
		}
		for i, want := range []runtime.Code{
			1: b2, 2: runtime.CodeNotFound, 3: runtime.CodeInvalidHandle, 4: runtime.CodeInvalidHandle, 5: runtime.CodeInvalidHandle, 6: runtime.CodeInvalidHandle,
		} {
			if i > 0 && (got[i].Error == nil && want != "" || got[i].Error != nil && got[i].Error.Code != want) {
				t.Errorf("%d: %+v, want %q", i, got[i], want)
			}
		}
	}
	check(g, "")
	// Another state directory: the handle alone finds the agent.
	g.close()
	o := g.o
	o.StateDir = t.TempDir()
	g = reopen(t, g.l, o)
	check(g, runtime.CodeNotFound)
	if got := g.ask("b1", "echo again").Text; got != "again" {
		t.Errorf("answer %q", got)
	}
	if list, err := g.List(t.Context(), runtime.ListFilter{}); err != nil || len(list) != 1 {
		t.Errorf("list %v, %v", list, err)
	}
}

func TestHundredAgentsAreAdopted(t *testing.T) {
	const n = 100
	g, _ := fake(t, &fakeCLI{}, nil)
	g.l.script = func(p *process) { (&fakeCLI{}).run(p) }
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if _, err := g.Spawn(t.Context(), runtime.Spec{ID: fmt.Sprint("a", i), Type: "fake"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range n {
		g.status(fmt.Sprint("a", i), runtime.StatusReady)
	}
	g.close()
	begin := time.Now()
	g = reopen(t, g.l, g.o)
	list, err := g.List(t.Context(), runtime.ListFilter{})
	took := time.Since(begin)
	t.Logf("%d agents adopted in %s", n, took)
	if err != nil || len(list) != n {
		t.Fatalf("%d agents, %v", len(list), err)
	}
	for _, a := range list {
		if a.Status != runtime.StatusReady {
			t.Errorf("agent %+v", a)
		}
	}
	if took > 5*time.Second {
		t.Errorf("adopting %d agents took %s", n, took)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	r, err := agentcli.NewRuntime(g.o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.Open(ctx); err == nil {
		t.Error("a second runtime opened the same state")
	}
	if _, err := r.Spawn(t.Context(), runtime.Spec{ID: "x", Type: "fake"}); code(err) != runtime.CodeUnavailable {
		t.Errorf("spawn on a closed runtime: %v", err)
	}
}

// TestSecretsOnSeveralRows has a secret that no row of the terminal holds whole.
func TestSecretsOnSeveralRows(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "k%d-", i)
	}
	secret := long.String()
	g := open(t, newLauncher(t, nil), nil)
	g.spawn(runtime.Spec{ID: "b", Type: "bash", Env: map[string]string{"API_TOKEN": secret}})
	g.status("b", runtime.StatusReady)
	for _, command := range []string{
		`for i in $(seq 40); do echo "$i is $API_TOKEN"; done`,
		`printf 'it is %s' "$API_TOKEN"; sleep 0.5; echo`,
		`for i in $(seq 20); do printf 'it is %s' "$API_TOKEN"; sleep 0.1; echo; done`,
	} {
		if got := g.ask("b", command).Text; !strings.Contains(strings.ReplaceAll(got, "\n", ""), secret) {
			t.Errorf("the answer to its caller is %q", got)
		}
	}
	wait(t, "the log", func() bool { return strings.Contains(g.logs("b", runtime.LogOptions{}), "terminal it is ***") })
	told := g.logs("b", runtime.LogOptions{})
	for _, e := range g.events("b") {
		told += fmt.Sprintf("%+v", e)
	}
	for at := 0; at+20 <= len(secret); at += 10 {
		if part := secret[at : at+20]; strings.Contains(told, part) {
			t.Fatalf("%q of the secret is told:\n%s", part, told)
		}
	}
}

// TestLastLinesOfTheLog has an agent end while the last line that left its screen may be the begin of a secret: it is in the log,
// without what is one.
func TestLastLinesOfTheLog(t *testing.T) {
	t.Parallel()
	const secret = "fine-5up3rs3cret"
	for last, want := range map[string]string{
		"all of": "terminal all of\n",
		"x " + strings.Repeat("-", 110) + secret[:8] + "\r\n" + secret[8:]: "terminal x " + strings.Repeat("-", 110) + "***\n",
	} {
		g := open(t, newLauncher(t, still), func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{&fakeType{}} })
		g.spawn(runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"API_TOKEN": secret}})
		g.status("a", runtime.StatusReady)
		p := g.l.process()
		p.print("\x1b[2J\x1b[H" + last + strings.Repeat("\r\n", 40-strings.Count(last, "\n")))
		p.kill()
		g.status("a", runtime.StatusStopped)
		if told := g.logs("a", runtime.LogOptions{}); !strings.Contains(told, want) || strings.Contains(told, secret[:8]) {
			t.Errorf("%q: the log is %s", last, told)
		}
	}
}

// TestSecretsStayOut looks for a secret in everything that is stored or told.
func TestSecretsStayOut(t *testing.T) {
	const secret = "tok-5up3rs3cret"
	c := &fakeCLI{}
	g, _ := fake(t, c, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"API_TOKEN": secret}})
	g.status("a", runtime.StatusReady)
	if got := g.ask("a", "say "+secret).Text; got != "ANSWER[say "+secret+"]" {
		t.Errorf("the caller's own answer was changed: %q", got)
	}
	g.l.process().print(strings.Repeat("line "+secret+"\r\n", 100))
	wait(t, "the log", func() bool { return strings.Contains(g.logs("a", runtime.LogOptions{}), "terminal line ***") })
	for _, e := range g.events("a") {
		if s := fmt.Sprintf("%+v", e); strings.Contains(s, secret) {
			t.Errorf("event %s", s)
		}
	}
	list, _ := g.List(t.Context(), runtime.ListFilter{})
	if s := fmt.Sprintf("%+v %s", list, list[0].Handle.Data); strings.Contains(s, secret) {
		t.Errorf("list %s", s)
	}
	g.close()
	err := filepath.WalkDir(g.o.StateDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeptAnswer has an agent answer a message with an id by a secret: the answer is kept, so it is without the secret, the first
// time as in a repeat to the next process.
func TestKeptAnswer(t *testing.T) {
	const secret = "tok-5up3rs3cret"
	g, _ := fake(t, &fakeCLI{}, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"API_TOKEN": secret}})
	g.status("a", runtime.StatusReady)
	for range 2 {
		got, err := g.Send(t.Context(), "a", runtime.Input{ID: "in-1", Message: "say " + secret, ExpectResponse: true})
		if err != nil || got.Response == nil || got.Response.Text != "ANSWER[say ***]" {
			t.Errorf("%+v, %v", got.Response, err)
		}
		g.close()
		if strings.Contains(stored(t, g.o.StateDir), secret) {
			t.Error("the secret is stored")
		}
		g = reopen(t, g.l, g.o)
		g.status("a", runtime.StatusReady)
	}
}
