package drivertest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
	"github.com/wardroom/wardroom/sdk/wire"
)

// failures are what the model can be made to do instead of an answer, and what the turn has to come to. A CLI may not
// tell a connection that broke off from one that was never made, so a cut has two names.
var failures = []struct {
	name, message string
	codes         []string
	retryable     bool
}{
	{"400", "FAIL[400] now", []string{wire.TurnModelError}, false},
	{"429", "FAIL[429] now", []string{wire.TurnModelRateLimited}, true},
	{"500", "FAIL[500] now", []string{wire.TurnModelUnavailable}, true},
	{"529", "FAIL[529] now", []string{wire.TurnModelUnavailable}, true},
	{"Cut", "CUT[12] this answer", []string{wire.TurnModelCut, wire.TurnModelUnavailable}, true},
	{"CutAtOnce", "CUT[0] this answer", []string{wire.TurnModelCut, wire.TurnModelUnavailable}, true},
}

// outcomeLimit bounds the tests of outcomes: CLIs repeat failed requests for minutes.
const outcomeLimit = 15 * time.Minute

// RunOutcomes runs what a turn can come to below the real session, as a caller of a runtime sees it: a failed turn has a
// code and no text, a refused or interrupted one says so, and the turn after each of them has its own answer.
func (s Suite) RunOutcomes(t *testing.T) {
	CLI(t, s.New().Type())
	t.Parallel()
	model := StartModel(t)
	env := s.Env(model.URL)
	parallel(t, "Failures", func(t *testing.T) { s.failures(t, env) })
	parallel(t, "Login", func(t *testing.T) { s.loginInTurn(t, env) })
	parallel(t, "Empty", func(t *testing.T) { s.empty(t, env) })
	parallel(t, "Retried", func(t *testing.T) { s.retried(t, env) })
	parallel(t, "Refusals", func(t *testing.T) { s.refusals(t, env) })
	parallel(t, "Interrupts", func(t *testing.T) { s.interrupts(t, env) })
	parallel(t, "Streams", func(t *testing.T) { s.streams(t, env) })
	parallel(t, "Loop", func(t *testing.T) { s.loop(t, env) })
	parallel(t, "Moved", func(t *testing.T) { s.moved(t, env) })
}

// turn sends a message and returns what its turn came to, and its event.
func (r *rig) turn(message string) (runtime.Response, runtime.Event) {
	r.t.Helper()
	answer := r.begin(message)
	response := answer()
	return response, r.wait(runtime.EventTurnComplete)
}

// begin sends a message; the function returned waits for its turn.
func (r *rig) begin(message string) func() runtime.Response {
	type answer struct {
		result runtime.SendResult
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := r.rt.Send(r.ctx, "one", runtime.Input{Message: message, ExpectResponse: true, Timeout: outcomeLimit})
		if err != nil {
			_ = r.events.Close() // who waits for an event of the turn waits in vain
		}
		answers <- answer{result, err}
	}()
	return func() runtime.Response {
		r.t.Helper()
		got := <-answers
		if got.err != nil || got.result.Response == nil {
			r.t.Fatalf("%.60q: %+v, %v", message, got.result, got.err)
		}
		return *got.result.Response
	}
}

// own sends a message that is answered as usual: by its own answer, and by nothing of the turn before.
func (r *rig) own(message string) {
	r.t.Helper()
	response, event := r.turn(message)
	want := "ANSWER[" + message + "]"
	if response.Text != want || event.Text != want || !plain(response.TurnOutcome) || !plain(event.TurnOutcome) {
		r.t.Errorf("%q was answered by %s; its event has %q, %s", message, shown(response), event.Text, outcome(event.TurnOutcome))
	}
}

func plain(o runtime.TurnOutcome) bool { return !o.Interrupted && !o.Refused && o.Error == nil }

func shown(r runtime.Response) string {
	return fmt.Sprintf("turn %d %.200q %s", r.Turn, r.Text, outcome(r.TurnOutcome))
}

