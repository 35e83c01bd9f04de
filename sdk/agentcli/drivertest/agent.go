package drivertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// Seen is one signal, with the time at which the driver gave it.
type Seen struct {
	agentcli.Signal
	At time.Time
}

// Agent is a running CLI with its driver. It keeps the one rule that drivers rely on: all their methods are
// called from one goroutine.
type Agent struct {
	tb       testing.TB
	launcher *Launcher
	adapter  agentcli.Adapter
	spec     runtime.Spec
	Room     agentcli.Room
	Plan     agentcli.Plan
	proc     agentcli.Process
	driver   agentcli.Driver
	host     *host // of the driver

	work  chan func() // of the loop; the sender gives up when stop is closed
	stop  chan struct{}
	group sync.WaitGroup
	once  sync.Once

	// Confirmed counts messages that Send had to confirm.
	Confirmed int

	// The loop owns these.
	screen   *vt.Screen
	watching bool
	pause    *time.Timer
	held     []*agentcli.HookCall // that the driver has not answered

	drafted atomic.Bool // Keys was called since the last message

	mu   sync.Mutex // guards all below
	seen []Seen
	next int           // first signal that Wait did not pass
	more chan struct{} // closed and replaced when a signal comes
	prom *runtime.Prompt
}

// Start starts an agent in a fresh room with a fresh session id.
func Start(tb testing.TB, adapter agentcli.Adapter, env map[string]string) *Agent {
	tb.Helper()
	return start1(tb, adapter, runtime.Spec{Env: env}, agentcli.Life{SessionID: "6f1de5f8-3c52-4a3e-9d0a-0d3d4a4b5c6d"})
}

// StartSpec is Start with more of a spec: its id and type are set here, and its size if it has none.
func StartSpec(tb testing.TB, adapter agentcli.Adapter, spec runtime.Spec) *Agent {
	tb.Helper()
	return start1(tb, adapter, spec, agentcli.Life{SessionID: "6f1de5f8-3c52-4a3e-9d0a-0d3d4a4b5c6d"})
}

func start1(tb testing.TB, adapter agentcli.Adapter, spec runtime.Spec, life agentcli.Life) *Agent {
	tb.Helper()
	a := &Agent{
		tb: tb, adapter: adapter, spec: spec,
		launcher: &Launcher{Dir: rooms(tb), Path: map[string]string{adapter.Type(): CLI(tb, adapter.Type())}},
	}
	a.spec.ID, a.spec.Type = "agent", adapter.Type()
	if a.spec.Cols == 0 {
		a.spec.Cols, a.spec.Rows = 120, 40
	}
	a.launch(life)
	tb.Cleanup(func() {
		a.Close()
		_ = a.launcher.Remove(context.Background(), a.spec.ID)
	})
	return a
}

// rooms returns a folder outside the temporary directory: codex warns of a home there.
func rooms(tb testing.TB) string {
	tb.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	base = filepath.Join(base, "wardroom-drivertest")
	if err := os.MkdirAll(base, 0o700); err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "room")
	if err != nil {
		tb.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// launch starts one life.
func (a *Agent) launch(life agentcli.Life) {
	a.tb.Helper()
	ctx := context.Background()
	room, err := a.launcher.Prepare(ctx, &a.spec)
	if err != nil {
		a.tb.Fatal(err)
	}
	plan, err := a.adapter.Plan(&a.spec, room, life)
	if err != nil {
		a.tb.Fatal(err)
	}
	cmd := agentcli.Command{
		Spec: &a.spec, Room: room, Path: plan.Path, Args: plan.Args, Files: plan.Files, Cols: a.spec.Cols, Rows: a.spec.Rows,
		Env: environment(room.Env, plan.Env, a.spec.Env),
	}
	a.Room, a.Plan = room, plan
	a.work, a.stop, a.more = make(chan func()), make(chan struct{}), make(chan struct{})
	a.once, a.seen, a.next, a.prom, a.watching, a.held = sync.Once{}, nil, 0, nil, true, nil
	a.screen = vt.New(vt.Options{Cols: a.spec.Cols, Rows: a.spec.Rows, OnOSC: func(o vt.OSC) {
		a.driver.OSC(o.Code, append([]byte(nil), o.Data...))
	}})
	a.host = newHost(a)
	a.driver = a.adapter.NewDriver(plan, room, a.host)
	if a.proc, err = a.launcher.Launch(ctx, cmd); err != nil {
		a.tb.Fatal(err)
	}
	a.group.Add(3)
	go a.loop()
	go a.read()
	go a.listen()
}

// environment joins the layers as the contract says: later ones win.
func environment(base []string, layers ...map[string]string) []string {
	env := append([]string(nil), base...)
	for _, layer := range layers {
		for k, v := range layer {
			env = append(env, k+"="+v)
		}
	}
	return env
}

func (a *Agent) loop() {
	defer a.group.Done()
	for {
		select {
		case fn := <-a.work:
			fn()
		case <-a.stop:
			return
		}
	}
}

// post runs fn on the loop, and waits for it; false if the loop has ended.
func (a *Agent) post(fn func()) bool { return postTo(a.work, a.stop, fn) }

// postTo is post for the loop of one life, which may be over: the next one has channels of its own.
func postTo(work chan<- func(), stop <-chan struct{}, fn func()) bool {
	done := make(chan struct{})
	select {
	case work <- func() { fn(); close(done) }:
		<-done
		return true
	case <-stop:
		return false
	}
}

func (a *Agent) read() {
	defer a.group.Done()
	out, err := a.proc.Output(context.Background(), 0)
	if err != nil {
		return
	}
	defer out.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		if err != nil || !a.post(func() { a.output(buf[:n]) }) {
			return
		}
	}
}

