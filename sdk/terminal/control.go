package terminal

import (
	"bytes"
	"encoding/json"
	"io"
	"math"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Kinds of control messages: see the package comment.
const (
	controlAttached = "attached"
	controlOutput   = "output"
	controlRepaint  = "repaint"
	controlResized  = "resized"
	controlExit     = "exit"
	controlError    = "error"
	controlViewers  = "viewers"
	controlResize   = "resize" // of the client
	controlAck      = "ack"    // of the client
)

// control is a text message of the server in wardroom.terminal.v1.
type control struct {
	Type   string         `json:"type"`
	Offset uint64         `json:"offset,omitempty"`
	Lost   uint64         `json:"lost,omitempty"`
	Cols   int            `json:"cols,omitempty"`
	Rows   int            `json:"rows,omitempty"`
	Code   *int           `json:"code,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Error  *runtime.Error `json:"error,omitempty"`

	Window int `json:"window,omitempty"`

	Total   int      `json:"total,omitempty"`
	Viewers []Viewer `json:"viewers,omitempty"`
}

// encode cannot fail: control holds nothing that JSON does not have.
func (c control) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return data
}

// resize is a client's wish for a size.
type resize struct {
	Type string `json:"type"`
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
}

// ack is a client's word on what it took.
type ack struct {
	Type  string `json:"type"`
	Bytes uint64 `json:"bytes"`
}

// parseAck reports whether text, as a whole, is an acknowledgement, and of how many bytes.
func parseAck(text []byte) (bytes uint64, ok bool) {
	var message struct {
		Type  string  `json:"type"`
		Bytes *uint64 `json:"bytes"`
	}
	if json.Unmarshal(text, &message) != nil || message.Type != controlAck || message.Bytes == nil {
		return 0, false
	}
	return *message.Bytes, true
}

// parseResize reports whether text, as a whole, is a resize message, and which size it wishes. A size that no
// terminal can have, a fraction included, is -1.
func parseResize(text []byte) (cols, rows int, ok bool) {
	// Keyboard data comes a few bytes at a time and rarely begins like this.
	if len(text) > 256 || !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return 0, 0, false
	}
	var message struct {
		Type *string  `json:"type"`
		Cols *float64 `json:"cols"`
		Rows *float64 `json:"rows"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&message) != nil {
		return 0, 0, false
	}
	if _, err := d.Token(); err != io.EOF {
		return 0, 0, false
	}
	if message.Type == nil || *message.Type != controlResize || message.Cols == nil || message.Rows == nil {
		return 0, 0, false
	}
	return size(*message.Cols), size(*message.Rows), true
}

func size(n float64) int {
	if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return -1
	}
	return int(n)
}