func outcome(o runtime.TurnOutcome) string {
	text := fmt.Sprintf("interrupted=%v refused=%v", o.Interrupted, o.Refused)
	if o.Error != nil {
		text += fmt.Sprintf(" error=%+v", *o.Error)
	}
	return text
}

// checkFailed checks a turn that failed, for its caller and in its event.
func (r *rig) checkFailed(response runtime.Response, event runtime.Event, codes []string, retryable bool) {
	r.t.Helper()
	for what, got := range map[string]runtime.Response{
		"the response": response,
		"the event":    {Text: event.Text, Turn: event.Turn, TurnOutcome: event.TurnOutcome},
	} {
		switch {
		case got.Error == nil || !slices.Contains(codes, got.Error.Code) || got.Error.Retryable != retryable || got.Error.Message == "":
			r.t.Errorf("%s: %s; want one of %v, retryable %v", what, shown(got), codes, retryable)
		case got.Text != "":
			r.t.Errorf("%s of a failed turn has a text: %s", what, shown(got))
		}
	}
}

func (s Suite) failures(t *testing.T, env map[string]string) {
	r := s.openImpatient(t, env)
	r.own("before all")
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			r.t = t
			begun := time.Now()
			response, event := r.turn(f.message)
			t.Logf("%s after %v", shown(response), time.Since(begun).Round(time.Millisecond))
			r.checkFailed(response, event, f.codes, f.retryable)
			r.own("after " + f.name)
		})
	}
}

// loginInTurn has the provider refuse the credential within a turn.
func (s Suite) loginInTurn(t *testing.T, env map[string]string) {
	for _, status := range []int{401, 403} {
		parallel(t, fmt.Sprint(status), func(t *testing.T) {
			r := s.openImpatient(t, env)
			r.own("before")
			response, event := r.turn(fmt.Sprintf("FAIL[%d] now", status))
			r.checkFailed(response, event, []string{wire.TurnLoginRequired}, false)
			r.wait(runtime.EventLoginRequired)
			a, err := r.rt.Inspect(r.ctx, "one")
			if err != nil || a.Status != runtime.StatusError || a.Reason != runtime.ReasonLoginRequired {
				t.Errorf("%s (%s), %v", a.Status, a.Reason, err)
			}
		})
	}
}

// retried has the model fail once: the CLI's own retry brings the answer, and the turn is like any other.
func (s Suite) retried(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	r.own("FAIL[529] TIMES[1] once")
	r.own("after a retry")
}

// empty has the model say nothing: that is no answer, and least of all the one of the turn before. A CLI may ask the model once
// more by itself.
func (s Suite) empty(t *testing.T, env map[string]string) {
	r := s.openImpatient(t, env)
	r.own("before nothing")
	response, event := r.turn("SAY[]")
	if response.Text != event.Text || strings.Contains(response.Text, "before nothing") || response.Text == "" && (response.Error == nil || event.Error == nil) {
		t.Errorf("nothing was said, and it came to %s; its event has %q, %s", shown(response), event.Text, outcome(event.TurnOutcome))
	}
	r.own("after nothing")
}

// refusals refuses approvals, with and without a reason.
func (s Suite) refusals(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	for _, reason := range []string{"", "not on a Friday"} {
		before := fmt.Sprintf("before a refusal for %q", reason)
		r.own(before)
		file := filepath.Join(r.work, "refused")
		answer := r.begin(s.Tool(file))
		blocked := r.wait(runtime.EventBlocked)
		if err := r.rt.Answer(r.ctx, "one", runtime.Answer{PromptID: blocked.Prompt.ID, Choice: runtime.ChoiceDeny, Text: reason}); err != nil {
			t.Fatal(err)
		}
		response, event := answer(), r.wait(runtime.EventTurnComplete)
		for what, got := range map[string]runtime.Response{
			"the response": response, "the event": {Text: event.Text, Turn: event.Turn, TurnOutcome: event.TurnOutcome},
		} {
			if !got.Refused || got.Error != nil || strings.Contains(got.Text, before) {
				t.Errorf("%s of a refusal for %q: %s", what, reason, shown(got))
			}
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("what was refused was done")
		}
		r.own(fmt.Sprintf("after a refusal for %q", reason))
	}
}

