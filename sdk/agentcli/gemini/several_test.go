package gemini_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// announces has gemini announce commands.
func (r *rig) announces(commands ...string) {
	r.t.Helper()
	for _, command := range commands {
		r.hook("BeforeTool", map[string]any{"tool_name": "x", "tool_input": map[string]any{"command": command}})
	}
}

// script is the dialog of a command of which only some rows are shown.
func script(cut string, rows ...string) []string {
	d := shell("runs", "1 of 2")
	if cut != "" {
		rows = append([]string{cut}, rows...)
	}
	for i := range rows {
		rows[i] = "│ │ " + rows[i] + " │ │"
	}
	return slices.Concat(d[:3], rows, d[4:])
}

// A dialog that does not show all of a command is not about another one that stands in what it shows.
func TestCutDialog(t *testing.T) {
	const cut = "... first 36 lines hidden (Ctrl+O to show) ..."
	whole := strings.TrimSuffix(strings.Repeat("touch "+strings.Repeat("y", 60)+"\n", 40), "\n")
	for name, tt := range map[string]struct {
		tools []string
		shows []string
		want  string // what the prompt begins with
	}{
		"First":   {[]string{"touch evil\ntouch z\ntouch y", "touch y"}, script(cut, "touch z", "touch y"), "x: touch evil"},
		"Last":    {[]string{"touch z\ntouch y\ntouch evil", "touch y"}, script("", "touch z", "touch y", "... last 3 lines hidden ..."), "x: touch z"},
		"Several": {[]string{"touch evil\ntouch y", "touch good\ntouch y"}, script(cut, "touch y"), "? Shell  runs"},
		"Nothing": {[]string{"touch evil", "touch y"}, script(cut), "? Shell  runs"},
		"Other":   {[]string{"touch evil", "touch y"}, script(cut, "touch z", "touch y"), "? Shell  runs"},
		"Clipped": {[]string{whole, "touch y"}, script("", strings.Split(whole, "\n")...), "? Shell  runs"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("go")
			r.announces(tt.tools...)
			r.title(asks)
			r.shows(tt.shows)
			r.Pass(time.Second)
			if p := r.Prompt(); p == nil || !strings.HasPrefix(p.Text, tt.want) {
				t.Errorf("prompt %+v", p)
			}
		})
	}
}

// A file that is to hold the words of a command is not the command, and the other way round.
func TestFileWithWordsOfCommand(t *testing.T) {
	for _, header := range []string{"? WriteFile", "? Shell"} {
		r := readyRig(t)
		r.takes("go")
		r.announces("touch /srv/a.txt", "touch b")
		r.hook("BeforeTool", map[string]any{"tool_name": "write_file", "tool_input": map[string]any{"file_path": "/srv/a.txt", "content": "touch /srv/a.txt"}})
		r.title(asks)
		d := shell("touch /srv/a.txt", "1 of 3")
		for i := range d {
			d[i] = strings.Replace(d[i], "? Shell", header, 1)
		}
		r.shows(d)
		r.Pass(time.Second)
		want := map[string]string{"? WriteFile": "write_file: ", "? Shell": "x: touch /srv/a.txt"}[header]
		if p := r.Prompt(); p == nil || !strings.HasPrefix(p.Text, want) {
			t.Errorf("%s: prompt %+v", header, p)
		}
	}
}

// A runtime that ends while it waits for the screen to show which of several tools is asked about goes on with that.
func TestSavedWhileAsking(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.announces("mkdir b", "touch a")
	r.title(asks)
	r.shows(shell("touch a", "1 of 2"))
	r.Pass(100 * time.Millisecond)
	for _, drawn := range []bool{true, false} {
		back := newRig(t)
		back.driver.Load(r.driver.Save())
		if drawn {
			back.shows(shell("touch a", "1 of 2"))
			back.Pass(time.Second)
			back.want("blocked[x: touch a]")
			continue
		}
		back.Pass(time.Minute)
		back.want("blocked[The agent asks for an approval: see its terminal.]")
	}
}

// What a driver saved that kept only the tool that was announced last is read.
func TestSavedByEarlierDriver(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.announces("touch a")
	var saved map[string]json.RawMessage
	if err := json.Unmarshal(r.driver.Save(), &saved); err != nil {
		t.Fatal(err)
	}
	saved["tool"] = saved["tools"][1 : len(saved["tools"])-1]
	delete(saved, "tools")
	b, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	back := newRig(t)
	back.driver.Load(b)
	back.title(asks)
	back.want("blocked[x: touch a]")
}

// A tool that runs without asking holds the dialog of the one behind it up for a moment only.
func TestOneOfTwoAsks(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.announces("sleep 2", "touch y")
	r.hook("Notification", map[string]any{"notification_type": "ToolPermission", "details": map[string]any{"type": "exec", "command": "touch y"}})
	r.title(asks)
	r.shows(shell("touch y", "2 of 2"))
	r.Pass(3 * time.Second)
	r.want("took[go] session[s-0] tool tool blocked[x: touch y]")
}

// The keys of an answer whose dialog closes meanwhile are not typed into the line of messages.
func TestKeysEndWithDialog(t *testing.T) {
	dialog := []string{"╭────╮", "│ Which? │", "│ ● 1. red │", "│   2. blue │", "│   3. Enter a custom value │", "╰────╯"}
	for _, keys := range []int{0, 1} { // that are typed before it closes
		r := readyRig(t)
		r.asksFor("ask_user", map[string]any{"questions": []any{map[string]any{
			"question": "Which?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}},
		}}})
		r.title(asks)
		r.shows(dialog)
		steps, err := r.driver.Answer(r.shown, runtime.Answer{Text: "green"})
		if err != nil {
			t.Fatal(err)
		}
		if keys > 0 {
			drivertest.Keystrokes(steps[:2], dialog...)
			steps = steps[2:]
		}
		if typed := drivertest.Keystrokes(steps, ready...); typed != "" {
			t.Errorf("typed %q", typed)
		}
	}
}
