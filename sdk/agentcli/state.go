package agentcli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// lifeState is where one life of an agent is. It is written after each change, and with each checkpoint.
type lifeState struct {
	Version int             `json:"version"`
	Life    int             `json:"life"`
	Offset  uint64          `json:"offset"` // commands of the output before it are done
	Agent   runtime.Agent   `json:"agent"`  // without Handle
	Driver  json.RawMessage `json:"driver,omitempty"`
	Seq     uint64          `json:"seq,omitempty"` // newest event of the agent
	Ready   bool            `json:"ready,omitempty"`
	// The turn that runs; the zero time if none does.
	TurnStarted time.Time `json:"turnStarted,omitzero"`
	TurnInput   string    `json:"turnInput,omitempty"` // id of the message that began it
	TurnRefused bool      `json:"turnRefused,omitempty"`
	// Held is the turn that ended and was not reported yet.
	Held     *heldState `json:"held,omitempty"`
	Trust    int        `json:"trust,omitempty"`
	LoggedTo uint64     `json:"loggedTo,omitempty"` // scrollback lines before it are in the log
	URLs     []string   `json:"urls,omitempty"`     // logins that were reported since it was ready
	Wish     wish       `json:"wish,omitzero"`
	Sent     int64      `json:"sent,omitempty"`
	LastMs   int64      `json:"lastMs,omitempty"`
}

// heldState is a heldTurn as it is stored.
type heldState struct {
	Event runtime.Event `json:"event"`
	Input string        `json:"input,omitempty"`
	Text  string        `json:"text,omitempty"`
	Told  bool          `json:"told,omitempty"` // that the agent is ready
}

// save writes the state, unless it is what was stored last: drivers look at the screen often, and mostly learn nothing.
func (s *lifeState) save(dir string, stored *[]byte) error {
	data, err := json.Marshal(s)
	if err != nil || bytes.Equal(data, *stored) {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, stateFile), data, false); err != nil {
		return err
	}
	*stored = data
	return nil
}

// loadState returns where a life is, or nil if nothing usable is stored.
func loadState(dir string, life int) *lifeState {
	data, err := durable.ReadFile(filepath.Join(dir, stateFile), maxRecord)
	if err != nil {
		return nil
	}
	return decodeState(data, life)
}

func decodeState(data []byte, life int) *lifeState {
	var s lifeState
	if json.Unmarshal(data, &s) != nil || s.Version != recordVersion || s.Life != life {
		return nil
	}
	return &s
}

// A note is a checkpoint: "wrn", version, length of the state as 4 bytes, the state, the screen.
const noteHead = "wrn\x01"

var errNote = errors.New("not a checkpoint of this program")

func encodeNote(state, screen []byte) []byte {
	b := make([]byte, 0, len(noteHead)+4+len(state)+len(screen))
	b = append(b, noteHead...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(state)))
	return append(append(b, state...), screen...)
}

func decodeNote(b []byte) (state, screen []byte, err error) {
	const head = len(noteHead) + 4
	if len(b) < head || string(b[:len(noteHead)]) != noteHead {
		return nil, nil, errNote
	}
	n := uint64(binary.BigEndian.Uint32(b[len(noteHead):]))
	b = b[head:]
	if n > uint64(len(b)) {
		return nil, nil, errNote
	}
	return b[:n], b[n:], nil
}
