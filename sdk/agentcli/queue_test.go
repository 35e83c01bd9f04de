package agentcli_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// ready spawns one fake agent and waits for it.
func ready(t testing.TB, c *fakeCLI, change func(*agentcli.Options)) (*rig, *fakeType) {
	t.Helper()
	g, f := fake(t, c, change)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	return g, f
}

func TestMessageIsSentOnceConfirmed(t *testing.T) {
	c := &fakeCLI{}
	g, _ := ready(t, c, nil)
	res, err := g.Send(t.Context(), "a", runtime.Input{Message: "one\ntwo"})
	if err != nil || !res.Sent || res.Response != nil {
		t.Fatalf("send: %+v, %v", res, err)
	}
	if got := g.ask("a", "three"); got.Text != "ANSWER[three]" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
	if got := c.messages(); !slices.Equal(got, []string{"one\ntwo", "three"}) {
		t.Errorf("messages %q", got)
	}
	log := g.logs("a", runtime.LogOptions{})
	for _, want := range []string{"input one\ninput two\n", "output ANSWER[three]\n", "event turn_complete turn 2"} {
		if !strings.Contains(log, want) {
			t.Errorf("log without %q:\n%s", want, log)
		}
	}
	m, err := g.Metrics(t.Context(), "a")
	if err != nil || m.MessagesSent != 2 || m.MemoryBytes != 1<<20 || m.CPUPercent <= 0 {
		t.Errorf("metrics %+v, %v", m, err)
	}
}

// A message that is longer than its CLI takes is refused before anything is typed, and the next one follows.
func TestTooLongForTheCLI(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	g, f := fake(t, c, nil)
	f.longest = 10
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "01234567890", ID: "one"})
	if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeInvalidArgument || e.Field != "message" || !strings.Contains(e.Message, "at most 10 bytes") {
		t.Errorf("refused with %v", err)
	}
	if got := g.ask("a", "0123456789").Text; got != "ANSWER[0123456789]" {
		t.Errorf("answer %q", got)
	}
	if got := c.messages(); !slices.Equal(got, []string{"0123456789"}) {
		t.Errorf("messages %q", got)
	}
}

func TestLostEnterIsRepeated(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 1}
	g, f := ready(t, c, nil)
	f.confirm = true
	if got := g.ask("a", "hello").Text; got != "ANSWER[hello]" {
		t.Errorf("answer %q", got)
	}
	if got := c.messages(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}

// TestUnreadIsNotRepeated has a CLI stand still while it is typed to: what it has not read is neither confirmed nor typed again, and it
// takes it once when it goes on.
func TestUnreadIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	g, f := ready(t, c, nil)
	f.confirm = true
	frozen := make(chan struct{})
	c.mu.Lock()
	c.frozen = frozen
	c.mu.Unlock()
	answer := g.begin("a", "hello")
	wait(t, "a look at it", func() bool {
		return strings.Contains(g.logs("a", runtime.LogOptions{}), "is not read yet")
	})
	p := g.l.process()
	p.mu.Lock()
	if n := strings.Count(string(p.written), "\r"); n != 1 {
		t.Errorf("Enter was typed %d times: %q", n, p.written)
	}
	p.mu.Unlock()
	close(frozen)
	if got := answer(); got.Text != "ANSWER[hello]" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := c.messages(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("messages %q", got)
	}
}

func TestNotDelivered(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 2}
	g, f := ready(t, c, nil)
	f.confirm = true
	// Its caller has no time for a second try.
	res, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1", Timeout: 9 * time.Second})
	if code(err) != runtime.CodeNotDelivered || res.Sent {
		t.Fatalf("send: %+v, %v", res, err)
	}
	f.mu.Lock()
	if !slices.Equal(f.forgot, []string{"hello"}) { // before its caller was answered
		t.Errorf("the driver is to forget %q", f.forgot)
	}
	f.mu.Unlock()
	// Sending again is safe, with the same id too.
	if res, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"}); err != nil || !res.Sent {
		t.Fatalf("send: %+v, %v", res, err)
	}
	if got := c.messages(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("messages %q", got)
	}
	if got := types(g.events("a")); !strings.Contains(got, "ready error busy") {
		t.Errorf("events %s", got)
	}
}

