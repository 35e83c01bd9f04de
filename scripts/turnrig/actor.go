package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Limits of what an actor waits for, on a machine that is kept busy.
const (
	turnLimit  = 15 * time.Minute
	readyLimit = 8 * time.Minute
	hangLimit  = 90 * time.Second // after which a turn of the kinds at which gemini may hang is interrupted
	lookEvery  = 100 * time.Millisecond
)

// environment returns the environment of a command line. Its own retries are bounded where they can be.
func environment(tool, url string) map[string]string {
	env := fakemodel.Env(tool, url)
	if tool == "claude" {
		env["CLAUDE_CODE_MAX_RETRIES"] = "2"
	}
	return env
}

// actor gives one agent its turns, one after the other.
type actor struct {
	rig    *rig
	tool   string
	number int
	random *rand.Rand
	model  *fakemodel.Server

	id, workdir string
	turns       []*turn

	mu     sync.Mutex // guards what the faults use
	now    *turn      // the one that runs
	kills  int        // of the command line and its holder
	mended int        // kills after which it was restarted
	fresh  bool       // the next restart begins a new session
}

func (a *actor) name() string { return fmt.Sprintf("%s-%d", a.tool, a.number) }

// start spawns the agent and waits for its prompt.
func (a *actor) start(ctx context.Context) error {
	m, err := a.rig.server.Client.SpawnManagedAgent(ctx, client.ManagedAgentSpec{
		Type: a.tool, Name: a.name(), Env: environment(a.tool, a.model.URL()), IdempotencyKey: client.NewIdempotencyKey(),
	})
	if err != nil {
		return fmt.Errorf("%s: spawn: %w", a.name(), err)
	}
	a.id, a.workdir = m.ID, m.Workdir
	if err := a.ready(ctx); err != nil || a.tool != "gemini" {
		return err
	}
	// What an operator can set as well: one more attempt instead of nine.
	dir := filepath.Join(a.workdir, ".gemini")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(`{"general": {"maxAttempts": 2}}`), 0o600); err != nil {
		return err
	}
	a.mu.Lock()
	a.kills++ // it reads them when it starts
	a.mu.Unlock()
	return a.restart(ctx)
}

// ready waits until the agent waits for a message.
func (a *actor) ready(ctx context.Context) error {
	_, err := a.await(ctx, "ready", readyLimit, func(m *client.ManagedAgent) bool { return m.Status == client.ManagedReady })
	return err
}

// await waits until the agent is as cond wants it. What the server cannot say while it is away is asked again.
func (a *actor) await(ctx context.Context, what string, limit time.Duration, cond func(*client.ManagedAgent) bool) (*client.ManagedAgent, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "never seen"
	for {
		m, err := a.rig.server.Client.GetManagedAgent(ctx, a.id)
		switch {
		case err == nil && cond(m):
			return m, nil
		case err == nil:
			last = string(m.Status) + " " + m.StatusReason
		}
		if testbed.Pause(ctx, lookEvery) != nil {
			return nil, fmt.Errorf("%s: it is not %s after %s; it is %s", a.name(), what, limit, last)
		}
	}
}

