package claude

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxHelpers is how many helpers are remembered by what they used; of more, others are forgotten.
const maxHelpers = 256

// helperStopped counts to the turn what a helper used: newer versions write that into a file of the helper. claude goes on when that
// is read.
func (d *driver) helperStopped(call *agentcli.HookCall, p hook.Payload) {
	if p.AgentID == "" || p.AgentFile == "" || d.file.read == nil {
		call.Answer(nil)
		return
	}
	d.readHelper(call, p, d.host.Now().Add(stopWait))
}

// readHelper reads the transcript of a helper, and again until it has its last words.
func (d *driver) readHelper(call *agentcli.HookCall, p hook.Payload, until time.Time) {
	var got account
	d.host.Do(func() { got = readAccount(d.file.read, p.AgentFile) }, func() {
		if !same(got.last, p.Answer) && d.host.Now().Before(until) {
			d.host.After(readEvery, func() { d.readHelper(call, p, until) })
			return
		}
		d.helperUsed(p.AgentID, got.total())
		call.Answer(nil)
	})
}

// helperUsed counts what a helper used since it stopped before.
func (d *driver) helperUsed(id string, used *runtime.Usage) {
	if used == nil {
		return
	}
	model := ""
	if d.state.Used != nil {
		model = d.state.Used.Model
	}
	before, known := d.state.Helpers[id]
	d.add(&runtime.Usage{
		Model: used.Model, Requests: used.Requests - before.Requests,
		InputTokens: used.InputTokens - before.InputTokens, OutputTokens: used.OutputTokens - before.OutputTokens,
		CacheReadTokens: used.CacheReadTokens - before.CacheReadTokens, CacheWriteTokens: used.CacheWriteTokens - before.CacheWriteTokens,
	})
	if model != "" { // that of claude itself is the turn's
		d.state.Used.Model = model
	}
	if d.state.Helpers == nil {
		d.state.Helpers = map[string]runtime.Usage{}
	}
	if !known && len(d.state.Helpers) >= maxHelpers {
		for other := range d.state.Helpers {
			delete(d.state.Helpers, other)
			break
		}
	}
	d.state.Helpers[id] = *used
}

// readAccount reads all that a transcript of one helper tells.
func readAccount(read func(string, int64, int) ([]byte, int64, error), name string) account {
	var a account
	var rest []byte
	for offset := int64(0); ; {
		data, _, err := read(name, offset, readAtOnce)
		if err != nil || len(data) == 0 {
			return a
		}
		offset += int64(len(data))
		rest = append(rest, data...)
		for {
			line, after, whole := bytes.Cut(rest, []byte("\n"))
			if !whole {
				break
			}
			rest = after
			var e entry
			if json.Unmarshal(line, &e) == nil && e.Type == "assistant" {
				e.Sidechain = false
				a.answer(&e)
			}
		}
		if len(rest) > maxLine {
			return a
		}
	}
}
