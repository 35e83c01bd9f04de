package orgchart

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Bounds of what is read, so that no answer keeps a run busy: a verdict stands at the beginning or at the
// end.
const (
	maxText    = 128 << 10 // bytes; of a longer text the beginning and the end are read, half of this each
	maxRead    = 256 << 10 // bytes of all texts of an answer; what comes after that is unclear
	maxScanned = 1 << 20   // bytes looked at for objects, failed attempts included
)

// text reads an answer in words, which may hold objects.
func (rd *reader) text(text string, depth int) reading {
	text = strings.TrimSpace(text)
	if text == "" || depth > maxWrapped {
		return reading{}
	}
	if strings.ContainsRune(`{["`, rune(text[0])) && json.Valid([]byte(text)) {
		if text[0] != '"' || len(text) > 2 {
			return rd.value(json.RawMessage(text), depth+1)
		}
		return reading{}
	}
	if s, ok := exactOf(text); ok {
		return reading{signals: s}
	}

	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText/2], "") + "\n" + strings.ToValidUTF8(text[len(text)-maxText/2:], "")
	}
	if !rd.takes(text) {
		return reading{signals: saysUnclear}
	}
	objects, rest := rd.objects(text, depth)
	labels, remarks := readLabels(rest)
	if objects.signals != 0 {
		if objects.signals.against(labels.signals) {
			objects.signals |= labels.signals
		}
		return objects.fill(labels).fill(reading{feedback: remarks})
	}
	said := reading{signals: readProse(remarks + "\n" + labels.feedback), feedback: remarks}
	if labels.signals == 0 || labels.signals.against(said.signals) {
		labels.signals |= said.signals
	}
	return labels.fill(said)
}

// objects reads the JSON objects in a text that hold a verdict, and returns the text without them.
func (rd *reader) objects(text string, depth int) (reading, string) {
	var all reading
	var rest strings.Builder
	budget := maxScanned
	at := 0
	for budget > 0 {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		rest.WriteString(text[at : at+next])
		at += next
		var object json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		err := dec.Decode(&object)
		if err == nil {
			r := rd.object(object, depth+1)
			if r.signals != 0 {
				all = all.join(r)
			} else {
				rest.WriteString(text[at : at+len(object)])
			}
			at += len(object)
			budget -= len(object)
			continue
		}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			budget -= int(syntax.Offset)
		}
		budget -= 512 // what a decoder reads at least
		if errors.Is(err, io.ErrUnexpectedEOF) {
			break // no object ends after this point that begins before it; a later one would be within
		}
		rest.WriteByte('{')
		at++
	}
	rest.WriteString(text[at:])
	return all, rest.String()
}

var (
	// A label, what divides it from its value, and the value: "**Verdict:** approve", "| Decision | reject |".
	verdictLabel = expression(`(?i)^[^\pL]*(?:(?:my|the|final|overall|review|review's) )*` +
		`(verdict|decision|recommendation|approval status|approval|review status|judge?ment|ruling|status|outcome|approved?|accepted)` +
		`["'*_` + "`" + `\s]*(:|=|\||→|->| is\b|\s[-–—]\s)(.*)$`)
	// A heading that has its value in the next line.
	verdictHeading = expression(`(?i)^[#*_\s]*(?:(?:my|the|final|overall) )*(verdict|decision|recommendation)[:*_\s]*$`)
	remarkLabel    = expression(`(?i)^[^\pL]*(feedback|comments?|reasons?|reasoning|rationale|explanation|summary)["'*_` + "`" + `]*\s*[:=](.*)$`)
	confidenceLine = expression(`(?i)confidence(?: level| score| rating)?["'*_` + "`" + `\s]*(?:[:=|]|is|of|-)?["'*_` + "`" + `|\s]*` +
		`((?:\d+(?:\.\d+)?|\.\d+)\s*(?:%|percent|/\s*\d+)?|very high|high|medium|moderate|low)`)
	confidentWords = expression(`(?i)(\d+(?:\.\d+)?\s*(?:%|percent))\s+(?:confiden|sure|certain)`)
	// The choice as it was offered, repeated by the agent.
	offered = expression(`^(?:one of )?approved? (?:, )?(?:or )?(?:revised?|request changes) (?:, )?(?:or )?reject(?:ed)?$`)
)

