package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Bounds of a condition.
const (
	maxCondition      = 16 << 10 // bytes
	maxConditionTerms = 1000
	maxConditionDepth = 100 // parentheses and exclamation marks one inside the other
)

// operator is the operator of a term of a condition.
type operator string

const (
	opValue operator = ""  // a literal or a variable
	opList  operator = "[" // a list of terms
	opNot   operator = "!"
	opAnd   operator = "&&"
	opOr    operator = "||"
	opEqual operator = "=="
	opOther operator = "!="
	opLess  operator = "<"
	opMost  operator = "<="
	opMore  operator = ">"
	opLeast operator = ">="
	opIn    operator = "in"
	opHas   operator = "contains"
)

// levels are the binary operators, those that bind weakest first, as in C.
var levels = [...][]operator{
	{opOr}, {opAnd}, {opEqual, opOther}, {opMost, opLeast, opLess, opMore, opIn, opHas},
}

// term is a node of a condition.
type term struct {
	op    operator
	value literal    // of opValue, unless ref is set
	ref   *reference // of opValue
	kids  []*term    // two or more of && and ||, one of !, two of the comparisons, any number of a list
}

// kind is the type of a term's value, rawjson.Invalid if that shows only when it is evaluated.
func (t *term) kind() rawjson.Kind {
	switch {
	case t.op == opList:
		return rawjson.Array
	case t.op != opValue:
		return rawjson.Bool
	case t.ref != nil:
		return rawjson.Invalid
	}
	return rawjson.KindOf(t.value)
}

// conditionParser reads a condition. Every method leaves pos behind what it read, or sets err.
type conditionParser struct {
	text  string
	pos   int
	terms int
	depth int
	err   error
	take  func(*reference) // called with each variable
}

// parseCondition reads a condition up to the end of text.
func parseCondition(text string, take func(*reference)) (*term, error) {
	if len(text) > maxCondition {
		return nil, fmt.Errorf("is %d bytes long; at most %d are allowed", len(text), maxCondition)
	}
	p := &conditionParser{text: text, take: take}
	t := p.binary(0)
	p.space()
	if p.err == nil && p.pos < len(text) {
		p.unexpected("an operator")
	}
	if p.err == nil {
		p.boolean(t, "the condition")
	}
	if p.err != nil {
		return nil, p.err
	}
	return t, nil
}

// fail notes the first fault; later ones follow from it.
func (p *conditionParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// corrections are for those who know other languages.
var corrections = []struct{ wrong, right string }{
	{"===", "=="}, {"!==", "!="}, {"<>", "!="}, {"=", "=="}, {"&", "&&"}, {"|", "||"},
	{"and", "&&"}, {"or", "||"}, {"not", "!"},
}

func (p *conditionParser) unexpected(wanted string) {
	rest := p.text[p.pos:]
	at := utf8.RuneCountInString(p.text[:p.pos]) + 1
	if rest == "" {
		p.fail("ends where %s belongs", wanted)
		return
	}
	for _, c := range corrections {
		if strings.HasPrefix(strings.ToLower(rest), c.wrong) && (len(rest) == len(c.wrong) || !nameByte(c.wrong[0]) || !nameByte(rest[len(c.wrong)])) {
			p.fail("has %q at character %d; write %s", rest[:len(c.wrong)], at, c.right)
			return
		}
	}
	p.fail("has %q at character %d, where %s belongs", clip(rest, 16), at, wanted)
}

func (p *conditionParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// next reads the operator if it comes next.
func (p *conditionParser) next(op operator) bool {
	rest := p.text[p.pos:]
	if !strings.HasPrefix(rest, string(op)) {
		return false
	}
	n := len(op)
	if nameByte(op[0]) && n < len(rest) && nameByte(rest[n]) { // of in, not of inside
		return false
	}
	if (op == opEqual || op == opOther) && n < len(rest) && rest[n] == '=' {
		return false
	}
	if op == opLess && n < len(rest) && rest[n] == '>' {
		return false
	}
	p.pos += n
	return true
}

// binary reads operators of this level and of those that bind tighter.
func (p *conditionParser) binary(level int) *term {
	if level == len(levels) {
		return p.unary()
	}
	left := p.binary(level + 1)
	for p.err == nil {
		p.space()
		op := opValue
		for _, candidate := range levels[level] {
			if p.next(candidate) {
				op = candidate
				break
			}
		}
		if op == opValue {
			break
		}
		right := p.binary(level + 1)
		if p.err == nil {
			left = p.join(op, left, right)
		}
	}
	return left
}

// join makes one term of two, and refuses what can never come to a value.
func (p *conditionParser) join(op operator, left, right *term) *term {
	a, b := left.kind(), right.kind()
	switch op {
	case opAnd, opOr:
		p.boolean(left, "the left side of "+string(op))
		p.boolean(right, "the right side of "+string(op))
		if left.op == op { // a && b && c is one term, however long
			left.kids = append(left.kids, right)
			return left
		}
	case opLess, opMost, opMore, opLeast:
		if !orderable(a, b) {
			p.fail("compares %s with %s by %s; only two numbers or two texts have an order", kindText(a), kindText(b), op)
		}
	case opIn:
		p.holder(b, a)
	case opHas:
		p.holder(a, b)
	}
	p.count()
	return &term{op: op, kids: []*term{left, right}}
}

func orderable(a, b rawjson.Kind) bool {
	ordered := func(k rawjson.Kind) bool {
		return k == rawjson.Invalid || k == rawjson.Number || k == rawjson.String
	}
	return ordered(a) && ordered(b) && (a == b || a == rawjson.Invalid || b == rawjson.Invalid)
}

// holder checks what in and contains look into, and for what.
func (p *conditionParser) holder(holder, held rawjson.Kind) {
	switch holder {
	case rawjson.Invalid, rawjson.Array:
	case rawjson.String:
		if held != rawjson.Invalid && held != rawjson.String {
			p.fail("looks for %s in text, which contains only texts", kindText(held))
		}
	default:
		p.fail("looks for something in %s; only lists, texts and objects contain something", kindText(holder))
	}
}

// boolean checks that a term may be true or false.
func (p *conditionParser) boolean(t *term, what string) {
	if k := t.kind(); k != rawjson.Invalid && k != rawjson.Bool {
		p.fail("can never be true or false: %s is %s", what, kindText(k))
	}
}

func kindText(k rawjson.Kind) string {
	switch k {
	case rawjson.Invalid:
		return "a value"
	case rawjson.String:
		return "text"
	case rawjson.Array:
		return "a list"
	}
	return k.String()
}

func (p *conditionParser) count() {
	if p.terms++; p.terms > maxConditionTerms {
		p.fail("has more than %d terms", maxConditionTerms)
	}
}

// enter goes one level deeper; the caller leaves by p.depth--.
func (p *conditionParser) enter() {
	if p.depth++; p.depth > maxConditionDepth {
		p.fail("is nested more than %d deep", maxConditionDepth)
	}
	p.count()
}
