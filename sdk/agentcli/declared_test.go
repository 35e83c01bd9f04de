package agentcli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestWithoutAPattern drives programs that print no prompt: quiet tells that they wait.
func TestWithoutAPattern(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		idle := runtime.Duration(200 * time.Millisecond)
		o.Types["cat"] = runtime.DeclaredType{Command: "cat", Idle: idle}
		o.Types["upper"] = runtime.DeclaredType{
			Command: "bash", Idle: idle,
			Args: []string{"-c", `stty -echo; while read -r line; do echo "${line^^}"; sleep 0.05; echo "-- $TONE"; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "c", Type: "cat"})
	g.status("c", runtime.StatusReady)
	if got := g.ask("c", "hello world").Text; got != "hello world" {
		t.Errorf("answer %q", got)
	}
	g.spawn(runtime.Spec{ID: "u", Type: "upper", Env: map[string]string{"TONE": "loud"}})
	g.status("u", runtime.StatusReady)
	for _, text := range []string{"one", "two"} {
		if got := g.ask("u", text).Text; got != strings.ToUpper(text)+"\n-- loud" {
			t.Errorf("answer %q", got)
		}
	}
	// The end-of-input key ends both.
	for _, id := range []string{"c", "u"} {
		if err := g.Stop(t.Context(), id, runtime.StopOptions{}); err != nil {
			t.Fatal(err)
		}
		if a := g.status(id, runtime.StatusStopped); a.Reason != runtime.ReasonStopped || *a.ExitCode != 0 {
			t.Errorf("agent %+v", a)
		}
	}
}

// A program without a prompt that computes is not one that waits, however quiet it is; one that never rests is not waited
// for for ever.
func TestQuietIsNotRest(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		for name, loop := range map[string]string{
			"slow": `echo -n "count "; for ((i = 0; i < 100000; i++)); do :; done; echo "for ${line^^}"`,
			"spin": `echo begun; while :; do :; done`,
		} {
			idle := 100 * time.Millisecond
			if name == "spin" {
				idle /= 5 // it takes many times that
			}
			o.Types[name] = runtime.DeclaredType{
				Command: "bash", Idle: runtime.Duration(idle),
				Args: []string{"-c", "stty -echo; while read -r line; do " + loop + "; done"},
			}
		}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "slow"})
	g.status("s", runtime.StatusReady)
	for _, text := range []string{"one", "two"} {
		if got := g.ask("s", text).Text; got != "count for "+strings.ToUpper(text) {
			t.Errorf("answer %q", got)
		}
	}
	g.spawn(runtime.Spec{ID: "p", Type: "spin"})
	g.status("p", runtime.StatusReady)
	if got := g.ask("p", "go").Text; got != "begun" {
		t.Errorf("answer %q", got)
	}
}

func TestDeclaredInTheSpec(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.spawn(runtime.Spec{ID: "p", Type: "mine", Declared: &runtime.DeclaredType{
		Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "> "}, Ready: runtime.ReadyRule{Pattern: `^> ?$`},
	}})
	g.status("p", runtime.StatusReady)
	// A turn lasts as long as the command runs, however quiet that is.
	res := g.ask("p", "sleep 0.5; echo slept")
	if res.Text != "slept" || res.DurationMs < 400 {
		t.Errorf("answer %+v", res)
	}
	if got := g.ask("p", "clear; echo after").Text; !strings.Contains(got, "after") {
		t.Errorf("answer %q", got)
	}
	// What a person left on the line does not get into a message.
	v := g.attach("p", runtime.AttachOptions{})
	if err := v.Input([]byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	v.untilText("rubbish")
	if got := g.ask("p", "echo clean").Text; got != "clean" {
		t.Errorf("answer %q", got)
	}
	// Not even when it takes several lines, of which only the first is there after it was cleared.
	if err := v.Input([]byte(strings.Repeat("long ", 60) + "end")); err != nil {
		t.Fatal(err)
	}
	v.untilText("long end")
	if got := g.ask("p", "echo as clean; : "+strings.Repeat("wide ", 40)).Text; got != "as clean" {
		t.Errorf("answer %q", got)
	}
	g = g.again()
	if got := g.ask("p", "echo back").Text; got != "back" {
		t.Errorf("answer %q", got)
	}
}

// TestDraftBeforeTheFirstTurn leaves text on the line of programs that had no turn yet, as a crash between a message and
// its Enter does.
func TestDraftBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.HumanHold = 5 * time.Millisecond
		o.Types["prompts"] = runtime.DeclaredType{
			Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "> "}, Ready: runtime.ReadyRule{Pattern: `^> ?$`},
		}
		o.Types["cat"] = runtime.DeclaredType{Command: "cat", Idle: runtime.Duration(200 * time.Millisecond)}
	})
	for id, kind := range map[string]string{"p": "prompts", "c": "cat"} {
		g.spawn(runtime.Spec{ID: id, Type: kind})
		g.status(id, runtime.StatusReady)
		v := g.attach(id, runtime.AttachOptions{})
		if err := v.Input([]byte("rubbish")); err != nil {
			t.Fatal(err)
		}
		v.untilText("rubbish")
	}
	again := g.crash()
	for id, question := range map[string]string{"p": "echo clean", "c": "clean"} {
		again.status(id, runtime.StatusReady)
		if got := again.ask(id, question).Text; got != "clean" {
			t.Errorf("%s: answer %q", id, got)
		}
	}
}

// TestMessageWithKeys has messages with control characters, as output has them that somebody sends along: to a command that knows
// no paste they would be keys, of which one interrupts it and another ends its input.
func TestMessageWithKeys(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["cat"] = runtime.DeclaredType{Command: "cat", Idle: runtime.Duration(200 * time.Millisecond)}
	})
	g.spawn(runtime.Spec{ID: "c", Type: "cat"})
	g.status("c", runtime.StatusReady)
	for _, text := range []string{"one\x04two\x03three", "\x1b[31mred\x1b[m\x1c", "again"} {
		want := strings.NewReplacer("\x03", "", "\x04", "", "\x1b", "", "\x1c", "").Replace(text)
		if got := g.ask("c", text).Text; got != want {
			t.Errorf("%q: answer %q, want %q", text, got, want)
		}
	}
}

// TestTypedAndRunBeforeACrash has a message that was submitted when the runtime died, before it knew: a repeat is the
// same message, with its turn.
func TestTypedAndRunBeforeACrash(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["prompts"] = runtime.DeclaredType{
			Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "> "}, Ready: runtime.ReadyRule{Pattern: `^> ?$`},
		}
	})
	g.spawn(runtime.Spec{ID: "p", Type: "prompts"})
	g.status("p", runtime.StatusReady)
	in := runtime.Input{ID: "in-1", Message: "n=$((n + 1)); echo ran $n", ExpectResponse: true}
	if res, err := g.Send(t.Context(), "p", in); err != nil || res.Response == nil || res.Response.Text != "ran 1" {
		t.Fatalf("%+v, %v", res, err)
	}
	next := g.crash(func(dir string) {
		path := filepath.Join(dir, "agents", "p", "inputs.jsonl")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if err := os.WriteFile(path, []byte(first+"\n"), 0o600); err != nil || !strings.Contains(first, "typing") {
			t.Fatalf("%s: %v", first, err)
		}
	})
	next.status("p", runtime.StatusReady)
	if res, err := next.Send(t.Context(), "p", in); err != nil || res.Response == nil || res.Response.Text != "ran 1" {
		t.Errorf("the repeat: %+v, %v", res, err)
	}
	if got := next.ask("p", "echo $n").Text; got != "1" {
		t.Errorf("it ran %s times", got)
	}
}

func TestSilentProgram(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["mute"] = runtime.DeclaredType{Command: "bash", Args: []string{"-c", "stty -echo; cat > /dev/null"}}
	})
	g.spawn(runtime.Spec{ID: "m", Type: "mute"})
	g.status("m", runtime.StatusReady)
	_, err := g.Send(t.Context(), "m", runtime.Input{Message: "hello"})
	wantCode(t, err, runtime.CodeDeliveryUnknown)
}

// TestSlowProgram shows no sign of a message for longer than one that can be submitted again is given.
func TestSlowProgram(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["slow"] = runtime.DeclaredType{
			Command: "bash", Idle: runtime.Duration(200 * time.Millisecond), Args: []string{"-c", `stty -echo; while read -r line; do sleep 2; echo "${line^^}"; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "slow"})
	g.status("s", runtime.StatusReady)
	if got := g.ask("s", "hello").Text; got != "HELLO" {
		t.Errorf("answer %q", got)
	}
}