// readLabels reads lines like "Verdict: approve". remarks is the rest of the text.
func readLabels(text string) (found reading, remarks string) {
	var rest []string
	lines := strings.Split(text, "\n")
	heading, inRemarks := false, false
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			continue
		}
		if m := confidenceLine().FindStringSubmatch(line); m != nil && !found.confident {
			found.confidence, found.confident = confidenceOf(m[1])
		} else if m := confidentWords().FindStringSubmatch(line); m != nil && !found.confident {
			found.confidence, found.confident = confidenceOf(m[1])
		}
		if heading && trimmed != "" {
			heading = false
			if s := valueSignals(trimmed); s != 0 {
				found.signals |= s
				continue
			}
		}
		if verdictHeading().MatchString(line) {
			heading = true
			continue
		}
		if m := verdictLabel().FindStringSubmatch(line); m != nil {
			if s, ok := labelSignals(strings.ToLower(m[1]), m[2], m[3]); ok {
				found.signals |= s
				inRemarks = false
				if _, more, ok := strings.Cut(m[3], ". "); ok {
					rest = append(rest, strings.TrimSpace(more))
				}
				continue
			}
		}
		if m := remarkLabel().FindStringSubmatch(line); m != nil && found.feedback == "" {
			inRemarks = true
			found.feedback = strings.TrimSpace(strings.Trim(strings.TrimSpace(m[2]), `"'*_|`))
			continue
		}
		if loc := confidenceLine().FindStringIndex(line); len(loc) > 0 && loc[1]-loc[0] > len(trimmed)-8 {
			inRemarks = false
			continue
		}
		if inRemarks {
			found.feedback += "\n" + line
			continue
		}
		rest = append(rest, line)
	}
	found.feedback = strings.TrimSpace(found.feedback)
	return found, strings.TrimSpace(strings.Join(rest, "\n"))
}

// labelSignals reads the value of a label; ok is false when the line is no label after all.
func labelSignals(label, divider, value string) (s signals, ok bool) {
	value = strings.TrimSpace(value)
	if quoted := strings.TrimLeft(value, `*_ `); quoted != "" && strings.ContainsRune("\"'`", rune(quoted[0])) {
		if end := strings.IndexByte(quoted[1:], quoted[0]); end >= 0 {
			value = quoted[1 : 1+end]
		}
	}
	switch label {
	case "approve", "approved", "accepted":
		// "Approved: the plan is good" is no flag but a sentence.
		yes, isFlag := yesOrNo(strings.Trim(value, " *_`|,}"))
		if !isFlag || strings.TrimSpace(divider) == "-" {
			return 0, false
		}
		if yes {
			return saysApprove, true
		}
		return saysNot, true
	case "status", "outcome":
		word := normalize(value)
		if s, found := exact[word]; found && !statusWords[word] {
			return s, true
		}
		return 0, false
	}
	if strings.TrimSpace(value) == "" {
		return 0, false
	}
	if offered().MatchString(normalize(value)) {
		return 0, true
	}
	if s = valueSignals(value); s == 0 {
		s = saysUnclear
	}
	return s, true
}

// valueSignals reads a value that is known to be a verdict, with whatever is said after it.
func valueSignals(value string) signals { return readWords(value).signals }

// readWords reads the value of a key or a label that is there for a verdict. Text that says nothing of one is unclear,
// unless it repeats the choice.
func readWords(text string) reading {
	if s, ok := exactOf(text); ok {
		return reading{signals: s}
	}
	if offered().MatchString(normalize(text)) {
		return reading{}
	}
	list := sentences(text)
	if len(list) == 0 {
		return reading{} // a template that was not filled in
	}
	first := list[0]
	s := phraseSignals(first, false)
	if lead, _, _ := strings.Cut(first.text, " , "); s == 0 && !first.asked {
		s = exact[lead]
	}
	for _, next := range list[1:] {
		s |= phraseSignals(next, true)
	}
	s = cmp.Or(s, saysUnclear)
	r := reading{signals: s}
	if _, rest, found := strings.Cut(text, ". "); found {
		r.feedback = strings.TrimSpace(rest)
	}
	return r
}
