package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// Bounds of a definition. They stop texts that are small and unfold into something huge.
const (
	maxYAMLDepth = 64
	maxYAMLNodes = 250_000
	maxYAMLBytes = 4 << 20 // of all scalars, aliases unfolded
	// maxWorkflowDepth is the bound below the key workflow, where a step takes two levels: its list and itself.
	maxWorkflowDepth = 2*maxNesting + maxYAMLDepth
)

// whole is the path of problems that concern the definition as such.
const whole = "definition"

// readYAML turns source into a tree. The tree is nil if a problem makes it useless. noOctal is that of rules.
func readYAML(source string, limit int, noOctal bool) (*node, []core.Problem) {
	fatal := func(line int, format string, args ...any) (*node, []core.Problem) {
		return nil, []core.Problem{{Path: whole, Line: line, Reason: fmt.Sprintf(format, args...)}}
	}
	if len(source) > limit {
		return fatal(0, "is %d bytes long; at most %d are allowed", len(source), limit)
	}
	if !utf8.ValidString(source) {
		return fatal(0, "is not UTF-8 text")
	}
	decoder := yaml.NewDecoder(strings.NewReader(source))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return fatal(0, "is empty")
		}
		line, reason := yamlFault(err, source)
		return fatal(line, "%s", reason)
	}
	if err := decoder.Decode(&second); err == nil {
		return fatal(second.Line, "holds several documents; only one is allowed")
	} else if !errors.Is(err, io.EOF) {
		line, reason := yamlFault(err, source)
		return fatal(line, "%s", reason)
	}
	if len(document.Content) != 1 {
		return fatal(0, "is empty")
	}
	u := unfolder{limit: maxYAMLDepth, noOctal: noOctal}
	root := u.unfold(nil, document.Content[0], 1)
	if u.spent {
		return fatal(0, "unfolds to more than %d values or %d bytes: it uses too many aliases", maxYAMLNodes, maxYAMLBytes)
	}
	return root, u.list
}

// yamlFault says where the text is no YAML, and why.
func yamlFault(err error, source string) (int, string) {
	line, reason := schema.Syntax(err, source)
	if strings.HasPrefix(reason, "is not YAML: exceeded max depth") {
		reason = fmt.Sprintf("is nested too deep; steps may be nested at most %d deep, other values %d", maxNesting, maxYAMLDepth)
	}
	return line, reason
}

// unfolder copies the YAML reader's graph into a tree and counts what it makes.
type unfolder struct {
	problems
	limit   int  // of depth, where it stands now
	noOctal bool // see rules
	nodes   int
	bytes   int
	spent   bool // a bound was met: nothing more is made
	deep    bool // the bound of depth below workflow was met
}

// trail is where the unfolder stands: a path that is written out only for a problem.
type trail struct {
	up    *trail
	key   string
	index int // -1 for a key
}

func (t *trail) String() string {
	if t == nil {
		return ""
	}
	var all []*trail
	for ; t != nil; t = t.up {
		all = append(all, t)
	}
	path := ""
	for i := len(all) - 1; i >= 0; i-- {
		if t = all[i]; t.index >= 0 {
			path += "[" + strconv.Itoa(t.index) + "]"
		} else {
			path = join(path, t.key)
		}
	}
	return path
}

func (u *unfolder) report(at *trail, line int, format string, args ...any) {
	if len(u.list) < maxProblems {
		u.add(at.String(), line, format, args...)
	}
}

func (u *unfolder) unfold(at *trail, y *yaml.Node, depth int) *node {
	n := &node{line: y.Line}
	u.nodes++
	u.bytes += len(y.Value)
	if u.nodes > maxYAMLNodes || u.bytes > maxYAMLBytes {
		u.spent = true
	}
	if u.spent {
		return n
	}
	if depth > u.limit {
		u.tooDeep(at, y.Line)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		n = u.unfold(at, y.Alias, depth+1)
		n.line, n.block = y.Line, false // its lines are not those after the alias
	case yaml.MappingNode:
		n.kind = mapNode
		u.fill(at, n, y, depth)
	case yaml.SequenceNode:
		n.kind = listNode
		if tag := y.ShortTag(); tag != "!!seq" {
			u.report(at, y.Line, "the tag %s is not supported", tag)
		}
		n.items = make([]*node, 0, len(y.Content))
		for i, item := range y.Content {
			n.items = append(n.items, u.unfold(&trail{up: at, index: i}, item, depth+1))
		}
	default:
		u.scalar(at, n, y)
	}
	return n
}

func (u *unfolder) tooDeep(at *trail, line int) {
	switch {
	case u.limit != maxWorkflowDepth:
		u.report(at, line, "is nested more than %d deep", u.limit)
	case !u.deep: // once: each of the values down there is too deep
		u.deep = true
		u.report(at, line, "is nested too deep: steps may be nested at most %d deep", maxNesting)
	}
	u.spent = u.spent || len(u.list) > 100 // an alias inside itself
}

