package pattern

import (
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// field declares one value of an input.
type field struct {
	name     string
	kind     string // string, number, integer, boolean, object, array or any
	required bool
	missing  []byte // default as JSON, or nil

	low, high       []byte // bounds of a number, as JSON; nil: none
	short, long     int    // bounds of characters or elements; long -1: none
	pattern         *regexp.Regexp
	patternSize     int             // instructions of pattern
	enum            map[string]bool // canonical JSON of what is allowed, or nil
	choices         string          // the same for people
	items           *field          // of an array's elements, or nil
	properties      *fields         // of an object, or nil
	quotedWithColon []byte          // the name as it is written into an object
}

// fields are the declared members of an object.
type fields struct {
	list   []*field
	byName map[string]int
	names  []string
	closed bool // other members are refused
}

// inspection collects the problems of one value.
type inspection struct {
	problems []core.Problem
	filled   bool // defaults are to be filled in somewhere
	matching int  // instructions times bytes that regular expressions were applied to
}

// maxMatching bounds what the regular expressions of one input may cost: instructions of the compiled expression times
// bytes of text, summed over all texts. Matching is linear in that product and cannot be interrupted; this much takes
// less than a second. An expression of 20 instructions gets through 1 MB.
const maxMatching = 20 << 20

func (x *inspection) add(path, reason string) {
	if len(x.problems) < maxProblems {
		x.problems = append(x.problems, core.Problem{Path: path, Reason: reason})
	}
}

// check looks at a value. at builds its path, only when there is something to say.
func (f *field) check(x *inspection, raw []byte, at func() string) {
	kind := rawjson.KindOf(raw)
	if !f.fits(kind, raw) {
		x.add(at(), "must be "+kindName(f.kind)+", not "+kind.String())
		return
	}
	if f.enum != nil && !f.enum[string(rawjson.AppendCanonical(nil, raw))] {
		x.add(at(), "must be one of "+f.choices)
	}
	switch kind {
	case rawjson.Number:
		f.checkNumber(x, raw, at)
	case rawjson.String:
		f.checkString(x, raw, at)
	case rawjson.Array:
		f.checkArray(x, raw, at)
	case rawjson.Object:
		if f.properties != nil {
			f.properties.check(x, raw, at)
		}
	}
}

func (f *field) fits(kind rawjson.Kind, raw []byte) bool {
	switch f.kind {
	case "string":
		return kind == rawjson.String
	case "number":
		return kind == rawjson.Number
	case "integer":
		return kind == rawjson.Number && rawjson.IsInteger(raw)
	case "boolean":
		return kind == rawjson.Bool
	case "object":
		return kind == rawjson.Object
	case "array":
		return kind == rawjson.Array
	}
	return true
}

func kindName(kind string) string {
	switch kind {
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

func (f *field) checkNumber(x *inspection, raw []byte, at func() string) {
	if f.low != nil && compareNumbers(raw, f.low) < 0 {
		x.add(at(), "must be at least "+string(f.low))
	}
	if f.high != nil && compareNumbers(raw, f.high) > 0 {
		x.add(at(), "must be at most "+string(f.high))
	}
}

func formatNumber(f float64) string { return string(rawjson.AppendFloat(nil, f)) }

func (f *field) checkString(x *inspection, raw []byte, at func() string) {
	if f.short == 0 && f.long < 0 && f.pattern == nil {
		return
	}
	text := rawjson.Unquote(raw)
	f.checkLength(x, utf8.RuneCount(text), "characters", at)
	switch {
	case f.pattern == nil:
	case x.matching+f.patternSize*len(text) > maxMatching:
		x.add(at(), "is too long to be matched with the pattern "+f.pattern.String()+", of "+strconv.Itoa(f.patternSize)+
			" instructions: "+strconv.Itoa(len(text))+" bytes, of at most "+strconv.Itoa(max(maxMatching-x.matching, 0)/f.patternSize))
	default:
		x.matching += f.patternSize * len(text)
		if !f.pattern.Match(text) {
			x.add(at(), "must match the pattern "+f.pattern.String())
		}
	}
}

func (f *field) checkLength(x *inspection, n int, unit string, at func() string) {
	if n < f.short {
		x.add(at(), "must have at least "+strconv.Itoa(f.short)+" "+unit+", has "+strconv.Itoa(n))
	}
	if f.long >= 0 && n > f.long {
		x.add(at(), "must have at most "+strconv.Itoa(f.long)+" "+unit+", has "+strconv.Itoa(n))
	}
}

func (f *field) checkArray(x *inspection, raw []byte, at func() string) {
	if f.short == 0 && f.long < 0 && f.items == nil {
		return
	}
	n := 0
	for it := rawjson.Walk(raw); it.Next(); n++ {
		if f.items != nil {
			f.items.check(x, it.Value, func() string { return at() + "[" + strconv.Itoa(n) + "]" })
		}
	}
	f.checkLength(x, n, "elements", at)
}

// fewFields is the number of declared fields up to which no memory is needed to note the seen ones.
const fewFields = 32

// check looks at an object: every required member must be there, and none that is not declared if it is closed.
func (fs *fields) check(x *inspection, raw []byte, at func() string) {
	var few [fewFields]bool
	seen := few[:]
	if len(fs.list) > fewFields {
		seen = make([]bool, len(fs.list))
	}
	for it := rawjson.Walk(raw); it.Next(); {
		name := rawjson.Unquote(it.Key)
		i, ok := fs.byName[string(name)]
		if !ok {
			if !fs.closed {
				continue
			}
			if len(x.problems) >= maxProblems {
				return // the rest would not be shown
			}
			x.add(join(at(), string(name)), "unknown field"+hintOrList(at(), string(name), fs.names))
			continue
		}
		seen[i] = true
		f := fs.list[i]
		f.check(x, it.Value, func() string { return join(at(), f.name) })
	}
	for i, f := range fs.list {
		switch {
		case seen[i]:
		case f.missing != nil:
			x.filled = true
		case f.required:
			x.add(join(at(), f.name), "is required")
		}
	}
}

// fill appends an object that check accepted, with the defaults of absent fields at its end.
func (fs *fields) fill(dst, raw []byte) []byte {
	dst = append(dst, '{')
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	seen := make([]bool, len(fs.list))
	for it := rawjson.Walk(raw); it.Next(); {
		comma()
		dst = append(append(dst, it.Key...), ':')
		i, ok := fs.byName[string(rawjson.Unquote(it.Key))]
		if !ok {
			dst = rawjson.AppendCompact(dst, it.Value)
			continue
		}
		seen[i] = true
		dst = fs.list[i].fill(dst, it.Value)
	}
	for i, f := range fs.list {
		if !seen[i] && f.missing != nil {
			comma()
			dst = append(append(dst, f.quotedWithColon...), f.missing...)
		}
	}
	return append(dst, '}')
}

// fill appends a value with the defaults inside it.
func (f *field) fill(dst, raw []byte) []byte {
	switch kind := rawjson.KindOf(raw); {
	case kind == rawjson.Object && f.properties != nil:
		return f.properties.fill(dst, raw)
	case kind == rawjson.Array && f.items != nil:
		dst = append(dst, '[')
		for it := rawjson.Walk(raw); it.Next(); {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = f.items.fill(dst, it.Value)
		}
		return append(dst, ']')
	}
	return rawjson.AppendCompact(dst, raw)
}

func (fs *fields) add(f *field) {
	if fs.byName == nil {
		fs.byName = make(map[string]int)
	}
	fs.byName[f.name] = len(fs.list)
	fs.list = append(fs.list, f)
	fs.names = append(fs.names, f.name)
	slices.Sort(fs.names)
}