// interrupts stops turns over the API: one that answers, one whose tool runs, one that waits for an approval.
func (s Suite) interrupts(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	for _, step := range []struct {
		name, message string
		until         runtime.EventType
	}{
		{"answer", "SLOW[60] please", runtime.EventBusy},
		{"approval", s.Tool(filepath.Join(r.work, "interrupted")), runtime.EventBlocked},
	} {
		before := "before an interrupted " + step.name
		r.own(before)
		answer := r.begin(step.message)
		r.wait(step.until)
		r.screen(step.name)
		if _, err := r.rt.Send(r.ctx, "one", runtime.Input{Interrupt: true}); err != nil {
			t.Fatal(err)
		}
		response, event := answer(), r.wait(runtime.EventTurnComplete)
		if !response.Interrupted || !event.Interrupted || response.Error != nil || strings.Contains(response.Text, before) {
			t.Errorf("%s: %s; its event has %q, %s", step.name, shown(response), event.Text, outcome(event.TurnOutcome))
		}
		r.own("after an interrupted " + step.name)
	}
	putBack(r)
	if _, err := r.rt.Send(r.ctx, "one", runtime.Input{Interrupt: true}); runtime.ErrorCode(err) != runtime.CodeNotRunning {
		t.Errorf("an interrupt of nothing: %v", err)
	}
}

// putBack stops a turn in which the model says nothing, whose message claude puts back into its line: what a person types then is
// a message of its own, and not a part of the one before.
func putBack(r *rig) {
	r.t.Helper()
	answer := r.begin("HANG[60] please")
	r.wait(runtime.EventBusy)
	r.shows("one", "esc to ") // interrupt, or cancel
	if _, err := r.rt.Send(r.ctx, "one", runtime.Input{Interrupt: true}); err != nil {
		r.t.Fatal(err)
	}
	if response := answer(); !response.Interrupted || response.Text != "" {
		r.t.Errorf("an interrupted silence came to %s", shown(response))
	}
	r.wait(runtime.EventReady)
	<-time.After(5 * draftPause) // who interrupts a turn looks what became of it before they type
	for _, keys := range []string{"typed by hand", "\r"} {
		if _, err := r.rt.Send(r.ctx, "one", runtime.Input{Raw: keys}); err != nil {
			r.t.Fatal(err)
		}
		if keys != "\r" {
			r.shows("one", keys)
			<-time.After(draftPause) // gemini takes an Enter right behind text for a part of a paste
		}
	}
	if event := r.wait(runtime.EventTurnComplete); event.Text != "ANSWER[typed by hand]" {
		r.t.Errorf("what a person typed after an interrupt came to %q", event.Text)
	}
}

// screen waits until the terminal shows that the answer has begun, or that the dialog stands.
func (r *rig) screen(what string) {
	r.t.Helper()
	r.shows("one", map[string]string{"answer": "slow2", "approval": "1. "}[what])
}

// shows waits until an agent's terminal shows words.
func (r *rig) shows(id, want string) {
	r.t.Helper()
	terminal, err := r.rt.Attach(r.ctx, id, runtime.AttachOptions{ReadOnly: true})
	if err != nil {
		r.t.Fatal(err)
	}
	defer terminal.Close()
	watchdog := time.AfterFunc(patience, func() { _ = terminal.Close() })
	defer watchdog.Stop()
	screen := vt.New(vt.Options{Cols: 120, Rows: 40})
	for !strings.Contains(strings.Join(screen.Text(), "\n"), want) {
		f, err := terminal.Recv()
		if err != nil {
			r.t.Fatalf("%q does not come on the screen: %v\n%s", want, err, strings.Join(screen.Text(), "\n"))
		}
		screen.Write(f.Data)
	}
}

