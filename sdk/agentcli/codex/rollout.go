package codex

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// rolloutTail is where the reading of a transcript begins that was not followed so far: the turn that runs is there,
	// and what a resumed session did before is not read.
	rolloutTail = 1 << 20
	// rolloutChunk is how much is read at a time; a longer line is passed over.
	rolloutChunk = 4 << 20
)

// rollout follows the transcript of a session, which codex calls its rollout: one turn at a time, and no further than to
// the end of it. The exported fields are saved.
type rollout struct {
	Path   string  `json:"path,omitempty"`
	Offset int64   `json:"offset,omitempty"` // of the first line that was not read; negative: so many bytes before the end
	Begun  int64   `json:"begun,omitempty"`  // Offset when the driver's turn began
	Skip   bool    `json:"skip,omitempty"`   // Offset is within a line that is too long
	Turn   *record `json:"turn,omitempty"`   // nil: none has begun
}

// record is what a transcript tells of one turn.
type record struct {
	ID       string  `json:"id"`
	Model    string  `json:"model,omitempty"`
	Over     bool    `json:"over,omitempty"`
	Aborted  bool    `json:"aborted,omitempty"`
	Text     string  `json:"text,omitempty"` // the answer, or what was said last so far
	Plan     string  `json:"plan,omitempty"` // of plan mode, which is a part of the answer that codex keeps beside it
	Failure  *failed `json:"failure,omitempty"`
	Tokens   *tokens `json:"tokens,omitempty"`
	Requests int64   `json:"requests,omitempty"`
}

