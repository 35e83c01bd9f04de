package gemini_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// A dialog whose place cannot be read, or stands in another way, takes the place of the one before all the same, and is not allowed by
// an answer to that.
func TestToolsAtOncePlaces(t *testing.T) {
	for name, places := range map[string][2]string{"Cut": {"…1 of 2", "…2 of 2"}, "None": {"", ""}, "Later": {"", "2 of 2"}, "Once": {"1 of 2", ""}} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("go")
			r.announces("touch a", "mkdir b")
			r.title(asks)
			r.shows(shell("touch a", places[0]))
			r.Pass(3 * time.Second)
			r.want("took[go] session[s-0] tool tool blocked[x: touch a]")
			steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
			if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
				t.Fatalf("%v, typed %q", err, keys)
			}
			r.Screen = shell("mkdir b", places[1]) // before the driver looks
			late := drivertest.Keystrokes(steps, r.Screen...)
			r.Pass(4 * time.Second)
			if keys := r.Keystrokes(); keys+late != "" {
				t.Errorf("the next dialog was answered by %q, %q", keys, late)
			}
			r.shows(r.Screen)
			r.Pass(time.Second)
			r.want("unblocked[allow] blocked[x: mkdir b]")
		})
	}
}

// A tool that is called twice is asked about twice, and no key of the first answer goes into the second dialog.
func TestToolTwice(t *testing.T) {
	for name, places := range map[string][2]string{"Places": {"1 of 2", "2 of 2"}, "None": {"", ""}} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("go")
			r.announces("touch a", "touch a")
			r.title(asks)
			r.shows(shell("touch a", places[0]))
			r.Pass(3 * time.Second)
			r.want("took[go] session[s-0] tool tool blocked[x: touch a]")
			steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
			if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
				t.Fatalf("%v, typed %q", err, keys)
			}
			r.shows(shell("touch a", places[1]))
			r.Pass(30 * time.Second)
			if keys := r.Keystrokes(); keys != "" {
				t.Errorf("the next dialog was answered by %q", keys)
			}
			r.want("unblocked[allow] blocked[x: touch a]")
			steps, err = r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
			if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
				t.Errorf("%v, typed %q", err, keys)
			}
		})
	}
}

// One dialog stays one, whatever its size makes of it.
func TestToolsAtOnceResized(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.announces("touch a", "mkdir b")
	r.title(asks)
	for _, place := range []string{"1 of 2", "", "…1 of 2", "1 of 2"} {
		r.shows(shell("touch a", place))
		r.Pass(3 * time.Second)
	}
	r.want("took[go] session[s-0] tool tool blocked[x: touch a]")
	steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
	if keys := drivertest.Keystrokes(steps, shell("touch a", "")...); err != nil || keys != "1" {
		t.Errorf("%v, typed %q", err, keys)
	}
}

// An answer is not typed into a dialog that took the place of its own before the driver looked, wherever the place stands.
func TestToolInFrontPlaces(t *testing.T) {
	for name, place := range map[string]string{"Cut": "…2 of 2", "None": ""} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("go")
			r.announces("touch a", "mkdir b")
			r.title(asks)
			r.shows(shell("touch a", ""))
			r.Pass(3 * time.Second)
			r.Screen = shell("mkdir b", place)
			steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
			if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "" {
				t.Errorf("%v, typed %q", err, keys)
			}
		})
	}
}

// What a command does, or its words, may take all of the first line of its dialog, and the terminal get another size meanwhile.
func TestRealToolsAtOnceLong(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ words, cols, rows int }{
		"wide": {9, 80, 40}, "wide-described": {60, 80, 40}, "narrow": {9, 40, 60}, "narrow-described": {60, 40, 60},
	}
	replies := map[string][]reply{}
	for name, tt := range cases {
		touch := func(file string) string {
			command := "touch " + strings.Repeat("a-file b-file ", tt.words/2) + file
			return call(t, "run_shell_command", map[string]any{"command": command, "description": strings.Repeat("makes files ", tt.words)})
		}
		replies[name] = []reply{{chunk("STOP", touch(name+"-one"), touch(name+"-two"))}}
	}
	a := startScripted(t, replies)
	there := func(name string) bool { _, err := os.Stat(filepath.Join(a.Room.Workdir, name)); return err == nil }
	for name, tt := range cases {
		a.Resize(tt.cols, tt.rows)
		a.Send("PLAY[" + name + "] please")
		for allowed := ""; strings.Count(allowed, name) < 2; {
			a.Wait(agentcli.SignalBlocked)
			a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
			u := a.Wait(agentcli.SignalUnblocked)
			command, _ := u.Prompt.Input["command"].(string)
			file := command[strings.LastIndex(command, " ")+1:]
			if u.Choice == "" {
				continue // the dialog of one that comes before was drawn in its place
			}
			if !strings.HasPrefix(file, name) || strings.Contains(allowed, file) {
				t.Fatalf("%s: behind %q %+v was allowed\n%s", name, allowed, u.Prompt, a.Screen())
			}
			allowed += file + " "
		}
		if end := a.Turn(); end.Error != nil || end.Interrupted || !there(name+"-one") || !there(name+"-two") {
			t.Errorf("%s: the turn ended with %+v", name, end.Signal)
		}
	}
}
