package masking

import (
	"bytes"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// maxWalk is how deep a value may nest. It leaves room for records around values of rawjson.MaxDepth.
const maxWalk = 2 * rawjson.MaxDepth

// walk is one way through a value.
type walk struct {
	r      *rules
	raw    []byte
	pos    int
	out    []byte   // what replaces raw up to copied
	copied int      // end of what out stands for; 0: nothing was replaced yet
	states []uint64 // one state a level of names
}

// place is where a value stands.
type place struct {
	name        []byte // of the field
	level       int    // of its state
	data        bool   // within what people and agents wrote
	within      bool   // data not for its own name alone
	plain       bool   // never masked
	named, wild bool   // a path that ends so names it, or what it is in
}

// mask returns raw with its masked fields replaced, or raw itself. What is not JSON is masked as a whole.
func (r *rules) mask(raw []byte, from place, state []uint64) []byte {
	from.level = 0
	w := walk{r: r, raw: raw, states: append(make([]uint64, 0, 8*r.words), state...)}
	w.pos = rawjson.SkipSpace(raw, 0)
	if !w.value(from, 0) {
		return []byte(`"` + Mark + `"`)
	}
	if rawjson.SkipSpace(raw, w.pos) != len(raw) {
		return []byte(`"` + Mark + `"`)
	}
	if w.out == nil {
		return raw
	}
	return append(w.out, raw[w.copied:]...)
}

// state returns the state of a level.
func (w *walk) state(level int) []uint64 { return w.states[level*w.r.words : (level+1)*w.r.words] }

// value goes over the value at pos. It returns false for what is no JSON.
func (w *walk) value(at place, depth int) bool {
	if w.pos >= len(w.raw) || depth > maxWalk {
		return false
	}
	switch w.raw[w.pos] {
	case '{':
		return w.object(at, depth+1)
	case '[':
		w.pos++
		for w.next(']') {
			if !w.value(at, depth+1) {
				return false
			}
		}
		return w.closed(']')
	case '"':
		return w.text(at)
	}
	start := w.pos
	for w.pos < len(w.raw) && bytes.IndexByte(endOfScalar, w.raw[w.pos]) < 0 {
		w.pos++
	}
	scalar := w.raw[start:w.pos]
	if len(scalar) == 0 {
		return false
	}
	// A line that is a number is where something stands, unless people and agents wrote it.
	data := at.within || at.data && string(at.name) != "line"
	if data && (at.named || at.wild) && !at.plain && string(scalar) != "null" {
		w.replace(start, w.r.replace.append(nil, scalar))
	}
	return true
}

var endOfScalar = []byte(",]}: \t\r\n\"[{")

// next steps to the next entry of a list or an object, and reports whether there is one before the end.
func (w *walk) next(end byte) bool {
	w.pos = rawjson.SkipSpace(w.raw, w.pos)
	if w.pos < len(w.raw) && w.raw[w.pos] == ',' {
		w.pos = rawjson.SkipSpace(w.raw, w.pos+1)
	}
	return w.pos < len(w.raw) && w.raw[w.pos] != end
}

// closed steps over the end of a list or an object.
func (w *walk) closed(end byte) bool {
	if w.pos >= len(w.raw) || w.raw[w.pos] != end {
		return false
	}
	w.pos++
	return true
}

func (w *walk) object(at place, depth int) bool {
	level := at.level + 1
	for need := (level + 1) * w.r.words; len(w.states) < need; {
		w.states = append(w.states, 0)
	}
	w.pos++
	for w.next('}') {
		start := w.pos
		if !w.skipText() {
			return false
		}
		name := rawjson.Unquote(w.raw[start:w.pos])
		w.pos = rawjson.SkipSpace(w.raw, w.pos)
		if w.pos >= len(w.raw) || w.raw[w.pos] != ':' {
			return false
		}
		w.pos = rawjson.SkipSpace(w.raw, w.pos+1)
		w.r.step(w.state(level), w.state(at.level), name)
		inner := place{name: name, level: level, data: at.data || dataNames[string(name)], within: at.data}
		inner.plain = at.plain || !at.data && plainNames[string(name)]
		inner.named, inner.wild = w.r.verdict(w.state(level))
		inner.named, inner.wild = inner.named || at.named, inner.wild || at.wild
		if !w.value(inner, depth) {
			return false
		}
	}
	return w.closed('}')
}

// text goes over a text.
func (w *walk) text(at place) bool {
	start := w.pos
	if !w.skipText() {
		return false
	}
	quoted := w.raw[start:w.pos]
	switch {
	case at.plain:
	case at.data && (at.named || at.wild), at.named && !isFrame(at.name):
		w.replace(start, w.r.replace.append(nil, quoted))
	case nested[string(at.name)]:
		inner := rawjson.Unquote(quoted)
		if masked := w.r.mask(inner, at, w.state(at.level)); !bytes.Equal(masked, inner) {
			w.replace(start, rawjson.AppendString(nil, masked))
		}
	}
	return true
}

// skipText steps over a text.
func (w *walk) skipText() bool {
	if w.raw[w.pos] != '"' {
		return false
	}
	end := 0 // of the text, unless it is escaped
	for i := w.pos + 1; i < len(w.raw); {
		if end < i {
			n := bytes.IndexByte(w.raw[i:], '"')
			if n < 0 {
				return false
			}
			end = i + n
		}
		n := bytes.IndexByte(w.raw[i:end], '\\')
		if n < 0 {
			w.pos = end + 1
			return true
		}
		i += n + 2
	}
	return false
}

// replace puts a text in place of what lies between start and pos.
func (w *walk) replace(start int, with []byte) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.raw)+64)
	}
	w.out = append(append(w.out, w.raw[w.copied:start]...), with...)
	w.copied = w.pos
}
