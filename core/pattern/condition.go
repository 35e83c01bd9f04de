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

// operator is what a term of a condition does.
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
	take  func(*reference) // is told of each variable
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

func (p *conditionParser) unary() *term {
	p.space()
	if !p.peek('!') {
		return p.primary()
	}
	p.pos++
	p.enter()
	defer func() { p.depth-- }()
	if p.err != nil {
		return &term{}
	}
	inner := p.unary()
	if p.err == nil {
		p.boolean(inner, "what ! stands before")
	}
	return &term{op: opNot, kids: []*term{inner}}
}

func (p *conditionParser) peek(b byte) bool { return p.pos < len(p.text) && p.text[p.pos] == b }

// primary reads a literal, a variable, a list, or a condition in parentheses.
func (p *conditionParser) primary() *term {
	rest := p.text[p.pos:]
	p.count()
	switch {
	case p.err != nil:
	case rest == "":
		p.unexpected("a value")
	case rest[0] == '(':
		return p.parentheses()
	case rest[0] == '[':
		return p.list()
	case rest[0] == '\'' || rest[0] == '"':
		return p.quoted()
	case rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9':
		return p.number()
	case strings.HasPrefix(rest, "${"):
		return p.braced()
	case nameByte(rest[0]):
		return p.word()
	default:
		p.unexpected("a value")
	}
	return &term{}
}

func (p *conditionParser) parentheses() *term {
	p.pos++
	p.enter()
	defer func() { p.depth-- }()
	if p.err != nil {
		return &term{}
	}
	inner := p.binary(0)
	p.space()
	if p.err == nil && !p.peek(')') {
		p.unexpected("a closing parenthesis")
	}
	p.pos++
	if inner.op == opAnd || inner.op == opOr { // (a && b) && c keeps its parts together
		return &term{op: inner.op, kids: inner.kids[:len(inner.kids):len(inner.kids)]}
	}
	return inner
}

func (p *conditionParser) list() *term {
	p.pos++
	p.enter()
	defer func() { p.depth-- }()
	t := &term{op: opList}
	for p.space(); p.err == nil && !p.peek(']'); p.space() {
		if len(t.kids) > 0 {
			if !p.peek(',') {
				p.unexpected("a comma or a closing bracket")
				break
			}
			p.pos++
		}
		t.kids = append(t.kids, p.binary(0))
	}
	p.pos++
	return t
}

// quoted reads text in single or double quotes; in it \ makes the next character literal.
func (p *conditionParser) quoted() *term {
	quote, begin := p.text[p.pos], p.pos
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch {
		case p.text[p.pos] == '\\' && p.pos+1 < len(p.text):
			p.pos++
		case p.text[p.pos] == quote:
			p.pos++
			text := b.String()
			if i := strings.Index(text, "${"); i >= 0 && closingBrace(text[i:]) > 0 {
				p.fail("has the variable %s inside quotes, where it is plain text: take the quotes away", clip(text[i:], 64))
			}
			return &term{value: literal(rawjson.AppendString(nil, text))}
		}
		b.WriteByte(p.text[p.pos])
	}
	p.fail("lacks the closing quote of %s", clip(p.text[begin:], 16))
	return &term{}
}

func (p *conditionParser) number() *term {
	end, ok := rawjson.NumberEnd([]byte(p.text), p.pos)
	if !ok || end < len(p.text) && (nameByte(p.text[end]) || p.text[end] == '.') {
		p.unexpected("a number")
		return &term{}
	}
	t := &term{value: literal(p.text[p.pos:end])}
	p.pos = end
	return t
}

func (p *conditionParser) braced() *term {
	rest := p.text[p.pos:]
	end := closingBrace(rest)
	if end < 0 {
		p.fail("lacks the closing brace of %s", clip(rest, 16))
		return &term{}
	}
	t := p.variable(strings.TrimSpace(rest[2:end]))
	p.pos += end + 1
	return t
}

// word reads a variable without braces, or true, false and null.
func (p *conditionParser) word() *term {
	n := pathLength(p.text[p.pos:])
	word := p.text[p.pos : p.pos+n]
	switch word {
	case "true", "false", "null":
		p.pos += n
		return &term{value: literal(word)}
	case string(opIn), string(opHas):
		p.unexpected("a value")
		return &term{}
	}
	if strings.EqualFold(word, "not") {
		p.unexpected("a value")
		return &term{}
	}
	t := p.variable(word)
	p.pos += n
	return t
}

func (p *conditionParser) variable(text string) *term {
	ref, err := parseReference(text)
	if err != nil {
		p.fail("has %q, which %w", clip(text, 64), err)
		return &term{}
	}
	p.take(ref)
	return &term{ref: ref}
}

// pathLength returns how many bytes at the beginning of text look like a path.
func pathLength(text string) int {
	i := 0
	for i < len(text) {
		switch b := text[i]; {
		case nameByte(b), b == '.':
			i++
		case b == '[':
			end := closingBracket(text[i:])
			if end < 0 {
				return len(text)
			}
			i += end + 1
		default:
			return i
		}
	}
	return i
}

// closingBracket finds the end of [...]; brackets in a quoted key do not count.
func closingBracket(text string) int {
	quote := byte(0)
	for i := 1; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\':
			i++
		case b == quote:
			quote = 0
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case b == ']' && quote == 0:
			return i
		}
	}
	return -1
}
