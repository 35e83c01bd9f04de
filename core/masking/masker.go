package masking

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var _ core.Masker = (*Masker)(nil)

// Config says what is masked.
type Config struct {
	Enabled bool
	Fields  []string // paths
	Method  string   // Redact, Hash or Partial
	// Key is that of the method Hash, secret and the same over restarts.
	Key [32]byte
}

// Masker masks by rules that may change. The zero value masks nothing. It is safe for concurrent use.
type Masker struct {
	rules atomic.Pointer[rules] // nil: nothing is masked
}

// Apply takes over other rules: all of them, or with an error none.
func (m *Masker) Apply(c Config) error {
	if !c.Enabled {
		m.rules.Store(nil)
		return nil
	}
	replace, err := newReplacer(c.Method, c.Key)
	if err != nil {
		return core.Invalid("security.dataProtection.masking.method", "%s", err)
	}
	r, err := compile(c.Fields, replace)
	if err != nil {
		return core.Invalid("security.dataProtection.masking.fields", "%s", err)
	}
	if len(c.Fields) == 0 {
		r = nil
	}
	m.rules.Store(r)
	return nil
}

// Active implements core.Masker.
func (m *Masker) Active() bool { return m.rules.Load() != nil }

// Mask implements core.Masker.
func (m *Masker) Mask(raw []byte) []byte {
	r := m.rules.Load()
	if r == nil || len(raw) == 0 {
		return raw
	}
	at := place{}
	at.named, at.wild = r.verdict(r.starts)
	return r.mask(raw, at, r.starts)
}

// Masks implements core.Masker.
func (m *Masker) Masks(path ...string) bool {
	r := m.rules.Load()
	if r == nil || len(path) == 0 {
		return false
	}
	at, _ := r.reach(path)
	return at.isMasked()
}

// reach follows a path, and returns where it ends and in which state.
func (r *rules) reach(path []string) (place, []uint64) {
	state, next := slices.Clone(r.starts), make([]uint64, r.words)
	at := place{}
	at.named, at.wild = r.verdict(state)
	for _, part := range path {
		at.name = []byte(part)
		r.step(next, state, at.name)
		state, next = next, state
		named, wild := r.verdict(state)
		at.named, at.wild, at.data = at.named || named, at.wild || wild, at.data || dataNames[part]
	}
	return at, state
}

// isMasked reports whether the text at a place is.
func (p *place) isMasked() bool { return p.data && (p.named || p.wild) || p.named && !isFrame(p.name) }

// MaskText implements core.Masker. The name may be a path, such as actor.ip. A text that is a JSON object or list is masked
// as such, by the names within it.
func (m *Masker) MaskText(name, text string) string {
	r := m.rules.Load()
	if r == nil || text == "" {
		return text
	}
	at, state := r.reach(strings.Split(name, "."))
	inner := strings.TrimLeft(text, " \n\t\r")
	switch {
	case at.isMasked():
		return r.replace.text([]byte(text))
	case (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) && rawjson.CheckLoose([]byte(text)) == nil:
		return string(r.mask([]byte(text), at, state))
	}
	return text
}

// Open stands for the names within a field that may have any.
const Open = ""

// Unmatched returns the paths that name none of some known fields, each its names from the outside in. A field whose last
// name is Open may hold anything: a path that leads into it is not unmatched.
func (m *Masker) Unmatched(known [][]string) []string {
	r := m.rules.Load()
	if r == nil {
		return nil
	}
	seen := make([]bool, len(r.fields))
	state, next := make([]uint64, r.words), make([]uint64, r.words)
	for _, names := range known {
		copy(state, r.starts)
		r.reached(state, func(path int) { seen[path] = true })
		for _, name := range names {
			if name == Open {
				r.under(state, func(path int) { seen[path] = true })
				break
			}
			r.step(next, state, []byte(name))
			state, next = next, state
			r.reached(state, func(path int) { seen[path] = true })
		}
	}
	var unmatched []string
	for i, ok := range seen {
		if !ok {
			unmatched = append(unmatched, r.fields[i])
		}
	}
	return unmatched
}