// A message that was not taken is taken out of the line once its caller was answered so: a person who presses Enter does not send it.
func TestNotDeliveredIsNotLeft(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 2, draws: true}
	g, f := ready(t, c, nil)
	f.confirm = true
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", Timeout: 9 * time.Second}); code(err) != runtime.CodeNotDelivered {
		t.Fatalf("send: %v", err)
	}
	wait(t, "the line to be empty", func() bool {
		return strings.Contains(g.logs("a", runtime.LogOptions{}), "is taken out of the input line")
	})
	if _, err := g.Send(t.Context(), "a", runtime.Input{Raw: "\r"}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "after it", ExpectResponse: true}); err != nil {
		t.Fatal(err)
	}
	if got := c.messages(); !slices.Equal(got, []string{"after it"}) {
		t.Errorf("messages %q", got)
	}
}

// TestDialogAfterTyping has something stand on the screen where the composer would be, after a message was typed and before it
// was taken, as when gemini draws a long session: no turn of it has begun, and it is submitted once that is gone.
func TestDialogAfterTyping(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 1}
	g, f := ready(t, c, nil)
	f.confirm = true
	p := g.l.process()
	shown := agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceScreen, Prompt: &runtime.Prompt{ID: "p1", Kind: runtime.PromptQuestion, Text: "drawing"}}
	answer := g.begin("a", "hello")
	wait(t, "the message to be typed", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "hello\x1b[201~\r")
	})
	p.signal(shown)
	g.status("a", runtime.StatusBlocked)
	p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceScreen, Prompt: shown.Prompt})
	if got := answer(); got.Text != "ANSWER[hello]" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := c.messages(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("messages %q", got)
	}
	if got := types(g.events("a")); !strings.Contains(got, "question unblocked ready busy") {
		t.Errorf("events %s", got)
	}
}

// A dialog that stays may have taken the message: nothing is typed again, and its caller hears that it is not known.
func TestDialogTakesTheMessage(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 100}
	g, f := ready(t, c, nil)
	f.confirm = true
	p := g.l.process()
	prompt := &runtime.Prompt{ID: "p1", Kind: runtime.PromptQuestion, Text: "a menu"}
	typed := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Count(string(p.written), "hello\x1b[201~\r")
	}
	sent := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1", Timeout: time.Minute})
		sent <- err
	}()
	wait(t, "the message to be typed", func() bool { return typed() > 0 })
	p.signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceScreen, Prompt: prompt})
	wait(t, "a look at it", func() bool {
		return strings.Contains(g.logs("a", runtime.LogOptions{}), "a dialog stands in its way")
	})
	p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceScreen, Prompt: prompt})
	err := <-sent
	wantCode(t, err, runtime.CodeDeliveryUnknown)
	if typed() != 1 {
		t.Errorf("it was typed %d times", typed())
	}
}

// TestTypedAgain has a CLI that drops what it is given for a while, as one does that reads a long session after a restart:
// the message is typed again, before those that came after it, and its caller hears of nothing.
func TestTypedAgain(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 4}
	g, f := ready(t, c, nil)
	f.confirm = true
	first := make(chan *runtime.Response, 1)
	go func() {
		res, err := g.Send(t.Context(), "a", runtime.Input{Message: "first", ID: "i1", ExpectResponse: true})
		if err != nil {
			t.Error(err)
		}
		first <- res.Response
	}()
	wait(t, "the first to be typed", func() bool {
		p := g.l.process()
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "first")
	})
	if got := g.ask("a", "second"); got.Text != "ANSWER[second]" || got.Turn != 2 {
		t.Errorf("the second: %+v", got)
	}
	if got := <-first; got == nil || got.Text != "ANSWER[first]" || got.Turn != 1 {
		t.Errorf("the first: %+v", got)
	}
	if got := c.messages(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("messages %q", got)
	}
	if got := types(g.events("a")); strings.Contains(got, "error") {
		t.Errorf("events %s", got)
	}
}

// TestTakenAfterAll has a CLI take a message when it was given up already and waits to be typed again.
func TestTakenAfterAll(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 100}
	g, f := ready(t, c, nil)
	f.confirm = true
	p := g.l.process()
	answer := g.begin("a", "hello")
	wait(t, "the message to be given up", func() bool {
		return strings.Contains(g.logs("a", runtime.LogOptions{}), "a message was typed and not taken")
	})
	answered(p, "hello")
	if got := answer(); got.Text != "ANSWER[hello]" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := c.messages(); len(got) != 0 {
		t.Errorf("it was typed again: %q", got)
	}
}