// run gives turns until there are enough, and returns the first thing that keeps it from going on.
func (a *actor) run(ctx context.Context, turns int) error {
	for i := range turns {
		if ctx.Err() != nil || a.rig.over() {
			return nil
		}
		t := a.next(i)
		a.turns = append(a.turns, t)
		a.set(t)
		if every := a.rig.options.freshEvery; every > 0 && i > 0 && i%every == 0 {
			a.renew()
		}
		err := a.restart(ctx) // it may have been killed between turns
		if err == nil {
			err = a.play(ctx, t)
		}
		a.set(nil)
		if t.script.spent && a.tool == "gemini" {
			a.renew()
		}
		a.rig.count(a, t)
		if err == nil {
			err = a.mend(ctx, t)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (a *actor) next(i int) *turn {
	s := choose(a.tool, a.rig.options.kinds, a.random)
	t := &turn{script: s, name: fmt.Sprintf("turn-%s-%d-%06d", a.tool, a.number, i), began: time.Now()}
	t.file = filepath.Join(a.workdir, t.name)
	t.text = message(t.name, s.text(a.tool, t.file, a.random))
	return t
}

func (a *actor) set(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = t
}

// play runs a turn and judges it. An error means that the agent cannot go on.
func (a *actor) play(ctx context.Context, t *turn) error {
	if t.script.act == typedBefore {
		t.typed = fmt.Sprintf("typed before %s", t.name)
		if err := a.typeIn(ctx, t.typed+"\r"); err != nil {
			return err
		}
	}
	if t.script.act == draftBefore {
		if err := a.typeIn(ctx, fmt.Sprintf("a draft before %s ", t.name)); err != nil {
			return err
		}
	}
	done := make(chan error, 1)
	var response *wire.TurnResponse
	go func() {
		var err error
		response, err = a.send(ctx, t)
		done <- err
	}()
	acting, stop := context.WithCancel(ctx)
	defer stop()
	acted := make(chan error, 1)
	go func() { acted <- a.act(acting, t) }()
	err := <-done
	stop()
	if actErr := <-acted; actErr != nil && !a.struck(t) && acting.Err() == nil {
		t.fail("%v", actErr)
	}
	switch struck := a.struck(t); {
	case ctx.Err() != nil:
		t.unknown, t.cut = true, true
		return nil
	case err != nil && (struck || a.jolted(t) && runtimeCode(err) == "DELIVERY_UNKNOWN"):
		t.unknown = true // judged by what arrived: at most once
	case err != nil:
		t.fail("%v", err)
	case response == nil:
		t.fail("it was sent, and there is no response")
	default:
		t.number, t.answer = response.Turn, response.Text
		if wrong := t.judge(response, struck); wrong != "" {
			t.fail("%s", wrong)
		}
	}
	return nil
}

// jolted reports whether the core or the plugin was killed while the turn ran.
func (a *actor) jolted(t *turn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.jolted
}

// runtimeCode returns the code of the runtime behind an error of the API, else the API's own.
func runtimeCode(err error) string {
	var e *client.Error
	if !errors.As(err, &e) {
		return ""
	}
	if code, _ := e.Details["runtimeCode"].(string); code != "" {
		return code
	}
	return e.Code
}

func (a *actor) struck(t *turn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.struck
}

// send gives the agent the message, again with the same key until its outcome is known.
func (a *actor) send(ctx context.Context, t *turn) (*wire.TurnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	in := client.ManagedAgentInput{
		Message: t.text, ExpectResponse: true, Timeout: turnLimit - 10*time.Second, IdempotencyKey: client.NewIdempotencyKey(),
	}
	unknown := 0
	for {
		reply, err := a.rig.server.Client.SendManagedAgent(ctx, a.id, in)
		if err == nil {
			return reply.Response, nil
		}
		var e *client.Error
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("no outcome within %s: %w", turnLimit, err)
		case !errors.As(err, &e) || e.Status >= 500: // away; the same key gives the same turn
		case runtimeCode(err) == "DELIVERY_UNKNOWN" && unknown < 50: // it is found out once the runtime is back
			unknown++
		default:
			return nil, err
		}
		if testbed.Pause(ctx, lookEvery) != nil {
			return nil, err
		}
	}
}

func (a *actor) isDown() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kills != a.mended
}

// act does what the script wants of people while the turn runs.
func (a *actor) act(ctx context.Context, t *turn) error {
	switch t.script.act {
	case allow:
		return a.answer(ctx, t, client.ManagedAgentAnswer{Choice: "allow"})
	case refuse:
		return a.answer(ctx, t, client.ManagedAgentAnswer{Choice: "deny"})
	case refuseSay:
		return a.answer(ctx, t, client.ManagedAgentAnswer{Choice: "deny", Text: t.name + " not on a Friday"})
	case keepLooping, giveUp:
		return a.whatIsAsked(ctx, t)
	case reply:
		return a.answer(ctx, t, client.ManagedAgentAnswer{Text: "alpha"})
	case interrupt:
		if _, err := a.model.Await(ctx, func(q fakemodel.Request) bool {
			return q.Kind == "text" && q.FirstNs != 0 && squeezed(q.User) == squeezed(t.text)
		}); err != nil {
			return fmt.Errorf("the model was never asked: %w", err)
		}
		return a.interrupt(ctx)
	}
	return nil
}

// answer waits for the prompt and answers it; an answer that met a core or plugin that was away is given again.
func (a *actor) answer(ctx context.Context, t *turn, with client.ManagedAgentAnswer) error {
	for {
		m, err := a.await(ctx, "asking", turnLimit, func(m *client.ManagedAgent) bool { return m.Prompt != nil })
		if err != nil {
			return err
		}
		with := with
		with.PromptID = m.Prompt.ID
		if with.Choice == "" { // one of the question's options by its label
			for _, o := range m.Prompt.Options {
				if o.Label == with.Text {
					with.Choice, with.Text = o.ID, ""
				}
			}
		}
		if _, err = a.rig.server.Client.AnswerManagedAgent(ctx, a.id, with); err == nil {
			return nil
		}
		if testbed.Pause(ctx, lookEvery) != nil {
			return err
		}
	}
}

// whatIsAsked answers dialogs of the command line's own for as long as the turn runs: where there are none, nothing happens.
func (a *actor) whatIsAsked(ctx context.Context, t *turn) error {
	for {
		limit := turnLimit
		if t.script.spent && a.tool == "gemini" {
			limit = hangLimit
		}
		m, err := a.await(ctx, "asking", limit, func(m *client.ManagedAgent) bool {
			return m.Prompt != nil && len(m.Prompt.Options) > 0
		})
		if err != nil && limit == hangLimit && ctx.Err() == nil {
			return a.interruptHung(ctx, t)
		}
		if err != nil {
			return nil //nolint:nilerr // it asked nothing, or no more
		}
		options := m.Prompt.Options
		choice := options[0].ID
		if t.script.act == giveUp {
			choice = options[len(options)-1].ID
		}
		// What is answered already, or met a plugin that was away, is seen at the next look.
		_, _ = a.rig.server.Client.AnswerManagedAgent(ctx, a.id, client.ManagedAgentAnswer{PromptID: m.Prompt.ID, Choice: choice})
		if testbed.Pause(ctx, lookEvery) != nil {
			return nil
		}
	}
}

// interruptHung does what a person does about gemini where it works for ever and asks nothing.
func (a *actor) interruptHung(ctx context.Context, t *turn) error {
	a.rig.say("%s: %s hangs and is interrupted", a.name(), t.name)
	t.hung = true
	return a.interrupt(ctx)
}

// interrupt interrupts the turn that runs.
func (a *actor) interrupt(ctx context.Context) error {
	for {
		_, err := a.rig.server.Client.SendManagedAgent(ctx, a.id, client.ManagedAgentInput{Interrupt: true})
		if err == nil || testbed.Pause(ctx, lookEvery) != nil {
			return err
		}
	}
}

// typeIn types what a person types.
func (a *actor) typeIn(ctx context.Context, raw string) error {
	in := client.ManagedAgentInput{Raw: raw, IdempotencyKey: client.NewIdempotencyKey()}
	for {
		_, err := a.rig.server.Client.SendManagedAgent(ctx, a.id, in)
		var e *client.Error
		if err == nil || errors.As(err, &e) && e.Status < 500 {
			return nil // one that cannot be typed to is judged by its message
		}
		if testbed.Pause(ctx, lookEvery) != nil {
			return err
		}
	}
}

// mend brings the agent to where it can take the next message.
func (a *actor) mend(ctx context.Context, t *turn) error {
	m, err := a.await(ctx, "at rest", readyLimit, func(m *client.ManagedAgent) bool {
		return m.Status == client.ManagedReady || m.Status == client.ManagedError || m.Status == client.ManagedStopped
	})
	if err != nil {
		return err
	}
	if m.Status == client.ManagedReady && !a.isDown() {
		return nil
	}
	if m.Status != client.ManagedReady && !a.isDown() && !t.script.login {
		t.fail("the agent ended up %s (%s) by itself", m.Status, m.StatusReason)
	}
	if m.Status != client.ManagedReady && !a.isDown() {
		a.mu.Lock()
		a.kills++ // it needs a restart all the same
		a.mu.Unlock()
	}
	return a.restart(ctx)
}

// killedSince reports whether the agent was killed after so many kills.
func (a *actor) killedSince(kills int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kills != kills
}

// renew has the next restart begin a new session.
func (a *actor) renew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kills++
	a.fresh = true
}

// restart starts the agent again as often as it was killed.
func (a *actor) restart(ctx context.Context) error {
	for a.isDown() {
		a.mu.Lock()
		kills, fresh := a.kills, a.fresh
		a.mu.Unlock()
		for {
			_, err := a.rig.server.Client.RestartManagedAgent(ctx, a.id, client.ManagedAgentRestart{Fresh: fresh})
			if err == nil {
				break
			}
			if testbed.Pause(ctx, time.Second) != nil {
				return fmt.Errorf("%s: restart: %w", a.name(), err)
			}
		}
		_, err := a.await(ctx, "ready", readyLimit, func(m *client.ManagedAgent) bool {
			return m.Status == client.ManagedReady ||
				a.killedSince(kills) && (m.Status == client.ManagedError || m.Status == client.ManagedStopped)
		})
		a.mu.Lock()
		struckAgain := a.kills != kills
		a.mended = kills
		if err == nil && !struckAgain {
			a.fresh = false
		}
		a.mu.Unlock()
		if err != nil && !struckAgain {
			return err
		}
	}
	return nil
}