func (a *Agent) output(p []byte) {
	if reply := a.screen.Write(p); len(reply) > 0 {
		_ = a.proc.Write(context.Background(), reply)
	}
	if a.pause != nil {
		a.pause.Stop()
	}
	if a.watching {
		work, stop := a.work, a.stop
		a.pause = time.AfterFunc(50*time.Millisecond, func() {
			postTo(work, stop, func() {
				row, col := a.screen.Cursor()
				a.watching = a.watching && a.driver.Screen(a.screen.Text(), row, col)
			})
		})
	}
}

func (a *Agent) listen() {
	defer a.group.Done()
	for {
		select {
		case call, ok := <-a.proc.(agentcli.HookSource).Hooks():
			if !ok || !a.post(func() { a.hook(call) }) {
				return
			}
		case <-a.stop:
			return
		}
	}
}

// hook hands a call to the driver, and keeps it until that answers it.
func (a *Agent) hook(call *agentcli.HookCall) {
	a.held = append(a.held, call)
	a.driver.Hook(agentcli.NewHookCall(call.Name, call.Payload, call.Done, func(body []byte) {
		a.held = slices.DeleteFunc(a.held, func(c *agentcli.HookCall) bool { return c == call })
		call.Answer(body)
	}))
}

// Close ends the CLI and everything of the agent.
func (a *Agent) Close() {
	a.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = a.proc.Kill(ctx)
		a.post(a.host.end)
		close(a.stop)
		_ = a.proc.Close()
		a.group.Wait()
	})
}

// Again kills the CLI and starts it once more in the same room, resuming the session.
func (a *Agent) Again(session string) {
	a.tb.Helper()
	a.Close()
	a.launch(agentcli.Life{Resume: session})
}

// For makes failures those of tb: of a subtest.
func (a *Agent) For(tb testing.TB) { a.tb = tb }

// Written reports whether a transcript in the agent's home holds words.
func (a *Agent) Written(words string) bool {
	found := false
	_ = filepath.WalkDir(a.Room.Home, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".jsonl") {
			return nil
		}
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), words) {
			found = true
		}
		return nil
	})
	return found
}

// WaitFile waits until a transcript in the agent's home holds words.
func (a *Agent) WaitFile(words string) {
	a.tb.Helper()
	limit := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !a.Written(words) {
		if time.Now().After(limit) {
			a.tb.Fatalf("%q does not come into a file of the agent", words)
		}
		<-tick.C
	}
}

// lookEvery is how often Type looks at the screen while a step waits for something on it.
const lookEvery = 20 * time.Millisecond

// Type types steps, with their pauses.
func (a *Agent) Type(steps []agentcli.Step) { a.typeUntil(steps, a.stop) }

// typeUntil is Type, unless it is over before.
func (a *Agent) typeUntil(steps []agentcli.Step, over <-chan struct{}) {
	for _, s := range steps {
		select {
		case <-over:
			return
		default:
		}
		if s.If != nil && !s.If(a.rows()) {
			continue
		}
		_ = a.proc.Write(context.Background(), s.Write)
		for end := time.Now().Add(s.Wait); ; {
			left := time.Until(end)
			if s.Until != nil {
				left = min(left, lookEvery)
			}
			if left <= 0 || s.Until != nil && s.Until(a.rows()) {
				break
			}
			select {
			case <-time.After(left):
			case <-over:
				return
			}
		}
	}
}