// streams has answers that come in their own time: the whole text is on the turn, and what the agent says as it comes is
// told in order, never twice.
func (s Suite) streams(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	for message, want := range map[string]string{
		"STALL[6] in the middle": "ANSWER[STALL[6] in the middle]",
		"LONG[400] please":       "ANSWER[LONG[400] please]\n" + counted("line %05d of the long answer\n", 400),
		"SLOW[6] please":         "ANSWER[SLOW[6] please]" + counted(" slow%d", 24),
	} {
		answer := r.begin(message)
		var pieces strings.Builder
		event := runtime.Event{}
		for event.Type != runtime.EventTurnComplete {
			var err error
			if event, err = r.events.Next(); err != nil {
				answer() // tells why, if the message failed
				t.Fatal(err)
			}
			if event.Type == runtime.EventMessage {
				pieces.WriteString(event.Text)
			}
		}
		response := answer()
		if squeezed(response.Text) != squeezed(want) || !plain(response.TurnOutcome) {
			t.Errorf("%q was answered by %s", message, shown(response))
		}
		if got := squeezed(pieces.String()); got != "" && got != squeezed(want) {
			t.Errorf("%q was told in pieces as %.300q", message, got)
		}
	}
}

// squeezed is a text without white space: CLIs fill paragraphs anew.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// loop has an answer that one of the CLIs takes for a loop, and asks about.
func (s Suite) loop(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	answer := r.begin("LOOP[300] please")
	event := runtime.Event{}
	for event.Type != runtime.EventTurnComplete {
		var err error
		if event, err = r.events.Next(); err != nil {
			answer() // tells why, if the message failed
			t.Fatal(err)
		}
		if p := event.Prompt; p != nil && (event.Type == runtime.EventBlocked || event.Type == runtime.EventQuestion) {
			if len(p.Options) < 2 {
				t.Fatalf("a dialog with the options %+v: %s", p.Options, p.Text)
			}
			if err := r.rt.Answer(r.ctx, "one", runtime.Answer{PromptID: p.ID, Choice: p.Options[0].ID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if response := answer(); response.Text == "" && plain(response.TurnOutcome) {
		t.Errorf("the turn ended with nothing: %s", shown(response))
	}
	r.own("after a loop")
}

// moved has an agent end, and another one, which has a home of its own, go on with its session: it shows the conversation,
// and the session keeps its id.
func (s Suite) moved(t *testing.T, env map[string]string) {
	r := s.open(t, env, outcomeLimit)
	r.own("remember the number 4711")
	first, err := r.rt.Inspect(r.ctx, "one")
	if err != nil || first.SessionID == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := r.rt.Stop(r.ctx, "one", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	second, err := r.rt.Spawn(r.ctx, runtime.Spec{ID: "two", Type: s.New().Type(), Env: env, Workdir: first.Workdir, Resume: first.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.rt.Stop(context.Background(), "two", runtime.StopOptions{Force: true}) })
	for second.Status != runtime.StatusReady {
		e, err := r.events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.AgentID != "two" {
			continue
		}
		if second = e.Agent; second.Status == runtime.StatusStopped {
			t.Fatalf("it ended: %s", second.Reason)
		}
	}
	r.shows("two", "ANSWER[remember the number 4711]")
	result, err := r.rt.Send(r.ctx, "two", runtime.Input{Message: "after all", ExpectResponse: true, Timeout: outcomeLimit})
	if err != nil || result.Response == nil || result.Response.Text != "ANSWER[after all]" {
		t.Fatalf("it was answered by %+v, %v", result.Response, err)
	}
	if second, err = r.rt.Inspect(r.ctx, "two"); err != nil || second.SessionID != first.SessionID {
		t.Errorf("the session is %q, was %q, %v", second.SessionID, first.SessionID, err)
	}
}

func merged(env, more map[string]string) map[string]string {
	all := maps.Clone(env)
	maps.Copy(all, more)
	return all
}
