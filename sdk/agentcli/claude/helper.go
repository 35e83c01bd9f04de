package claude

import (
	"encoding/json"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/subagent"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// noteHelper notes that an agent that claude's own one started did something. Its transcript lies below the session's.
func (d *driver) noteHelper(p hook.Payload) {
	name := p.AgentFile
	if session, ok := strings.CutSuffix(p.Transcript, ".jsonl"); name == "" && ok && p.AgentID == path.Base(p.AgentID) {
		name = path.Join(session, "subagents", "agent-"+p.AgentID+".jsonl")
	}
	if p.AgentID != "" {
		d.state.Note(name)
	}
}

// helperOver takes away what a helper asked that is over: of a refusal by a key no hook tells.
func (d *driver) helperOver(agent string) {
	for i := len(d.state.Requests) - 1; i >= 0 && agent != ""; i-- {
		if d.state.Requests[i].Agent == agent {
			d.resolve(i, "")
		}
	}
}

// lookForHelper takes away the request of a helper whose dialog was there, and is not for a while: a person refused it, and the helper
// goes on. The dialog of another one may stand in its place.
func (d *driver) lookForHelper() {
	if len(d.state.Requests) == 0 || d.state.Requests[0].Agent == "" {
		return
	}
	r := &d.state.Requests[0]
	rows := d.host.Rows()
	stands := stands(rows)
	others := slices.ContainsFunc(d.state.Requests[1:], func(o request) bool { return o.likeness(rows) > 0 })
	switch {
	case stands && r.likeness(rows) > 0:
		r.stood, r.sure, r.gone = true, true, 0
	case stands && !others:
		r.stood, r.gone = true, 0 // perhaps: the hook of the one that stands may be late
	case others && r.sure, r.stood && composerDrawn(rows):
		r.gone++
	}
	if time.Duration(r.gone)*watchEvery > standGrace {
		d.resolve(0, "")
	}
}

// Titles of claude's dialogs, as they begin: that of a command, and those about a file.
const commandTitle = "Bash command"

var fileTitles = []string{"Create file", "Edit file", "Overwrite file", "Edit notebook"}

// likeness returns how much of what a request is about the dialog on the screen shows, in bytes: 0 where that is another's, or where it
// is not known.
func (r *request) likeness(rows []string) int {
	const most = 60 // of which a small screen shows all
	sections := dialog.Sections(rows)
	what := composer.Solid(strings.TrimPrefix(r.Prompt.Text, r.Prompt.Tool+": "))
	if what == "" || len(sections[0]) == 0 {
		return 0
	}
	words, title := composer.Solid(dialog.Read(rows).Text), sections[0][0]
	begins := func(with string) bool { return strings.HasPrefix(title, with) }
	contains := func(what string) int {
		if what = what[:min(len(what), most)]; !strings.Contains(words, what) {
			return 0
		}
		return len(what)
	}
	switch {
	case r.Form != nil:
		return contains(composer.Solid(r.Form.Message))
	case r.File != "" && !begins(commandTitle):
		for _, row := range sections[0][1:] {
			end, cut := strings.CutPrefix(row, "…")
			if row == r.File || cut && end != "" && strings.HasSuffix(r.File, end) {
				return len(end)
			}
		}
		return 0
	case r.Prompt.Tool == "Bash" && begins(commandTitle):
		for _, section := range sections {
			if composer.Solid(strings.Join(section, "")) == what {
				return len(what) + 1 // and nothing else
			}
		}
		if len(sections) > 2 && len(what) <= most { // a short one is there whole
			return 0
		}
		return contains(what)
	case r.File != "", r.Prompt.Tool == "Bash", begins(commandTitle), slices.ContainsFunc(fileTitles, begins):
		return 0
	default:
		return contains(what)
	}
}

// fileOf returns the file that a tool is about to write, as claude's dialog names it: from the folder in which claude is. It is empty for
// other tools, and where that is not known.
func fileOf(p hook.Payload) string {
	key := map[string]string{"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}[p.Tool]
	name, ok := p.Input[key].(string)
	if !ok || p.Workdir == "" {
		return ""
	}
	shown, err := filepath.Rel(p.Workdir, name)
	if err != nil {
		return ""
	}
	return shown
}

// standingFirst returns the index of the request whose dialog stands: the first, where that may be its own, or -1 where it is not
// known which of several does.
func (d *driver) standingFirst() int {
	rs := d.state.Requests
	if rs[0].Screen != nil {
		return 0
	}
	rows := d.host.Rows()
	best, most, same := -1, 0, false
	for i := range rs {
		switch n := rs[i].likeness(rows); {
		case n > most:
			best, most, same = i, n, true
		case n > 0 && n == most:
			same = same && rs[i].Prompt.Tool == rs[best].Prompt.Tool && reflect.DeepEqual(rs[i].Prompt.Input, rs[best].Prompt.Input)
		}
	}
	switch {
	case len(rs) == 1:
		return 0
	case best >= 0 && !same:
		return -1
	}
	return best
}

// forward puts the request first whose dialog stands, where keys answer because the hooks were lost: claude shows its dialogs in an
// order of its own, and a key would answer another one.
func (d *driver) forward() {
	i := d.standingFirst()
	if i <= 0 {
		return
	}
	rs := d.state.Requests
	r, was := rs[i], rs[0].Prompt
	d.state.Requests = slices.Insert(slices.Delete(rs, i, i+1), 0, r)
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceScreen, Prompt: was})
	d.show()
}

// refuseHelpers ends what helpers ask in a turn that is interrupted, and reports whether they asked anything. Each stops, and claude
// shows no dialog of it any more: Escape would refuse one after the other, and each helper would go on.
func (d *driver) refuseHelpers() bool {
	asked := false
	for i := len(d.state.Requests) - 1; i >= 0; i-- {
		r := d.state.Requests[i]
		if call := d.held[r.Prompt.ID]; r.Agent != "" && call != nil {
			asked = true
			d.dropTool(r.Prompt)
			d.decide(i, call, map[string]any{"behavior": "deny", "message": "The user stopped this.", "interrupt": true}, runtime.ChoiceDeny)
		}
	}
	return asked
}

// countHelpers counts to the turn of an ending what helpers used, and calls then. Hooks that come meanwhile wait.
func (d *driver) countHelpers(e *ending, then func()) {
	names := d.state.Helpers
	if len(names) == 0 || d.file.read == nil {
		then()
		return
	}
	d.ending = e
	used := make([]*runtime.Usage, len(names))
	d.host.Do(func() {
		for i, name := range names {
			used[i] = readUsage(d.file.read, name)
		}
	}, func() {
		if d.ending != e {
			return
		}
		d.state.Helpers, d.helped = nil, &runtime.Usage{}
		for i, name := range names {
			d.state.Count(name, used[i], d.helped)
		}
		then()
	})
}

// used returns what the turn used with its helpers, or nil if nothing is known. The model is claude's own, where that is known.
func (d *driver) used() *runtime.Usage {
	own, helped := d.told.account.total(), d.helped
	d.helped = nil
	if helped == nil || helped.Requests == 0 {
		return own
	}
	helped.Add(own)
	return helped
}

// readUsage returns what the agent of a transcript used in all, or nil if that is not known.
func readUsage(read func(string, int64, int) ([]byte, int64, error), name string) *runtime.Usage {
	var a account
	err := subagent.Lines(func(offset int64) ([]byte, int64, error) { return read(name, offset, readAtOnce) }, maxLine, func(line []byte) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Type == "assistant" && !e.Failed {
			a.spend(&e)
		}
	})
	if err != nil {
		return nil // a part of it would be taken for all
	}
	return a.total()
}