func TestUncertainDelivery(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 1}
	g, _ := ready(t, c, nil) // the driver cannot confirm
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
	wantCode(t, err, runtime.CodeDeliveryUnknown)
	_, err = g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
	wantCode(t, err, runtime.CodeDeliveryUnknown)
}

// A message that waits behind the turn of somebody else has time to be taken once that is over.
func TestTimeBehindAnotherTurn(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 100}
	g, f := ready(t, c, nil)
	f.confirm = true
	p := g.l.process()
	answer := g.begin("a", "hello")
	wait(t, "the message to be typed", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "hello\x1b[201~\r")
	})
	p.signal(agentcli.Signal{Kind: took, Text: "a person's"})
	// What the agent takes for it, and until it takes the next message.
	time.AfterFunc(5*time.Second, func() { p.signal(agentcli.Signal{Kind: turnEnd, Text: "the person's"}) })
	time.AfterFunc(8*time.Second, func() { answered(p, "hello") })
	if got := answer(); got.Text != "ANSWER[hello]" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
}

func TestMessagesWaitWhileBusy(t *testing.T) {
	c := &fakeCLI{}
	release := make(chan struct{})
	c.turn = func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		<-release
		p.signal(agentcli.Signal{Kind: turnEnd, Text: "ANSWER[" + msg + "]"})
	}
	g, _ := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "first"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBusy)
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "late", Timeout: 20 * time.Millisecond})
	wantCode(t, err, runtime.CodeTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Send(ctx, "a", runtime.Input{Message: "gone"})
	wantCode(t, err, runtime.CodeTimeout)
	done := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Message: "second"})
		done <- err
	}()
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := c.messages(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("messages %q", got)
	}
}

func TestLongTurn(t *testing.T) {
	c := &fakeCLI{turn: func(p *process, msg string) { p.signal(agentcli.Signal{Kind: took, Text: msg}) }}
	g, _ := ready(t, c, nil)
	res, err := g.Send(t.Context(), "a", runtime.Input{Message: "m", ExpectResponse: true, Timeout: 300 * time.Millisecond})
	if code(err) != runtime.CodeTimeout || !res.Sent {
		t.Errorf("send: %+v, %v", res, err)
	}
}

