package orgchart

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// maxWrapped is how deep a verdict may be wrapped.
const maxWrapped = 8

// strongKeys hold the verdict itself: a value that cannot be read makes the answer unreadable.
var strongKeys = words("verdict decision finalverdict finaldecision reviewverdict reviewdecision recommendation " +
	"judgment judgement ruling approval approvalstatus reviewstatus")

// weakKeys may hold the verdict, or tell how the work of judging went.
var weakKeys = words("status state outcome assessment conclusion action event review result")

// flagKeys are true or false; which of the two says what, is in the maps.
var (
	approveFlags = words("approved approve isapproved accepted accept isaccepted lgtm canmerge")
	reviseFlags  = words("needsrevision needsrevisions needschanges needswork needsrework changesrequested requestchanges revise")
	rejectFlags  = words("rejected reject isrejected denied declined")
)

// wrapperKeys hold answers, as objects or as text.
var wrapperKeys = strings.Fields("result output response answer review data content text message value verdicttext final")

// feedbackKeys, the first one that says something wins.
var feedbackKeys = strings.Fields("feedback comments comment issues requiredchanges changesrequested changes suggestions reason reasons " +
	"reasoning rationale explanation justification notes summary details message")

var confidenceKeys = strings.Fields("confidence confidencelevel confidencescore confidencepercent certainty")

func words(list string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// value reads a JSON value.
func (rd *reader) value(value json.RawMessage, depth int) reading {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || depth > maxWrapped {
		return reading{}
	}
	switch value[0] {
	case '{':
		return rd.object(value, depth)
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return reading{}
		}
		var all reading
		for _, item := range list {
			if r := rd.value(item, depth+1); r.signals != 0 {
				all = all.join(r)
			}
		}
		return all
	case '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return reading{}
		}
		return rd.text(text, depth+1)
	}
	return reading{}
}

// member is one key of an object, its name in lower case without underscores and the like.
type member struct {
	key   string
	value json.RawMessage
}

// members lists an object in its order, repeated keys included: they may contradict each other.
func members(object json.RawMessage) []member {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var list []member
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil
		}
		key, _ := token.(string)
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		list = append(list, member{plainKey(key), bytes.TrimSpace(value)})
	}
	return list
}

func plainKey(key string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, key))
}

func (rd *reader) object(object json.RawMessage, depth int) reading {
	list := members(object)
	var own, inner reading
	for _, m := range list {
		r := rd.member(m, depth)
		own.signals |= r.signals
		inner = inner.fill(r)
	}
	for _, key := range wrapperKeys {
		for _, m := range list {
			if m.key != key || weakKeys[key] && own.signals != 0 && m.value[0] == '"' {
				continue
			}
			r := rd.value(m.value, depth+1)
			if own.signals == 0 || own.signals.against(r.signals) {
				inner = inner.join(r)
			} else {
				inner = inner.fill(reading{confidence: r.confidence, confident: r.confident})
			}
		}
	}
	own.signals |= inner.signals

	// What the object says of itself comes before what is said further in.
	for _, key := range confidenceKeys {
		for _, m := range list {
			if !own.confident && m.key == key {
				own.confidence, own.confident = readConfidence(m.value)
			}
		}
	}
	from := ""
	for _, key := range feedbackKeys {
		for _, m := range list {
			if own.feedback == "" && m.key == key {
				own.feedback, from = plainText(m.value), key
			}
		}
	}
	if own.signals == 0 && !slices.Contains(wrapperKeys, from) { // that of a wrapper was read
		// As a last resort: an answer that puts its verdict into the remarks.
		own.signals = rd.text(own.feedback, depth+1).signals
	}
	// The remarks of a wrapped answer are nearer to the verdict than those of the wrapping.
	if inner.signals != 0 && inner.feedback != "" {
		own.feedback = inner.feedback
	}
	return own.fill(inner)
}

// member reads the verdict in one key, if it is a key for that.
func (rd *reader) member(m member, depth int) reading {
	var text string
	var flag, isFlag bool
	switch {
	case string(m.value) == "true":
		flag, isFlag = true, true
	case string(m.value) == "false":
		isFlag = true
	case m.value[0] == '"':
		if json.Unmarshal(m.value, &text) != nil {
			return reading{}
		}
		if yes, ok := yesOrNo(text); ok {
			flag, isFlag = yes, true
		}
	}
	pick := func(yes, no signals) reading {
		if flag {
			return reading{signals: yes}
		}
		return reading{signals: no}
	}
	strong := strongKeys[m.key]
	switch {
	case isFlag && (approveFlags[m.key] || strong):
		return pick(saysApprove, saysNot)
	case isFlag && reviseFlags[m.key]:
		return pick(saysRevise, 0)
	case isFlag && rejectFlags[m.key]:
		return pick(saysReject, 0)
	case string(m.value) == "null":
	case text != "" && (strong || approveFlags[m.key]):
		if !rd.takes(text) {
			return reading{signals: saysUnclear}
		}
		return readWords(text)
	case text != "" && weakKeys[m.key]:
		if s, ok := exact[normalize(text)]; ok && !statusWords[normalize(text)] {
			return reading{signals: s}
		}
	case strong && m.value[0] == '{' && depth < maxWrapped:
		return rd.object(m.value, depth+1)
	case strong:
		return reading{signals: saysUnclear}
	}
	return reading{}
}

// yesOrNo reads a flag that is written as text.
func yesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.Trim(text, " \t\n.!*_`")) {
	case "yes", "true", "y":
		return true, true
	case "no", "false", "n", "not yet":
		return false, true
	}
	return false, false
}

// readConfidence reads a number from 0 to 1, a percentage, parts of ten, or a word.
func readConfidence(value json.RawMessage) (float64, bool) {
	text := string(value)
	if value[0] == '"' && json.Unmarshal(value, &text) != nil {
		return 0, false
	}
	return confidenceOf(text)
}

func confidenceOf(text string) (float64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	switch text {
	case "very high", "certain":
		return 0.95, true
	case "high":
		return 0.9, true
	case "medium", "moderate":
		return 0.6, true
	case "low":
		return 0.3, true
	}
	whole := 0.0
	if before, after, ok := strings.Cut(text, "/"); ok {
		text = strings.TrimSpace(before)
		if whole, _ = strconv.ParseFloat(strings.TrimSpace(after), 64); !(whole > 0) {
			return 0, false
		}
	}
	for _, sign := range []string{"%", "percent"} {
		if before, ok := strings.CutSuffix(text, sign); ok {
			text, whole = strings.TrimSpace(before), 100
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return 0, false
	}
	switch {
	case whole > 0:
		n /= whole
	case n <= 1:
	case n <= 10:
		n /= 10
	default:
		n /= 100
	}
	return min(max(n, 0), 1), true
}

// plainText renders a value for people: text as it is, a list as lines, anything else as JSON.
func plainText(value json.RawMessage) string {
	var text string
	var list []json.RawMessage
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) == nil:
		var lines []string
		for _, item := range list {
			if json.Unmarshal(item, &text) != nil {
				text = string(item)
			}
			lines = append(lines, "- "+text)
		}
		return strings.Join(lines, "\n")
	case value[0] == '{':
		return string(value)
	}
	return ""
}
