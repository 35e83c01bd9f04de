package codex_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// startedOutside starts a codex, and returns a folder that its sandbox shuts out.
func startedOutside(t *testing.T) (a *drivertest.Agent, outside string) {
	t.Helper()
	drivertest.CLI(t, "codex")
	t.Parallel()
	a = started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	return a, filepath.Dir(a.Room.Home)
}

// What was allowed for good is not asked about again.
func TestRealAlways(t *testing.T) {
	a, outside := startedOutside(t)
	message := "ESCALATE USE_TOOL[touch " + filepath.Join(outside, "made") + "] please"
	a.Send(message)
	a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{Choice: "allow_always"})
	if s := a.Wait(agentcli.SignalUnblocked); s.Choice != "allow_always" {
		t.Errorf("the choice is %q", s.Choice)
	}
	for range 2 {
		if end := a.Turn(); end.Error != nil || end.Refused || a.Count(agentcli.SignalBlocked) != 1 {
			t.Fatalf("turn ended with %+v\n%s", end.Signal, a.History())
		}
		a.Send(message)
	}
	if _, err := os.Stat(filepath.Join(outside, "made")); err != nil {
		t.Error(err)
	}
}

// An approval that only the screen shows can be given for longer where its dialog offers that.
func TestRealServerAlways(t *testing.T) {
	a := startedWithServer(t)
	a.Send("CALL[mcp__own__change {}] now")
	a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{Choice: "allow_always"})
	a.Turn()
	a.Send("CALL[mcp__own__change {}] again")
	if end := a.Turn(); !strings.Contains(end.Text, "changed") || a.Count(agentcli.SignalBlocked) != 1 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A dialog whose terminal changes its size is the same, though it may have lost the end of its list.
func TestRealDialogResized(t *testing.T) {
	a, outside := startedOutside(t)
	resize := func() {
		for _, size := range [][2]int{{50, 30}, {30, 20}, {120, 40}} {
			a.Resize(size[0], size[1])
			a.Type([]agentcli.Step{{Wait: time.Second}}) // twice as long as what is drawn has to stand
		}
	}
	a.Send("ESCALATE USE_TOOL[touch " + filepath.Join(outside, "made") + "] please")
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen("1. ")
	resize()
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
	if end := a.Turn(); end.Error != nil || a.Count(agentcli.SignalBlocked) != 1 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Keys("/model")
	a.WaitScreen("choose what model")
	a.Keys("\r")
	p := a.Wait(agentcli.SignalBlocked).Prompt
	resize()
	a.MustAnswer(runtime.Answer{Choice: p.Options[1].ID})
	if a.Wait(agentcli.SignalUnblocked); a.Count(agentcli.SignalUnblocked) != 2 {
		t.Errorf("it was unblocked without an answer\n%s", a.History())
	}
}

// helpersAsk has two helpers ask for an approval, one behind the other, while the turn goes on.
func helpersAsk(a *drivertest.Agent, outside string) {
	spawn := func(name string) string {
		return `CALL[spawn_agent {"message":"ESCALATE USE_TOOL[touch ` + filepath.Join(outside, name) + `]","task_name":"` + name + `","fork_turns":"none"}] `
	}
	a.Send(spawn("one") + spawn("two") + "SLOW[100] please")
	for a.Count(agentcli.SignalTool) < 4 { // to start them, and theirs
		a.Wait(agentcli.SignalTool)
	}
	a.WaitScreen("slow1 ")
	a.WaitScreen("1. ")
}

// An interrupt refuses what helpers ask one behind the other, too: none of them waits for ever.
func TestRealHelpersInterrupted(t *testing.T) {
	a, outside := startedOutside(t)
	helpersAsk(a, outside)
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Send("SAY[well]")
	if end := a.Turn(); end.Text != "well" || strings.Contains(a.Screen(), "Approval needed") {
		t.Errorf("turn ended with %+v\n%s\n%s", end.Signal, a.History(), a.Screen())
	}
}

