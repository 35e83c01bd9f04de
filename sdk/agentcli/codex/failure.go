package codex

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// failed ends a turn that codex gave up. Why stands in its transcript only.
func (d *driver) failed() {
	if !d.state.Turn {
		return
	}
	name := d.state.Transcript
	if name == "" || d.room.ReadFile == nil {
		d.end(agentcli.Signal{})
		return
	}
	d.end(agentcli.Signal{TextFollows: true})
	d.explain(name, failureTries)
}

// codex may tell of the end of a turn before its transcript has it.
const (
	failureTries = 20
	failurePause = 50 * time.Millisecond
)

// explain reads why the turn failed, and tells it.
func (d *driver) explain(name string, tries int) {
	var reason string
	d.host.Do(func() {
		if data, err := d.room.ReadFile(name); err == nil {
			reason = lastFailure(data)
		}
	}, func() {
		if reason == "" && tries > 1 {
			d.host.After(failurePause, func() { d.explain(name, tries-1) })
			return
		}
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalAnswer, Source: runtime.SourceHook, Text: reason})
		if strings.Contains(reason, "401 Unauthorized") {
			d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceHook, Text: reason})
		}
	})
}

// lastFailure returns the message of the last turn of a transcript, if it failed; "" else, and while it runs.
func lastFailure(transcript []byte) string {
	lines := bytes.Split(transcript, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if bytes.Contains(lines[i], []byte(`"type":"task_started"`)) {
			return "" // the end of this turn is not written yet
		}
		if !bytes.Contains(lines[i], []byte(`"task_complete"`)) {
			continue
		}
		var entry struct {
			Payload struct {
				Type  string `json:"type"`
				Error *struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"payload"`
		}
		if json.Unmarshal(lines[i], &entry) != nil || entry.Payload.Type != "task_complete" {
			continue
		}
		if entry.Payload.Error == nil {
			return ""
		}
		return entry.Payload.Error.Message
	}
	return ""
}