// Keys types bytes.
func (a *Agent) Keys(keys string) {
	a.drafted.Store(true)
	a.Type([]agentcli.Step{{Write: []byte(keys)}})
}

// pressEvery is how often a person presses a key again to which nothing happened.
const pressEvery = 2 * time.Second

// Press presses keys once words are on the screen, and again as long as they stay there, until the returned function is called: a
// CLI may pass over what comes in the moment after it drew a dialog.
func (a *Agent) Press(words, keys string) (done func()) {
	a.tb.Helper()
	a.WaitScreen(words)
	a.Keys(keys)
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(pressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if strings.Contains(a.Screen(), words) {
					a.Keys(keys)
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-over
	}
}

// Freeze stops the CLI while fn runs: what is typed meanwhile it reads at once, as on a machine that is busy.
func (a *Agent) Freeze(fn func()) {
	a.tb.Helper()
	pid := a.proc.Info().PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		a.tb.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	fn()
}

// Resize gives the terminal another size.
func (a *Agent) Resize(cols, rows int) {
	a.tb.Helper()
	a.post(func() { a.screen.Resize(cols, rows) })
	if err := a.proc.Resize(context.Background(), cols, rows); err != nil {
		a.tb.Fatal(err)
	}
}

// Send submits a message, confirms it while it is not taken, first after a second as a session does, and waits until it
// is.
func (a *Agent) Send(message string) Seen {
	a.tb.Helper()
	before := a.Count(agentcli.SignalTook)
	a.Submit(message)
	return a.taken(before)
}

// taken waits until more messages were taken than before, and confirms the one on its way as long as none is.
func (a *Agent) taken(before int) Seen {
	a.tb.Helper()
	limit, end := time.NewTimer(time.Second), time.Now().Add(patience)
	defer limit.Stop()
	for a.Count(agentcli.SignalTook) == before && time.Now().Before(end) {
		a.mu.Lock()
		more := a.more
		a.mu.Unlock()
		select {
		case <-more:
		case <-limit.C:
			a.Confirmed++
			a.Confirm()
			limit.Reset(confirmAgain)
		}
	}
	return a.Wait(agentcli.SignalTook)
}

// confirmAgain is how often Send confirms a message after the first time: a busy machine may take so long to refuse it.
const confirmAgain = 5 * time.Second

// Submit types a message without waiting for more.
func (a *Agent) Submit(message string) { a.SubmitBehind(message, func() {}) }

// SubmitBehind is Submit of a message that was submitted before fn runs, and is typed behind it.
func (a *Agent) SubmitBehind(message string, fn func()) {
	var steps []agentcli.Step
	a.post(func() { steps = a.driver.Submit(message) })
	fn()
	a.Type(steps)
}

// Confirm types what is to be typed when a message was not taken.
func (a *Agent) Confirm() {
	var steps []agentcli.Step
	a.post(func() { steps = a.driver.Confirm() })
	a.Type(steps)
}

// Forget gives a message up, as the session does whose caller was answered that it was not delivered.
func (a *Agent) Forget(message string) {
	a.post(func() { a.driver.(agentcli.Forgetter).Forget(message) })
}

// Interrupt types what stops the turn, as the session does.
func (a *Agent) Interrupt() {
	steps := []agentcli.Step{{Write: []byte("\x1b")}}
	if d, ok := a.driver.(agentcli.Interrupter); ok {
		a.post(func() { steps = d.Interrupt() })
	}
	a.Type(steps)
}

// Exit types what ends the CLI, and returns its exit.
func (a *Agent) Exit() runtime.Exit {
	a.tb.Helper()
	var steps []agentcli.Step
	a.post(func() { steps = a.driver.Exit() })
	a.Type(steps)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	exit, err := a.proc.Wait(ctx)
	if err != nil {
		a.tb.Fatalf("it does not exit: %v\n%s", err, a.Screen())
	}
	return exit
}

// Asked returns the prompt that is open, or nil.
func (a *Agent) Asked() *runtime.Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prom
}

// Answer answers the open prompt.
func (a *Agent) Answer(answer runtime.Answer) error {
	prompt := a.Asked()
	if prompt == nil {
		return runtime.Errorf(runtime.CodeNoPrompt, "no prompt is open")
	}
	var steps []agentcli.Step
	var err error
	a.post(func() { steps, err = a.driver.Answer(prompt, answer) })
	a.Type(steps)
	return err
}

// MustAnswer is Answer for tests that want it to succeed.
func (a *Agent) MustAnswer(answer runtime.Answer) {
	a.tb.Helper()
	if err := a.Answer(answer); err != nil {
		a.tb.Fatal(err)
	}
}