// threeAsk has three helpers ask in the same moment, while the turn goes on, each for a file made-*.
func threeAsk(t *testing.T) (a *drivertest.Agent, made func() []string) {
	t.Helper()
	drivertest.CLI(t, "codex")
	t.Parallel()
	model := drivertest.StartModel(t)
	a = started(t, codex.New(), modelEnv(model.URL))
	outside, spawns := filepath.Dir(a.Room.Home), ""
	for _, name := range []string{"one", "two", "three"} {
		spawns += `CALL[spawn_agent {"message":"HOLD[all] ESCALATE USE_TOOL[touch ` + filepath.Join(outside, "made-"+name) + `]","task_name":"` + name + `","fork_turns":"none"}] `
	}
	a.Send(spawns + "SLOW[60] please")
	a.WaitScreen("slow1 ")
	resp, err := http.Post(model.URL+"/_fake/release?name=all", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return a, func() []string {
		found, err := filepath.Glob(filepath.Join(outside, "made-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// Of several helpers that ask in the same moment an answer allows what its prompt is about, and nothing else.
func TestRealHelpersAskAtOnce(t *testing.T) {
	a, made := threeAsk(t)
	choice, allowed := runtime.ChoiceAllow, ""
	for range 3 {
		p := a.Wait(agentcli.SignalBlocked).Prompt
		if choice == runtime.ChoiceAllow {
			command, _ := p.Input["command"].(string)
			allowed = strings.TrimPrefix(command, "touch ")
		}
		a.MustAnswer(runtime.Answer{Choice: choice})
		if s := a.Wait(agentcli.SignalUnblocked); s.Choice != choice || s.Prompt.ID != p.ID {
			t.Fatalf("unblocked of %+v by %q\n%s", s.Prompt, s.Choice, a.History())
		}
		choice = runtime.ChoiceDeny
	}
	for len(made()) == 0 {
		a.Wait(agentcli.SignalToolDone)
	}
	a.Interrupt()
	a.Turn()
	if got := made(); !slices.Equal(got, []string{allowed}) {
		t.Errorf("allowed was %q, and it made %q\n%s", allowed, got, a.History())
	}
}

// What helpers ask in the moment of an interrupt keeps the turn from no end: it is refused, or asked when the turn is over.
func TestRealHelpersAskInterrupted(t *testing.T) {
	a, made := threeAsk(t)
	for a.Count(agentcli.SignalTool) < 3+3 { // to start them, and theirs
		a.Wait(agentcli.SignalTool)
	}
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || len(made()) > 0 {
		t.Errorf("turn ended with %+v, made %q\n%s", end.Signal, made(), a.History())
	}
}

// The refusal of what one helper asks leaves what the next one asks to be answered.
func TestRealHelperRefused(t *testing.T) {
	a, outside := startedOutside(t)
	helpersAsk(a, outside)
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceDeny})
	if s := a.Wait(agentcli.SignalUnblocked); s.Choice != runtime.ChoiceDeny {
		t.Errorf("the choice is %q", s.Choice)
	}
	p := a.Wait(agentcli.SignalBlocked).Prompt
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
	if s := a.Wait(agentcli.SignalUnblocked); s.Choice != runtime.ChoiceAllow || s.Prompt.ID != p.ID {
		t.Errorf("unblocked of %+v by %q", s.Prompt, s.Choice)
	}
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A message is typed into no dialog that comes in front of the composer meanwhile, and follows when that is gone.
func TestRealMessageMeetsDialog(t *testing.T) {
	a := startedWithServer(t)
	a.Send(`CALL[spawn_agent {"message":"HANG[2] CALL[mcp__own__colour {}]","task_name":"helper","fork_turns":"none"}] please`)
	a.Turn()
	a.SubmitBehind("SAY[alone]", func() { a.WaitScreen("Which colour?") })
	a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{Choice: "blue"})
	a.Wait(agentcli.SignalBlocked)
	if strings.Contains(a.Screen(), "alone") {
		t.Errorf("the message is in a form:\n%s", a.Screen())
	}
	a.MustAnswer(runtime.Answer{Text: "dark"})
	a.Wait(agentcli.SignalUnblocked)
	a.Confirm()
	if end := a.Turn(); end.Text != "alone" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A message that is the name of a picture is a message, and no picture.
func TestRealPictureName(t *testing.T) {
	a, _ := startedOutside(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(a.Room.Workdir, "look.png")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"look.png", file, "file://" + file, "'" + file + "'"} {
		a.Submit(message)
		if took := a.Wait(agentcli.SignalTook); took.Text != message {
			t.Errorf("%q was taken as %q", message, took.Text)
		}
		if end := a.Turn(); strings.TrimSpace(end.Text) != "ANSWER["+message+"]" {
			t.Errorf("%q was answered by %q", message, end.Text)
		}
	}
}

// What a model stopped for what was in its answer, it would stop again.
func TestRealFiltered(t *testing.T) {
	t.Parallel()
	a := startScripted(t, map[string][]http.HandlerFunc{"filtered": slices.Repeat([]http.HandlerFunc{says(created, item(message("half of an")),
		event{"type": "response.incomplete", "response": event{"id": "resp_1", "incomplete_details": event{"reason": "content_filter"}}})}, 10)})
	a.Send("PLAY[filtered] please")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelError || end.Error.Retryable || end.Text != "" {
		t.Errorf("turn ended with %+v, error %+v", end.Signal, end.Error)
	}
}