// tokens are codex's counts. Those of the cache are part of the input, and those of thinking part of the output.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// entry is one line of a transcript, as far as it is read.
type entry struct {
	Type    string `json:"type"`
	Payload struct {
		Type       string  `json:"type"`
		TurnID     string  `json:"turn_id"`
		RootTurnID string  `json:"root_turn_id"`
		Model      string  `json:"model"`
		Last       *string `json:"last_agent_message"`
		Error      *failed `json:"error"`
		Tokens     *tokens `json:"turn_token_usage"`
		Item       struct {
			Type    string `json:"type"`
			Text    string `json:"text"` // of a plan
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"item"`
	} `json:"payload"`
}

// usage returns what the turn used, or nil if nothing is known.
func (r *record) usage() *runtime.Usage {
	if r == nil || r.Tokens == nil {
		return nil
	}
	t := r.Tokens
	return &runtime.Usage{
		Model: r.Model, Requests: r.Requests, OutputTokens: t.Output,
		InputTokens: max(0, t.Input-t.Cached-t.CacheWrite), CacheReadTokens: t.Cached, CacheWriteTokens: t.CacheWrite,
	}
}

// clone returns a copy that shares nothing.
func (r rollout) clone() rollout {
	if r.Turn != nil {
		turn := *r.Turn
		r.Turn = &turn
	}
	return r
}

// follow makes the transcript another one.
func (r *rollout) follow(path string) {
	if r.Path == "" {
		*r = rollout{Path: path, Offset: -rolloutTail, Begun: -rolloutTail}
	} else if r.Path != path { // a new session of the same process
		*r = rollout{Path: path}
	}
}

// next begins the turn after the one that was read.
func (r *rollout) next() { r.Turn, r.Begun = nil, r.Offset }

// rewind begins the driver's turn again: what was read is another turn.
func (r *rollout) rewind() { r.Turn, r.Offset, r.Skip = nil, r.Begun, false }

// read reads what was added. Want is the id of the turn, or empty: the first one that begins. Said is what the agent said
// in it. More tells that there is more to read.
func (r *rollout) read(room agentcli.Room, want string) (said []string, more bool) {
	known := int64(0) // bytes that were read before: where one is missing the file is shorter than it was
	if r.Offset > 0 {
		known = 1
	}
	data, at, err := readPart(room, r.Path, r.Offset-known)
	if err != nil {
		return nil, false
	}
	if int64(len(data)) < known {
		r.cut(room)
		return nil, false
	}
	if data = data[known:]; len(data) == 0 {
		return nil, false
	}
	if r.Offset < 0 {
		r.Skip = at > 0
		r.Offset = at
		r.Begun = at
	}
	full := int64(len(data)) >= rolloutChunk-known
	for rest := data; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			if r.Skip = r.Skip || full && len(rest) == len(data); r.Skip { // too long
				r.Offset += int64(len(rest))
			}
			break
		}
		line := rest[:end]
		rest = rest[end+1:]
		r.Offset += int64(end) + 1
		if r.Skip {
			r.Skip = false
			continue
		}
		text, over := r.take(line, want)
		if text != "" {
			said = append(said, text)
		}
		if over {
			return said, false
		}
	}
	return said, full
}

// cut goes on at the end of a file that became shorter: what is written from now on is new. What it has before that was read,
// or is of a turn that is over.
func (r *rollout) cut(room agentcli.Room) {
	last, at, err := readPart(room, r.Path, -1)
	if size := at + int64(len(last)); err == nil && size < r.Offset {
		r.Offset, r.Begun, r.Skip = size, min(r.Begun, size), false
	}
}

// take reads one line; over tells that it ends the turn.
func (r *rollout) take(line []byte, want string) (said string, over bool) {
	head := line[:min(len(line), 200)]
	if !bytes.Contains(head, []byte(`"event_msg"`)) && !bytes.Contains(head, []byte(`"turn_context"`)) &&
		!bytes.Contains(head, []byte(`"token_usage_record"`)) {
		return "", false
	}
	var e entry
	if json.Unmarshal(line, &e) != nil || e.Payload.TurnID == "" {
		return "", false
	}
	p := &e.Payload
	if r.Turn == nil {
		begins := p.Type == "task_started" && (p.RootTurnID == "" || p.RootTurnID == p.TurnID)
		if want == "" && !begins || want != "" && p.TurnID != want {
			return "", false
		}
		r.Turn = &record{ID: p.TurnID}
	}
	if p.TurnID != r.Turn.ID {
		return "", false
	}
	return r.Turn.take(&e)
}

func (r *record) take(e *entry) (said string, over bool) {
	p := &e.Payload
	switch {
	case e.Type == "turn_context":
		if p.Model != "" {
			r.Model = p.Model
		}
	case e.Type == "token_usage_record":
		if p.Tokens != nil {
			r.Tokens = p.Tokens
			r.Requests++
		}
	case p.Type == "item_completed" && p.Item.Type == "AgentMessage":
		for _, c := range p.Item.Content {
			said += c.Text
		}
		if said != "" {
			r.Text = said
		}
	case p.Type == "item_completed" && p.Item.Type == "Plan":
		said = strings.TrimSpace(p.Item.Text)
		r.Plan = said
	case p.Type == "task_complete":
		r.Over, r.Failure = true, p.Error
		r.answer(p.Last)
	case p.Type == "turn_aborted":
		r.Over, r.Aborted = true, true
	}
	return said, r.Over
}

// answer takes the last message of the turn, if there is one. A plan belongs to it, and may be all that there is.
func (r *record) answer(last *string) {
	switch {
	case r.Plan == "" && last == nil:
	case r.Plan == "":
		r.Text = *last
	case last == nil:
		r.Text = r.Plan
	default:
		r.Text = strings.TrimSpace(*last + "\n\n" + r.Plan)
	}
}

// readPart reads a part of a file of the room, all of it where the room knows no other way.
func readPart(room agentcli.Room, name string, offset int64) (data []byte, at int64, err error) {
	if room.ReadFrom != nil {
		return room.ReadFrom(name, offset, rolloutChunk)
	}
	if room.ReadFile == nil {
		return nil, 0, fs.ErrNotExist
	}
	if data, err = room.ReadFile(name); err != nil {
		return nil, 0, err
	}
	if at = offset; at < 0 {
		at = max(0, int64(len(data))+at)
	}
	if at > int64(len(data)) {
		return nil, at, nil
	}
	return data[at:min(int64(len(data)), at+rolloutChunk)], at, nil
}
