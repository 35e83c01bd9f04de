package pattern

import (
	"bytes"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var (
	jsonTrue  = []byte("true")
	jsonFalse = []byte("false")
)

// condition reads the check of a condition step.
func (c *chartCompiler) condition(at string, n *node) *term {
	switch n.kind {
	case boolNode:
		return &term{value: literal(n.text)}
	case textNode:
	default:
		c.add(at, n.line, "must be a condition such as ${step_0_result.approved} == true, not %s", describe(n))
		return nil
	}
	t, err := parseCondition(n.text, func(ref *reference) {
		ref.at, ref.line = "check", n.line
		c.accept(at, ref)
	})
	if err != nil {
		c.add(at, n.line, "%s", err)
	}
	return t
}

// test evaluates a condition. It stops at the first problem, which is in e then.
func (e *evaluation) test(t *term) bool {
	value := e.value(t)
	if len(e.problems) > 0 {
		return false
	}
	if rawjson.KindOf(value) != rawjson.Bool {
		e.refuse(t, "must be true or false, not %s; compare it with something", rawjson.KindOf(value))
		return false
	}
	return value[0] == 't'
}

// refuse notes why a term has no value.
func (e *evaluation) refuse(t *term, format string, args ...any) {
	p := problems{}
	p.add("check", t.line(), "%s "+format, append([]any{t}, args...)...)
	e.problems = append(e.problems, p.list...)
}

// String writes the term for messages.
func (t *term) String() string {
	switch {
	case t.ref != nil:
		return t.ref.String()
	case t.op == opValue:
		return clip(string(t.value), 32)
	case t.op == opList:
		return "[...]"
	case t.op == opNot:
		return "!" + clip(t.kids[0].String(), 64)
	}
	return clip(t.kids[0].String(), 64) + " " + string(t.op) + " " + clip(t.kids[1].String(), 64)
}

// line is that of the term's first variable; all of them are in one condition.
func (t *term) line() int {
	if t.ref != nil {
		return t.ref.line
	}
	for _, kid := range t.kids {
		if line := kid.line(); line > 0 {
			return line
		}
	}
	return 0
}

// value evaluates a term to JSON. The right side of && and || is evaluated only if it matters.
func (e *evaluation) value(t *term) []byte {
	switch t.op {
	case opValue:
		if t.ref == nil {
			return t.value
		}
		value, ok := e.resolve(t.ref)
		if !ok {
			e.problems = append(e.problems, core.Problem{Path: t.ref.at, Line: t.ref.line, Reason: t.ref.String() + " has no value" + e.why(t.ref)})
			return null
		}
		if !e.take(t.ref, value) {
			return null
		}
		return bytes.TrimSpace(value)
	case opList:
		list := []byte{'['}
		for i, kid := range t.kids {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, e.value(kid)...)
			if len(e.problems) > 0 {
				return null
			}
		}
		return append(list, ']')
	case opNot:
		return truth(!e.test(t.kids[0]))
	case opAnd, opOr:
		for _, kid := range t.kids {
			if e.test(kid) == (t.op == opOr) || len(e.problems) > 0 {
				return truth(t.op == opOr)
			}
		}
		return truth(t.op == opAnd)
	}
	a, b := e.value(t.kids[0]), e.value(t.kids[1])
	if len(e.problems) > 0 {
		return null
	}
	switch t.op {
	case opEqual:
		return truth(rawjson.Equal(a, b))
	case opOther:
		return truth(!rawjson.Equal(a, b))
	case opIn:
		return truth(e.holds(t, b, a))
	case opHas:
		return truth(e.holds(t, a, b))
	}
	return truth(e.ordered(t, a, b))
}

func truth(b bool) []byte {
	if b {
		return jsonTrue
	}
	return jsonFalse
}

// ordered compares two numbers, or two texts by their bytes.
func (e *evaluation) ordered(t *term, a, b []byte) bool {
	c := 0
	switch x, y := rawjson.KindOf(a), rawjson.KindOf(b); {
	case x == rawjson.Number && y == rawjson.Number:
		c = compareNumbers(a, b)
	case x == rawjson.String && y == rawjson.String:
		c = bytes.Compare(rawjson.Unquote(a), rawjson.Unquote(b))
	default:
		e.refuse(t, "compares %s with %s; only two numbers or two texts have an order", kindText(x), kindText(y))
		return false
	}
	switch t.op {
	case opLess:
		return c < 0
	case opMost:
		return c <= 0
	case opMore:
		return c > 0
	}
	return c >= 0
}

// holds reports whether a list has an element, a text a part, or an object a key.
func (e *evaluation) holds(t *term, holder, held []byte) bool {
	kind := rawjson.KindOf(holder)
	if kind == rawjson.Array {
		for it := rawjson.Walk(holder); it.Next(); {
			if rawjson.Equal(it.Value, held) {
				return true
			}
		}
		return false
	}
	if k := rawjson.KindOf(held); (kind == rawjson.String || kind == rawjson.Object) && k != rawjson.String {
		e.refuse(t, "looks for %s in %s, which contains only texts", kindText(k), kindText(kind))
		return false
	}
	switch kind {
	case rawjson.String:
		return bytes.Contains(rawjson.Unquote(holder), rawjson.Unquote(held))
	case rawjson.Object:
		_, ok := rawjson.Field(holder, string(rawjson.Unquote(held)))
		return ok
	}
	e.refuse(t, "looks into %s; only lists, texts and objects contain something", kindText(kind))
	return false
}

// compareNumbers orders two JSON numbers by their value, exactly.
func compareNumbers(a, b []byte) int {
	if x, ok := smallInteger(a); ok {
		if y, ok := smallInteger(b); ok {
			return int(min(max(x-y, -1), 1))
		}
	}
	x, y := newDecimal(a), newDecimal(b)
	if x.sign != y.sign {
		return x.sign - y.sign
	}
	c := 0
	switch {
	case x.point != y.point:
		c = 1
		if x.point < y.point {
			c = -1
		}
	default:
		c = bytes.Compare(x.digits, y.digits)
	}
	return c * x.sign
}

// smallInteger reads an integer of at most 15 digits, whose differences cannot overflow.
func smallInteger(raw []byte) (int64, bool) {
	if len(raw) > 15 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// decimal is a number as sign * 0.digits * 10^point, without zeros at either end of the digits.
type decimal struct {
	sign   int // -1, 0 or 1
	digits []byte
	point  int64
}

// maxExponent is where exponents stop counting; numbers beyond it are not distinguished.
const maxExponent = 1 << 40

func newDecimal(raw []byte) decimal {
	d := decimal{sign: 1}
	if len(raw) > 0 && raw[0] == '-' {
		d.sign, raw = -1, raw[1:]
	}
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		exponent, err := strconv.ParseInt(string(raw[i+1:]), 10, 64)
		if err != nil && raw[i+1] == '-' || exponent < -maxExponent {
			exponent = -maxExponent
		} else if err != nil || exponent > maxExponent {
			exponent = maxExponent
		}
		d.point, raw = exponent, raw[:i]
	}
	whole, fraction, _ := bytes.Cut(raw, []byte{'.'})
	d.point += int64(len(whole))
	d.digits = append(append(make([]byte, 0, len(raw)), whole...), fraction...)
	trimmed := bytes.TrimLeft(d.digits, "0")
	d.point -= int64(len(d.digits) - len(trimmed))
	d.digits = bytes.TrimRight(trimmed, "0")
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}