func TestBlockedAndAnswer(t *testing.T) {
	c := &fakeCLI{}
	c.turn = func(p *process, msg string) {
		if strings.HasPrefix(msg, "answer ") {
			p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Choice: strings.Fields(msg)[2]})
			p.signal(agentcli.Signal{Kind: turnEnd, Text: "done"})
			return
		}
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		p.signal(agentcli.Signal{Kind: blocked, Prompt: approval("p1")})
	}
	g, _ := ready(t, c, nil)
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{Choice: "allow"}), runtime.CodeNoPrompt)
	answer := make(chan *runtime.Response, 1)
	go func() {
		res, _ := g.Send(t.Context(), "a", runtime.Input{Message: "run", ExpectResponse: true})
		answer <- res.Response
	}()
	g.status("a", runtime.StatusBlocked)
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "other"})
	wantCode(t, err, runtime.CodeBlocked)
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{PromptID: "p0", Choice: "allow"}), runtime.CodeNoPrompt)
	unknown := g.Answer(t.Context(), "a", runtime.Answer{Choice: "maybe"})
	wantCode(t, unknown, runtime.CodeInvalidArgument)
	if hint := runtime.AsError(unknown).Hint; strings.Count(hint, `"allow"`) != 1 || strings.Count(hint, `"deny"`) != 1 || !strings.Contains(hint, `"always"`) {
		t.Errorf("the hint is %s", hint)
	}
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{}), runtime.CodeInvalidArgument)
	if err := g.Answer(t.Context(), "a", runtime.Answer{PromptID: "p1", Choice: "always"}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got == nil || got.Text != "done" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{silent: true}
	c.turn = func(p *process, msg string) {
		p.print("code taken\r\n")
		p.kind(idle)
	}
	g, _ := fake(t, c, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	p := g.l.process()
	p.signal(agentcli.Signal{Kind: agentcli.SignalLogin})
	a := g.status("a", runtime.StatusError)
	if a.Reason != runtime.ReasonLoginRequired {
		t.Errorf("agent %+v", a)
	}
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello"})
	wantCode(t, err, runtime.CodeAuthRequired)
	p.signal(agentcli.Signal{Kind: agentcli.SignalLogin, URL: "https://login.example/x"})
	wait(t, "url", func() bool { return g.status("a", runtime.StatusError).LoginURL != "" })
	for _, work := range []runtime.Input{
		{Message: "continue"}, {Message: "reconsider!"}, {Message: "go2"}, {Message: "fix the parser"}, {Message: "fix\nit"}, {Message: "go", ExpectResponse: true}, {Message: strings.Repeat("x", 5<<10)},
	} {
		_, err := g.Send(t.Context(), "a", work) // sent by somebody who did not know of the login
		wantCode(t, err, runtime.CodeAuthRequired)
	}
	if res, err := g.Send(t.Context(), "a", runtime.Input{Message: "code-123"}); err != nil || !res.Sent {
		t.Errorf("send: %+v, %v", res, err)
	}
	g.status("a", runtime.StatusReady)
	if got := c.messages(); !slices.Equal(got, []string{"code-123"}) {
		t.Errorf("messages %q", got)
	}
	if got := types(g.events("a")); got != "started login_required login_required ready" {
		t.Errorf("events %s", got)
	}
}

// A screen that shows ever other addresses of logins does not grow what is kept of its session.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	g, _ := fake(t, &fakeCLI{silent: true}, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	for i := range 100 {
		g.l.process().signal(agentcli.Signal{Kind: agentcli.SignalLogin, URL: fmt.Sprint("https://login.example/", i)})
	}
	wait(t, "the last address", func() bool { return g.status("a", runtime.StatusError).LoginURL == "https://login.example/99" })
	if n, err := g.Logins(t.Context(), "a"); err != nil || n > 16 {
		t.Errorf("%d addresses are kept, %v", n, err)
	}
}

// An answer to a login is what the login has shown, whatever it looks like, once an address is known: before, it would be
// typed where messages are.
func TestLoginIsAnswered(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{silent: true}
	c.turn = func(p *process, msg string) { p.kind(idle) }
	g, _ := fake(t, c, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.l.process().signal(agentcli.Signal{Kind: agentcli.SignalLogin})
	g.status("a", runtime.StatusError)
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{Text: "word"}), runtime.CodeAuthRequired)
	g.l.process().signal(agentcli.Signal{Kind: agentcli.SignalLogin, URL: "https://login.example/x"})
	wait(t, "url", func() bool { return g.status("a", runtime.StatusError).LoginURL != "" })
	for _, wrong := range []runtime.Answer{
		{Choice: "allow"}, {Text: " "}, {Text: "two words"}, {Text: strings.Repeat("x", 5<<10)}, {},
	} {
		wantCode(t, g.Answer(t.Context(), "a", wrong), runtime.CodeInvalidArgument)
	}
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{PromptID: "p1", Text: "secret"}), runtime.CodeNoPrompt)
	if err := g.Answer(t.Context(), "a", runtime.Answer{PromptID: runtime.PromptLogin, Text: " word "}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusReady)
	if got := c.messages(); !slices.Equal(got, []string{"word"}) {
		t.Errorf("typed %q", got)
	}
	wantCode(t, g.Answer(t.Context(), "a", runtime.Answer{Text: "word"}), runtime.CodeNoPrompt)
}