// Reload makes a new driver from what the present one saved, as a new runtime process would: nothing is heard of the present one any
// more, nor of what it had begun to read or to type, and what may be in the input line is not known. The hooks that wait come again.
func (a *Agent) Reload() {
	a.post(func() {
		a.reload()
		held := a.held
		a.held = nil
		for _, call := range held {
			select {
			case <-call.Done:
			default:
				a.hook(call)
			}
		}
	})
}

// ReloadWithoutHooks is Reload where the hooks that wait are lost, and the CLI is not answered.
func (a *Agent) ReloadWithoutHooks() {
	a.post(func() {
		a.reload()
		a.held = nil
	})
}

func (a *Agent) reload() {
	saved := a.driver.Save()
	a.host.end()
	a.host, a.watching = newHost(a), true
	a.drafted.Store(true)
	a.driver = a.adapter.NewDriver(a.Plan, a.Room, a.host)
	a.driver.Load(saved)
}

// Wait returns the next signal of one of the kinds, after the last one that it returned.
func (a *Agent) Wait(kinds ...agentcli.SignalKind) Seen {
	a.tb.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		a.mu.Lock()
		for a.next < len(a.seen) {
			s := a.seen[a.next]
			a.next++
			if slices.Contains(kinds, s.Kind) {
				a.mu.Unlock()
				return s
			}
		}
		more := a.more
		a.mu.Unlock()
		select {
		case <-more:
		case <-limit.C:
			a.tb.Fatalf("no signal %v; there were\n%s\nthe screen is\n%s", kinds, a.History(), a.Screen())
		}
	}
}

// Turn waits for the end of a turn and its text.
func (a *Agent) Turn() Seen {
	a.tb.Helper()
	s := a.Wait(agentcli.SignalTurnEnd)
	if s.TextFollows {
		answer := a.Wait(agentcli.SignalAnswer)
		s.Text, s.Interrupted, s.Refused = answer.Text, s.Interrupted || answer.Interrupted, s.Refused || answer.Refused
		if answer.Error != nil {
			s.Error = answer.Error
		}
		if answer.Usage != nil {
			s.Usage = answer.Usage
		}
	}
	return s
}

// Count counts signals of a kind.
func (a *Agent) Count(kind agentcli.SignalKind) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, s := range a.seen {
		if s.Kind == kind {
			n++
		}
	}
	return n
}

// WaitScreen waits until the screen holds words.
func (a *Agent) WaitScreen(words string) {
	a.tb.Helper()
	limit := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(a.Screen(), words) {
		if time.Now().After(limit) {
			a.tb.Fatalf("%q does not come on the screen:\n%s", words, a.Screen())
		}
		<-tick.C
	}
}

// waitOther waits until the screen is another than before.
func (a *Agent) waitOther(before string) {
	a.tb.Helper()
	limit := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for a.Screen() == before {
		if time.Now().After(limit) {
			a.tb.Fatalf("the screen stays as it is:\n%s", before)
		}
		<-tick.C
	}
}

// waitLine waits until the input line is as it should be, its white space squeezed.
func (a *Agent) waitLine(what string, is func(line string) bool) {
	a.tb.Helper()
	limit := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got, shown := "", false
		a.post(func() {
			got, shown = a.driver.(agentcli.Lined).InputLine(a.screen.Text())
			got = strings.Join(strings.Fields(got), " ")
		})
		if shown && is(got) {
			return
		}
		if time.Now().After(limit) {
			a.tb.Fatalf("the input line is %q (%v), and not %s:\n%s", got, shown, what, a.Screen())
		}
		<-tick.C
	}
}

// clearLine types what empties the input line.
func (a *Agent) clearLine() {
	var steps []agentcli.Step
	a.post(func() { steps = a.driver.(agentcli.Lined).ClearLine() })
	a.Type(steps)
}

// Screen returns the visible screen.
func (a *Agent) Screen() string {
	return strings.Join(a.rows(), "\n")
}

func (a *Agent) rows() (rows []string) {
	a.post(func() { rows = a.screen.Text() })
	return rows
}

// History describes all signals, for messages of failed tests.
func (a *Agent) History() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for _, s := range a.seen {
		fmt.Fprintf(&b, "%s %-10s %-6s text=%.80q choice=%q url=%.60q interrupted=%v\n",
			s.At.Format("15:04:05.000"), s.Kind, s.Source, s.Text, s.Choice, s.URL, s.Interrupted)
	}
	return b.String()
}
