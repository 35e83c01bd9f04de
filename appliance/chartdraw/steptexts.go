package chartdraw

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// stepTexts returns what the steps of an org chart have in expressions, by path. It reads the definition once, however deep
// steps lie in others.
func stepTexts(definition json.RawMessage) map[string]string {
	r := &textReader{dec: json.NewDecoder(bytes.NewReader(definition)), texts: map[string]string{}}
	r.object(func(key string) {
		if key != "workflow" {
			r.skip()
			return
		}
		r.object(func(key string) {
			if key == "steps" {
				r.steps("")
			} else {
				r.skip()
			}
		})
	})
	return r.texts
}

// textReader walks a definition by its tokens.
type textReader struct {
	dec   *json.Decoder
	texts map[string]string
	ended bool // of what is no JSON: nothing more is read
}

// next returns the next token, nil at the end.
func (r *textReader) next() json.Token {
	if r.ended {
		return nil
	}
	token, err := r.dec.Token()
	if err != nil {
		r.ended = true
		return nil
	}
	return token
}

// more reports whether the list or the object has another element.
func (r *textReader) more() bool { return !r.ended && r.dec.More() }

func (r *textReader) value() (raw json.RawMessage) {
	if !r.ended && r.dec.Decode(&raw) != nil {
		r.ended = true
	}
	return raw
}

func (r *textReader) skip() { r.value() }

// object calls read for each key of an object, to read its value. Anything else ends the walk.
func (r *textReader) object(read func(key string)) {
	if r.next() != json.Delim('{') {
		r.ended = true
		return
	}
	r.fields(read)
}

// fields reads an object from behind its brace.
func (r *textReader) fields(read func(key string)) {
	for r.more() {
		key, _ := r.next().(string)
		read(key)
	}
	r.next()
}

// steps reads a list of steps. Anything else ends the walk.
func (r *textReader) steps(prefix string) {
	if r.next() != json.Delim('[') {
		r.ended = true
		return
	}
	r.list(prefix)
}

// list reads a list of steps from behind its bracket.
func (r *textReader) list(prefix string) {
	for i := 0; r.more(); i++ {
		r.step(prefix + strconv.Itoa(i))
	}
	r.next()
}

// step reads a step, or a branch that is a list of steps.
func (r *textReader) step(path string) {
	switch r.next() {
	case json.Delim('['):
		r.list(path + ".")
	case json.Delim('{'):
		r.fields(func(key string) {
			switch key {
			case "task", "subject", "check", "from":
				r.texts[path] = textOf(r.value())
			case "steps":
				r.steps(path + ".")
			case "then":
				r.step(path + ".0")
			case "else":
				r.step(path + ".1")
			default:
				r.skip()
			}
		})
	}
}

func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return line(text)
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return ""
	}
	return line(out.String())
}