// fill reads the entries of a mapping. Keys of `<<` mappings come after the mapping's own and never
// replace them.
func (u *unfolder) fill(at *trail, n *node, y *yaml.Node, depth int) {
	if tag := y.ShortTag(); tag != "!!map" {
		u.report(at, y.Line, "the tag %s is not supported", tag)
	}
	seen := make(map[string]int, len(y.Content)/2)
	n.keys = make([]entry, 0, len(y.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content) && !u.spent; i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			u.report(at, key.Line, "a key must be text: put it in quotes")
			continue
		}
		here := &trail{up: at, key: key.Value, index: -1}
		if first, double := seen[key.Value]; double {
			u.report(here, key.Line, "is there twice; the first is in line %d", first)
			continue
		}
		seen[key.Value] = key.Line
		u.bytes += len(key.Value)
		if depth == 1 && key.Value == "workflow" {
			u.limit = maxWorkflowDepth
		}
		n.keys = append(n.keys, entry{key.Value, key.Line, u.unfold(here, value, depth+1)})
		if depth == 1 {
			u.limit = maxYAMLDepth
		}
	}
	for _, m := range merges {
		u.merge(at, n, seen, m, depth)
	}
}

func (u *unfolder) merge(at *trail, n *node, seen map[string]int, y *yaml.Node, depth int) {
	from := u.unfold(at, y, depth+1)
	sources := []*node{from}
	if from.kind == listNode {
		sources = from.items
	}
	for _, source := range sources {
		if source.kind != mapNode {
			if !u.spent {
				u.report(at, y.Line, "<< takes a map or a list of maps")
			}
			return
		}
		for _, e := range source.keys {
			if _, there := seen[e.key]; !there {
				seen[e.key] = e.line
				n.keys = append(n.keys, e)
			}
		}
	}
}

// scalar reads a single value. Numbers keep their text where JSON writes them the same way.
func (u *unfolder) scalar(at *trail, n *node, y *yaml.Node) {
	n.plain, n.text = y.Value, y.Value
	n.block = y.Style&yaml.LiteralStyle != 0
	switch tag := y.ShortTag(); tag {
	case "!!null":
		n.kind = nullNode
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			u.report(at, y.Line, "is not a boolean")
		}
		n.kind, n.text = boolNode, strconv.FormatBool(b)
	case "!!int", "!!float":
		n.kind = numberNode
		n.text = numberText(y)
		if sign, digits := leadingZero(y.Value); digits != "" && u.noOctal && !isVersion(at) {
			octal := ""
			if strings.Trim(digits, "01234567") == "" {
				octal = ", " + sign + "0o" + digits + " if it is octal"
			}
			n.text = strings.TrimPrefix(sign, "+") + digits
			u.report(at, y.Line, "%s has a leading zero: write %s%s, or quotes around a text", clip(y.Value, 64), clip(n.text, 64), clip(octal, 80))
		}
		if n.text == "" {
			n.text = "0"
			u.report(at, y.Line, "%s is not a number that JSON can hold", y.Value)
		}
	case "!!str", "!!timestamp": // a date is just text here
		n.kind = textNode
	default:
		n.kind = textNode
		advice := ""
		if !strings.HasPrefix(tag, "!!") {
			advice = "; a text that begins with ! needs quotes"
		}
		u.report(at, y.Line, "the tag %s is not supported%s", clip(tag, 64), advice)
	}
}

// leadingZero returns the sign and the digits, without that zero, of a whole number that begins with a zero, as 010, which is eight to YAML
// 1.1 and ten to YAML 1.2 and to people; "" for any other.
func leadingZero(text string) (sign, digits string) {
	rest := strings.TrimLeft(text, "+-")
	if len(rest) < 2 || rest[0] != '0' || strings.Trim(rest, "0123456789_") != "" {
		return "", ""
	}
	return text[:len(text)-len(rest)], cmp.Or(strings.TrimLeft(strings.ReplaceAll(rest, "_", ""), "0"), "0")
}

// isVersion reports whether a value is the version of the definition, which is the text as it was written.
func isVersion(at *trail) bool { return at != nil && at.up == nil && at.key == "version" }

// numberText returns a YAML number as JSON text, or "" if JSON has no such number.
func numberText(y *yaml.Node) string {
	if rawjson.IsNumber(y.Value) {
		return y.Value
	}
	var i int64
	if y.Decode(&i) == nil && y.ShortTag() == "!!int" {
		return strconv.FormatInt(i, 10)
	}
	var n uint64
	if y.Decode(&n) == nil && y.ShortTag() == "!!int" {
		return strconv.FormatUint(n, 10)
	}
	var f float64
	if y.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return ""
	}
	return string(rawjson.AppendFloat(nil, f))
}
