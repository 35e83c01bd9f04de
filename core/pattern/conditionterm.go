package pattern

import (
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// unary reads a term with the exclamation marks before it.
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
			if i := strings.Index(text, "${"); i >= 0 && closing(text[i:], 2, '}') > 0 {
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
	end := closing(rest, 2, '}')
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
			end := closing(text[i:], 1, ']')
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
