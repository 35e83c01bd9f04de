package report

import "strings"

// block is a part of a message that may be a report.
type block struct {
	body   string
	behind string // the message's text behind it
	ours   bool   // marked as wardroom
}

// mark is the info string of a fence, or the word before an object, that marks a report.
const mark = "wardroom"

// fence is the opening line of a fenced block.
type fence struct {
	char  byte
	width int
	info  string // what follows the fence, trimmed
}

// openFence reads a line that opens a fenced block. Lines may be indented, as in lists; a quoted line (">") opens none.
func openFence(line string) (fence, bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}, false
	}
	rest := strings.TrimLeft(line, line[:1])
	f := fence{char: line[0], width: len(line) - len(rest), info: strings.TrimSpace(rest)}
	if f.width < 3 || f.char == '`' && strings.Contains(f.info, "`") {
		return fence{}, false
	}
	return f, true
}

// closes reports whether a line ends the block.
func (f fence) closes(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= f.width && strings.Trim(line, string(f.char)) == ""
}

// oneLine reads a block that is written on a single line: ```wardroom {...}```.
func oneLine(line string) (block, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "```")
	if !ok {
		return block{}, false
	}
	inner = strings.TrimSpace(strings.TrimLeft(inner, "`"))
	body, marked := cutMark(inner)
	end := strings.LastIndexByte(body, '}')
	if !marked || !strings.HasPrefix(body, "{") || end < 0 || strings.Trim(strings.TrimSpace(body[end+1:]), "`") != "" {
		return block{}, false
	}
	return block{body: body[:end+1], ours: true}, true
}

// cutMark cuts the mark from the beginning of s.
func cutMark(s string) (rest string, marked bool) {
	if len(s) < len(mark) || !strings.EqualFold(s[:len(mark)], mark) {
		return s, false
	}
	rest = s[len(mark):]
	if rest != "" && !strings.ContainsAny(rest[:1], " \t\n:{") {
		return s, false
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ":")), true
}

// lastBlock finds the last fenced block of a message; one that is not closed ends with the message. The result is
// false when there is no block, or the last one holds something else than an object.
func lastBlock(text string) (block, bool) {
	var last block
	found, inside := false, false
	var open fence
	start := 0
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := len(text)
		if end < 0 {
			end = len(text)
		} else {
			end += at
			next = end + 1
		}
		line := text[at:end]
		switch {
		case inside && open.closes(line):
			last, found, inside = open.block(text[start:at]), true, false
			last.behind = text[next:]
		case inside:
		default:
			if b, ok := oneLine(line); ok {
				last, found = b, true
				last.behind = text[next:]
			} else if f, ok := openFence(line); ok {
				open, inside, start = f, true, next
			}
		}
		at = next
	}
	if inside {
		last, found = open.block(text[start:]), true
	}
	if !found || !last.ours && !objectLike(last.body) {
		return block{}, found
	}
	return last, true
}

// block makes the block of a fence. Agents also write the object, or its beginning, behind the mark.
func (f fence) block(content string) block {
	rest, ours := cutMark(f.info)
	if ours && strings.HasPrefix(rest, "{") {
		content = rest + "\n" + content
	}
	if inner, marked := cutMark(strings.TrimSpace(content)); marked { // the mark on a line of its own
		content, ours = inner, true
	}
	return block{body: content, ours: ours}
}

func objectLike(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")
}

// maxTries is how many braces from the end lastObject looks at: more than a report within the bounds has.
const maxTries = 4 * (MaxArtifacts + MaxDecisions)

// lastObject finds an object that a message without fenced blocks ends with. It begins a line, or stands behind the
// mark.
func lastObject(text string) (block, bool) {
	text = strings.TrimRight(text, " \n\t")
	if !strings.HasSuffix(text, "}") {
		return block{}, false
	}
	from := max(0, len(text)-maxBody)
	at := len(text)
	for range maxTries {
		at = strings.LastIndexByte(text[:at], '{')
		if at < from {
			break
		}
		line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		before := strings.Trim(line, " \t:*`")
		marked := strings.EqualFold(before, mark)
		if !marked && strings.TrimSpace(line) != "" {
			continue
		}
		if _, ok := parseObject(text[at:]); ok {
			return block{body: text[at:], ours: marked || markedAbove(text[:at])}, true
		}
	}
	return block{}, false
}

// markedAbove reports whether the last line with text is the mark alone.
func markedAbove(text string) bool {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.EqualFold(strings.Trim(line, " \t:*`#"), mark)
}
