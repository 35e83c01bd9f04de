package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of what is read of a transcript.
const (
	pieceSize = 256 << 10 // read at a time
	maxLine   = 8 << 20   // a longer one is left out: its entry came before without the results of tools
	maxSaid   = 64        // texts that wait to be told
)

// outcome is what a transcript tells of a turn so far.
type outcome struct {
	Text      string // said last, and not followed by the call of a tool, a cancel or a failure
	Open      bool   // tools were called, and nothing was said since
	Cancelled bool
	Failure   string // the words of an error
	Note      string // the last other words of gemini itself
	Cut       string // why what was said last is not whole, or why the failure has no answer
	Prompted  bool   // it has the message
	Usage     *runtime.Usage
}

// reader reads the transcript of a session from where a turn begins, as it grows. Only one goroutine uses it at a time.
type reader struct {
	at   int64  // of the next piece
	part []byte // a line whose end is not there yet
	skip bool   // the rest of such a line is left out

	outcome
	said  []string // texts that nobody took yet, in order
	texts int      // how many there were in all
	last  entry    // the newest entry of the model
	cut   string   // why an answer was cut short that has no entry yet
	cutAt string   // when that came
	shown bool     // the answer stood on the screen with it, so no later one is meant
	past  runtime.Usage
}

// entry is one line of the transcript that is not bookkeeping.
type entry struct {
	ID        string          `json:"id"`
	Time      string          `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Model     string          `json:"model"`
	Tokens    *tokens         `json:"tokens"`
	ToolCalls []toolCall      `json:"toolCalls"`
}

// toolCall is a tool that was called, with what became of it.
type toolCall struct {
	Status string `json:"status"`
}

// tokens are those of one request. Input has the cached ones, and neither thoughts nor those of tools are in others.
type tokens struct {
	Input    int64 `json:"input"`
	Output   int64 `json:"output"`
	Cached   int64 `json:"cached"`
	Thoughts int64 `json:"thoughts"`
	Tool     int64 `json:"tool"`
}

// read reads on to the end of the file. A file that is not there is empty.
func (r *reader) read(room *agentcli.Room, name string) error {
	for {
		piece, err := readPiece(room, name, r.at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || len(piece) == 0 {
			return err
		}
		r.at += int64(len(piece))
		r.feed(piece)
	}
}

// readPiece reads from an offset on; nothing at the end of the file.
func readPiece(room *agentcli.Room, name string, at int64) ([]byte, error) {
	if room.ReadFrom != nil {
		piece, _, err := room.ReadFrom(name, at, pieceSize)
		return piece, err
	}
	data, err := room.ReadFile(name)
	return data[min(at, int64(len(data))):], err
}

// size returns how long a file is; 0 if it is not there.
func size(room *agentcli.Room, name string) (int64, error) {
	if room.ReadFrom != nil {
		last, at, err := room.ReadFrom(name, -1, 1)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return at + int64(len(last)), err
	}
	data, err := room.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return int64(len(data)), err
}

// feed takes the next bytes.
func (r *reader) feed(piece []byte) {
	for {
		line, rest, whole := bytes.Cut(piece, []byte("\n"))
		switch {
		case r.skip:
		case len(r.part) == 0 && bytes.HasPrefix(line, []byte(`{"$`)), len(r.part)+len(line) > maxLine:
			r.part, r.skip = nil, true // bookkeeping, which may repeat the whole conversation
		case whole && len(r.part) == 0:
			r.line(line)
		default:
			r.part = append(r.part, line...)
			if whole {
				r.line(r.part)
			}
		}
		if !whole {
			return
		}
		r.part, r.skip = r.part[:0], false
		piece = rest
	}
}

// line takes a whole line. What it does not understand is left out.
func (r *reader) line(line []byte) {
	var e entry
	if !bytes.HasPrefix(line, []byte(`{"id"`)) || json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "user":
		text := words(e.Content)
		r.cut = ""
		r.Prompted = r.Prompted || text != "" && !strings.HasPrefix(text, "<session_context>")
	case "gemini":
		// Without its model it is an earlier one: gemini writes the conversation again when it begins anew within a session.
		if e.Model != "" {
			r.answer(e)
		}
	case "info", "warning":
		text := words(e.Content)
		if strings.HasPrefix(text, "Request cancelled") {
			r.Cancelled, r.Text = true, ""
			return
		}
		r.Note = text
		if why := cutShort(text); why != "" {
			r.cut, r.cutAt, r.shown = why, e.Time, false
		}
	case "error":
		r.Failure, r.Text = words(e.Content), ""
		r.Cut, r.cut = r.cut, ""
	}
}

// answer takes an entry of the model. It comes again when its tools have run, or its tokens are known.
func (r *reader) answer(e entry) {
	again := e.ID == r.last.ID
	if !again {
		if r.last.Tokens != nil {
			r.past.Add(usage(r.last))
		}
		if text := strings.TrimPrefix(words(e.Content), joiner); strings.TrimSpace(text) != "" {
			r.Text = text
			if len(r.said) == maxSaid {
				r.said = r.said[1:]
			}
			r.said, r.texts = append(r.said, text), r.texts+1
		}
		r.Cancelled, r.Failure = false, ""
		if r.Cut = r.cut; !r.shown && paused(r.cutAt, e.Time) {
			r.Cut = "" // it is of the attempt before this one
		}
		r.cut = ""
	}
	// An interrupt may have no other line than that it cancelled a tool, or have that behind its own.
	r.Cancelled = r.Cancelled || slices.ContainsFunc(e.ToolCalls, func(c toolCall) bool { return c.Status == "cancelled" })
	r.Open = len(e.ToolCalls) > 0 || r.Text == "" || strings.TrimSpace(words(e.Content)) == ""
	e.Content, e.ToolCalls = nil, nil
	r.last = e
	if e.Tokens != nil {
		sum := r.past
		sum.Add(usage(e))
		r.Usage = &sum
	}
}

// retryPause is how long gemini waits at least before it asks again for an answer that came to nothing.
const retryPause = time.Second

// paused reports whether so much is between the times of two entries.
func paused(from, to string) bool {
	begin, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return false
	}
	end, err := time.Parse(time.RFC3339, to)
	return err == nil && end.Sub(begin) >= retryPause
}

func usage(e entry) *runtime.Usage {
	t := e.Tokens
	return &runtime.Usage{
		Model: e.Model, InputTokens: max(0, t.Input-t.Cached) + t.Tool, OutputTokens: t.Output + t.Thoughts,
		CacheReadTokens: t.Cached, Requests: 1,
	}
}

// sessionOf returns the id of the session that a transcript belongs to: what resumes it. Hooks tell another one when
// gemini fell back to another model.
func sessionOf(transcript []byte) string {
	line, _, _ := bytes.Cut(transcript, []byte("\n"))
	var head struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(line, &head) != nil {
		return ""
	}
	return head.SessionID
}

// words returns the text of an entry, which is a string or a list of parts.
func words(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