// TestSlowEcho takes its time between the first sign that it read a message and the echo, as a slow way does: the prompt that
// the message was typed behind is not the one that ends its turn.
func TestSlowEcho(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["slow"] = runtime.DeclaredType{
			Command: "bash", Ready: runtime.ReadyRule{Pattern: `> ?$`}, Args: []string{"-c",
				`stty -echo; printf '> '; while read -r line; do printf '\r'; sleep .3; printf '> %s\n%s\n> ' "$line" "${line^^}"; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "slow"})
	g.status("s", runtime.StatusReady)
	for _, message := range []string{"hello", "once more"} {
		if got := g.ask("s", message).Text; got != strings.ToUpper(message) {
			t.Errorf("answer %q", got)
		}
	}
}

// TestSamePlace draws its prompt at the same place after each message, without a word of it.
func TestSamePlace(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["same"] = runtime.DeclaredType{
			Command: "bash", Idle: runtime.Duration(200 * time.Millisecond), Ready: runtime.ReadyRule{Pattern: `> ?$`}, Args: []string{"-c",
				`stty -echo; printf '> '; while read -r line; do printf '\033[H\033[2J> '; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "same"})
	g.status("s", runtime.StatusReady)
	for range 2 {
		if got := g.ask("s", "hello"); got.Text != "" || got.Error != nil {
			t.Errorf("%+v", got)
		}
	}
}
