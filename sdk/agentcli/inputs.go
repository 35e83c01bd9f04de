package agentcli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	maxInputs     = 256       // ids that are remembered
	maxRaw        = 64        // of them those of raw input, keys and interrupts, which may be many
	maxInputsFile = 4 << 20   // bytes, from which on the file is written anew
	maxKeptText   = 256 << 10 // of a response that is remembered
	maxKeptTexts  = 2 << 20   // of all of them; the oldest go first. Below maxInputsFile, so that writing anew helps
)

// Outcomes of an input with an id.
const (
	inputTyping  = "typing"  // it is being typed; after a crash nobody knows
	inputSent    = "sent"    // the agent took it
	inputTurn    = "turn"    // its turn ended
	inputUnknown = "unknown" // it may have been taken
	inputFree    = "free"    // it was not taken: the id may be used again
)

// inputRecord is what is remembered of an input.
type inputRecord struct {
	ID       string            `json:"id"`
	Sum      string            `json:"sum"`             // of the text
	Words    string            `json:"words,omitempty"` // sum of its words, until its turn ended
	Raw      bool              `json:"raw,omitempty"`   // it is no message
	State    string            `json:"state"`
	Response *runtime.Response `json:"response,omitempty"`
	Line     *uint64           `json:"line,omitempty"` // that it was typed on, until its turn ended
	// Life and Turn are those that it began, once it was sent.
	Life int `json:"life,omitempty"`
	Turn int `json:"turn,omitempty"`
}

// inputs remembers which inputs were given to an agent, so that a repeat of one does not type it twice, also
// across the end of the process. Only the session's goroutine uses it.
type inputs struct {
	path  string
	known map[string]*inputRecord
	order []string // ids, oldest first
	size  int      // of the file
	texts int      // bytes of the responses in known
	torn  bool     // the file ends within a line
	cut   string   // id of the input that was being typed when an earlier process ended; or empty
}

// loadInputs reads what is remembered. What was being typed when an earlier process ended is uncertain. Responses that hold secrets,
// as earlier versions kept them, are redacted, in the file as well. The error is that of reading the file, without which nothing is
// remembered, or of writing it anew.
func loadInputs(dir string, redact redactor) (*inputs, error) {
	in := &inputs{path: filepath.Join(dir, inputsFile), known: map[string]*inputRecord{}}
	data, err := durable.ReadFile(in.path, 4*maxInputsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	open := false // a response held a secret
	in.size, in.torn = len(data), len(data) > 0 && data[len(data)-1] != '\n'
	for line := range bytes.Lines(data) {
		var r inputRecord
		if json.Unmarshal(line, &r) != nil || r.ID == "" {
			continue
		}
		if r.Response != nil {
			if text := redact.text(r.Response.Text); text != r.Response.Text {
				r.Response.Text, open = text, true
			}
		}
		in.keep(r)
	}
	if open { // before what is uncertain is: after another crash it must be found so again
		err = in.rewrite()
	}
	for _, id := range in.order {
		if r := in.known[id]; r != nil && r.State == inputTyping {
			r.State = inputUnknown
			if !r.Raw {
				in.cut = id
			}
		}
	}
	return in, err
}

func textSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// find returns what is remembered of an id, or nil.
func (in *inputs) find(id string) *inputRecord {
	if id == "" {
		return nil
	}
	return in.known[id]
}

// began returns what is remembered of the input that began a turn which is not known to be over, or nil.
func (in *inputs) began(life, turn int) *inputRecord {
	for i := len(in.order) - 1; i >= 0; i-- {
		if r := in.known[in.order[i]]; r != nil && r.State == inputSent && r.Life == life && r.Turn == turn && turn > 0 {
			return r
		}
	}
	return nil
}

// uncertain returns the newest input of which nobody knows whether it was taken, and whose words are those of the text; nil
// if there is none.
func (in *inputs) uncertain(text string) *inputRecord {
	words := textSum(squeeze(text))
	for i := len(in.order) - 1; i >= 0; i-- {
		if r := in.known[in.order[i]]; r != nil && r.State == inputUnknown && r.Words == words {
			return r
		}
	}
	return nil
}

func (in *inputs) keep(r inputRecord) {
	in.drop(r.ID)
	if r.State == inputFree {
		delete(in.known, r.ID)
		in.order = slices.DeleteFunc(in.order, func(id string) bool { return id == r.ID })
		return
	}
	if _, ok := in.known[r.ID]; !ok {
		in.order = append(in.order, r.ID)
	}
	in.known[r.ID] = &r
	if r.Response != nil {
		in.texts += len(r.Response.Text)
	}
	raw := func(id string) bool { return in.known[id].Raw }
	if r.Raw && in.count(raw) > maxRaw {
		in.remove(slices.IndexFunc(in.order, raw))
	}
	for len(in.order) > maxInputs {
		in.remove(0)
	}
	for i := 0; in.texts > maxKeptTexts && i < len(in.order); i++ {
		in.drop(in.order[i])
	}
}

// count returns how many ids fit.
func (in *inputs) count(fits func(id string) bool) (n int) {
	for _, id := range in.order {
		if fits(id) {
			n++
		}
	}
	return n
}

// remove forgets the input at a place of the order.
func (in *inputs) remove(i int) {
	in.drop(in.order[i])
	delete(in.known, in.order[i])
	in.order = slices.Delete(in.order, i, i+1)
}

// drop forgets the response of an input, if there is one.
func (in *inputs) drop(id string) {
	if r := in.known[id]; r != nil && r.Response != nil {
		in.texts -= len(r.Response.Text)
		r.Response = nil
	}
}

// note remembers how far a message came. Without an id there is nothing to remember.
func (in *inputs) note(m *message, state string, response *runtime.Response) error {
	return in.noteTurn(m, state, response, 0, 0)
}

// noteTurn does the same with the turn that the message begins.
func (in *inputs) noteTurn(m *message, state string, response *runtime.Response, life, turn int) error {
	if m.id == "" {
		return nil
	}
	r := inputRecord{ID: m.id, Sum: textSum(m.text), State: state, Response: response, Life: life, Turn: turn}
	switch state {
	case inputTyping:
		r.Line, r.Words = &m.line, textSum(squeeze(m.text))
	case inputSent:
		r.Line, r.Words = &m.line, textSum(squeeze(m.text))
	}
	return in.put(r)
}

// free lets the id of a message that was not recorded be used again; nothing on the disk knows it.
func (in *inputs) free(m *message) {
	if m.id != "" {
		in.keep(inputRecord{ID: m.id, State: inputFree})
	}
}

// put remembers one input.
func (in *inputs) put(r inputRecord) error {
	if r.Response != nil && len(r.Response.Text) > maxKeptText {
		r.Response = nil
	}
	in.keep(r)
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if in.size > maxInputsFile {
		return in.rewrite()
	}
	file, err := os.OpenFile(in.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if in.torn { // what comes behind half a line would be lost with it
		data = append([]byte{'\n'}, data...)
	}
	n, err := file.Write(data)
	in.size += n
	if n > 0 {
		in.torn = n < len(data)
	}
	return errors.Join(err, file.Close())
}

func (in *inputs) rewrite() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, id := range in.order {
		if r := in.known[id]; r != nil {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
	}
	if err := durable.WriteFile(in.path, b.Bytes(), false); err != nil {
		return err
	}
	in.size, in.torn = b.Len(), false
	return nil
}

// forgetInputs drops everything that is remembered in a directory: a new agent uses it.
func forgetInputs(dir string) error {
	if err := os.Remove(filepath.Join(dir, inputsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
