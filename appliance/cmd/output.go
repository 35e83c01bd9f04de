package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/term"
)

// style is the meaning of a colour.
type style int

const (
	stylePlain style = iota
	styleGood
	styleBad
	styleBusy
	styleFaint
)

var styleCodes = map[style]string{styleGood: "32", styleBad: "31", styleBusy: "33", styleFaint: "2"}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// knowsSequences reports whether w is a terminal that has colours and a cursor to move.
func (c *cli) knowsSequences(w any) bool { return isTerminal(w) && c.deps.Getenv("TERM") != "dumb" }

// painter returns a function that colours text if w is a terminal and colours are wanted.
func (c *cli) painter(w io.Writer) func(style, string) string {
	if c.noColor || c.deps.Getenv("NO_COLOR") != "" || !c.knowsSequences(w) {
		return func(_ style, text string) string { return text }
	}
	return func(s style, text string) string {
		code, ok := styleCodes[s]
		if !ok || text == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}

// statusStyle gives the colour of a status word of any resource.
func statusStyle(status string) style {
	switch status {
	case "completed", "connected", "healthy", "ok", "answered", "succeeded":
		return styleGood
	case "failed", "unhealthy", "cancelled", "timeout", "lost", "expired":
		return styleBad
	case "pending", "running", "degraded", "open":
		return styleBusy
	case "disconnected", "skipped":
		return styleFaint
	}
	return stylePlain
}

// document encodes what a command made itself, for show. Nothing in it is escaped for the sake of HTML.
func document(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}

// printJSON prints the document indented; values and the order of keys stay as they are.
func (c *cli) printJSON(body json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(body), "", "  "); err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err := c.deps.Stdout.Write(escaped(out.Bytes(), jsonEscape))
	return err
}

func (c *cli) printYAML(body json.RawMessage) error {
	node, err := yamlNode(body)
	if err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(node), encoder.Close()); err != nil {
		return err
	}
	_, err = c.deps.Stdout.Write(escaped(out.Bytes(), yamlEscape))
	return err
}

// obeyed reports whether a terminal could obey a character: those of control and formatting move the cursor, recolour the screen
// or turn the reading direction.
func obeyed(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// escaped returns a document with the characters that a terminal could obey as escapes, and U+FFFD in place of what is no text.
// That means the same to programs. It leaves ASCII as it is: a document holds no control character of it in a text, and only
// delete among the others.
func escaped(doc []byte, escape func(out []byte, r rune) []byte) []byte {
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, "\ufffd"...)
		case r >= '\u007f' && obeyed(r):
			out = escape(out, r)
		default:
			out = append(out, doc[:size]...)
		}
		doc = doc[size:]
	}
	return out
}

// jsonEscape appends the escape of a character in a text of JSON.
func jsonEscape(out []byte, r rune) []byte {
	for _, unit := range utf16.Encode([]rune{r}) {
		out = fmt.Appendf(out, `\u%04x`, unit)
	}
	return out
}

// yamlEscape appends the escape of a character in a text of YAML between double quotes.
func yamlEscape(out []byte, r rune) []byte { return fmt.Appendf(out, `\U%08x`, r) }

// yamlNode turns JSON into YAML nodes, keeping the order of keys and the spelling of numbers.
func yamlNode(body json.RawMessage) (*yaml.Node, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	return yamlValue(decoder)
}

func yamlValue(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch value := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if value == '{' {
			node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		// The keys of an object come as tokens like its values, so both kinds are read alike.
		for decoder.More() {
			child, err := yamlValue(decoder)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := decoder.Token()
		return node, err
	case string:
		node := new(yaml.Node)
		node.SetString(value)
		if strings.ContainsFunc(value, func(r rune) bool { return r >= '\u007f' && obeyed(r) }) {
			node.Style = yaml.DoubleQuotedStyle // which has escapes
		}
		return node, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(value.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(value)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

// clean makes text from elsewhere safe for a terminal.
func clean[S ~string](text S) string {
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			if r == '\n' || r == '\t' {
				return ' '
			}
			return unicode.ReplacementChar
		}
		return r
	}, string(text))
}

// compact renders JSON on one line, cut to about width characters; 0 does not cut.
func compact(value json.RawMessage, width int) string {
	if len(value) == 0 {
		return ""
	}
	var out bytes.Buffer
	text := string(value)
	if json.Compact(&out, value) == nil {
		text = out.String()
	}
	return shorten(clean(text), width)
}

// shorten cuts text to width characters.
func shorten(text string, width int) string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return text
	}
	return string(runes[:width-3]) + "..."
}

// resultText renders a result for people. One that is nothing but text, which the API shows as {"text": ...}, is the text.
func resultText(value json.RawMessage) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(value, &fields) != nil || len(fields) != 1 || fields["text"] == nil || json.Unmarshal(fields["text"], &text) != nil {
		return pretty(value)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}

// pretty renders JSON over several lines for a person.
func pretty(value json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return clean(string(value))
	}
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}
