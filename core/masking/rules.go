package masking

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core/internal/maskpath"
)

// rules are compiled paths. All paths are followed at once: each name of a path is a bit, which is set while the walk
// stands behind the names before it, and one more bit behind the last name is the end of the path.
type rules struct {
	words   int                 // of a state
	starts  []uint64            // the first bit of each path: a path may begin anywhere
	loops   []uint64            // bits of **
	any     []uint64            // bits of * and **
	exact   map[string][]bits64 // bits of names without wildcards
	globs   []glob
	named   []uint64 // ends of paths whose last name is one
	wild    []uint64 // ends of paths whose last name is a wildcard
	fields  []string
	ends    []int // bit of the end of each path
	replace replacer
}

// bits64 is one word of a state.
type bits64 struct {
	word int
	bits uint64
}

// glob is a name with * in it.
type glob struct {
	parts [][]byte // between the *; the first and the last may be empty
	at    bits64
}

// MaxFields bounds the paths.
const MaxFields = 256

func compile(fields []string, replace replacer) (*rules, error) {
	if len(fields) > MaxFields {
		return nil, fmt.Errorf("at most %d paths are taken, not %d", MaxFields, len(fields))
	}
	r := &rules{exact: map[string][]bits64{}, fields: slices.Clone(fields), replace: replace}
	used := 64 // bits of the last word
	for i, field := range fields {
		names, err := maskpath.Parse(field)
		if err != nil {
			return nil, fmt.Errorf("fields[%d]: %w", i, err)
		}
		if need := len(names) + 1; used+need > 64 { // no path crosses words, so that a step is a shift
			used = 0
			r.words++
			for _, s := range []*[]uint64{&r.starts, &r.loops, &r.any, &r.named, &r.wild} {
				*s = append(*s, 0)
			}
		}
		r.add(names, used)
		r.ends = append(r.ends, (r.words-1)*64+used+len(names))
		used += len(names) + 1
	}
	r.close(r.starts)
	return r, nil
}

// add gives a path its bits in the last word, from one on.
func (r *rules) add(names []string, from int) {
	w := r.words - 1
	r.starts[w] |= 1 << from
	for i, name := range names {
		bit := uint64(1) << (from + i)
		switch {
		case name == "**":
			r.loops[w] |= bit
			r.any[w] |= bit
		case name == "*":
			r.any[w] |= bit
		case strings.Contains(name, "*"):
			r.globs = append(r.globs, glob{bytes.Split([]byte(name), []byte("*")), bits64{w, bit}})
		default:
			r.exact[name] = append(r.exact[name], bits64{w, bit})
		}
	}
	end := uint64(1) << (from + len(names))
	if strings.Contains(names[len(names)-1], "*") {
		r.wild[w] |= end
	} else {
		r.named[w] |= end
	}
}

// close passes over ** that stand for no name.
func (r *rules) close(state []uint64) {
	for w := range state {
		state[w] |= (state[w] & r.loops[w]) << 1
	}
}

// step follows a name: next becomes the state behind it.
func (r *rules) step(next, state []uint64, name []byte) {
	for w := range next {
		next[w] = r.any[w]
	}
	for _, at := range r.exact[string(name)] {
		next[at.word] |= at.bits
	}
	for i := range r.globs {
		if r.globs[i].matches(name) {
			next[r.globs[i].at.word] |= r.globs[i].at.bits
		}
	}
	for w := range next {
		moved := state[w] & next[w]
		next[w] = (moved&^r.loops[w])<<1 | moved&r.loops[w] | r.starts[w]
	}
	r.close(next)
}

// verdict says what a state means for the value it stands at.
func (r *rules) verdict(state []uint64) (named, wild bool) {
	for w, bits := range state {
		named = named || bits&r.named[w] != 0
		wild = wild || bits&r.wild[w] != 0
	}
	return named, wild
}

// reached calls fn with each path whose end a state is at.
func (r *rules) reached(state []uint64, fn func(path int)) {
	for i, end := range r.ends {
		if state[end/64]&(1<<(end%64)) != 0 {
			fn(i)
		}
	}
}

// under calls fn with each path of which a state is behind a name, and which goes on.
func (r *rules) under(state []uint64, fn func(path int)) {
	from := 0
	for i, end := range r.ends {
		if i > 0 && r.ends[i-1]/64 == end/64 {
			from = r.ends[i-1] + 1
		} else {
			from = end / 64 * 64
		}
		own := uint64(1)<<(end%64) - uint64(1)<<(from%64)
		if state[end/64]&own&^r.starts[end/64] != 0 {
			fn(i)
		}
	}
}

func (g *glob) matches(name []byte) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	if len(name) < len(first)+len(last) || !bytes.HasPrefix(name, first) || !bytes.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		i := bytes.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}