func TestBadInput(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	for name, in := range map[string]runtime.Input{
		"None": {}, "Two": {Message: "a", Raw: "b"}, "Blank": {Message: " \n"}, "NotUTF8": {Message: "\xff"}, "Keys": {Keys: []string{"NOPE"}},
		"KeysOnly": {Message: "\x1b\x03 "}, "ExpectRaw": {Raw: "x", ExpectResponse: true}, "Timeout": {Message: "x", Timeout: -1}, "Large": {Message: strings.Repeat("x", 2<<20)},
	} {
		if _, err := g.Send(t.Context(), "a", in); code(err) != runtime.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := g.Send(t.Context(), "a", runtime.Input{Keys: []string{"ENTER", "NOPE"}})
	if e := runtime.AsError(err); e.Field != "keys[1]" || !strings.HasPrefix(e.Message, `"NOPE" is not a key`) {
		t.Errorf("the error names %s: %s", e.Field, e.Message)
	}
	_, err = g.Send(t.Context(), "nobody", runtime.Input{Message: "x"})
	wantCode(t, err, runtime.CodeNotFound)
	if res, err := g.Send(t.Context(), "a", runtime.Input{Keys: []string{"h", "i", "ENTER"}}); err != nil || !res.Sent {
		t.Errorf("keys: %v", err)
	}
	wait(t, "answer", func() bool { return g.status("a", runtime.StatusReady).Turn == 1 })
}

func TestRepeatedID(t *testing.T) {
	c := &fakeCLI{}
	g, _ := ready(t, c, nil)
	in := runtime.Input{Message: "hello", ID: "i1", ExpectResponse: true}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if res, err := g.Send(t.Context(), "a", in); err != nil || res.Response == nil || res.Response.Text != "ANSWER[hello]" {
				t.Errorf("send: %+v, %v", res, err)
			}
		})
	}
	group.Wait()
	_, err := g.Send(t.Context(), "a", runtime.Input{Message: "other", ID: "i1"})
	wantCode(t, err, runtime.CodeInvalidArgument)
	g = g.again()
	g.status("a", runtime.StatusReady)
	if res, err := g.Send(t.Context(), "a", in); err != nil || res.Response == nil || res.Response.Text != "ANSWER[hello]" {
		t.Errorf("after a restart: %+v, %v", res, err)
	}
	if got := c.messages(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{silent: true}
	g, _ := fake(t, c, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	var group sync.WaitGroup
	results := make(chan error, 100)
	for i := range 70 {
		group.Go(func() {
			_, err := g.Send(t.Context(), "a", runtime.Input{Message: fmt.Sprint(i), Timeout: 2 * time.Second})
			results <- err
		})
	}
	group.Wait()
	close(results)
	count := map[runtime.Code]int{}
	for err := range results {
		count[code(err)]++
	}
	if count[runtime.CodeResourceLimit] != 6 || count[runtime.CodeTimeout] != 64 {
		t.Errorf("results %v", count)
	}
	if got := c.messages(); len(got) != 0 {
		t.Errorf("messages %q", got)
	}
}

// TestEveryMessageOnce has many senders, a person who types and leaves text behind, and windows that change
// their size: each message arrives whole, once, and in order of its sender.
func TestEveryMessageOnce(t *testing.T) {
	const senders, each = 8, 12
	c := &fakeCLI{}
	g, f := ready(t, c, func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond })
	f.confirm = true
	v := g.attach("a", runtime.AttachOptions{Cols: 100, Rows: 30})
	var readers, noise, group sync.WaitGroup
	readers.Go(func() { v.drain() })
	stop := make(chan struct{})
	noise.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond):
			}
			_ = v.Input([]byte("xyz"[:1+rand.IntN(3)]))
			_ = v.Resize(50+rand.IntN(100), 20+rand.IntN(40))
		}
	})
	for s := range senders {
		group.Go(func() {
			for i := range each {
				text := fmt.Sprintf("sender %d message %d", s, i)
				expect := i%3 == 0
				res, err := g.Send(t.Context(), "a", runtime.Input{Message: text, ExpectResponse: expect})
				if err != nil || !res.Sent || expect && res.Response.Text != "ANSWER["+text+"]" {
					t.Errorf("%s: %+v, %v", text, res, err)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	noise.Wait()
	_ = v.Close()
	readers.Wait()
	next := map[int]int{}
	for _, m := range c.messages() {
		var s, i int
		if n, _ := fmt.Sscanf(m, "sender %d message %d", &s, &i); n != 2 || m != fmt.Sprintf("sender %d message %d", s, i) {
			t.Errorf("message %q", m)
			continue
		}
		if next[s] != i {
			t.Errorf("sender %d: message %d came when %d was due", s, i, next[s])
		}
		next[s] = i + 1
	}
	for s := range senders {
		if next[s] != each {
			t.Errorf("sender %d: %d messages", s, next[s])
		}
	}
}
