package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

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

// painter returns a function that colours text if w is a terminal and colours are wanted.
func (c *cli) painter(w io.Writer) func(style, string) string {
	if c.noColor || c.deps.Getenv("NO_COLOR") != "" || !isTerminal(w) {
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
	_, err := c.deps.Stdout.Write(out.Bytes())
	return err
}

func (c *cli) printYAML(body json.RawMessage) error {
	node, err := yamlNode(body)
	if err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	encoder := yaml.NewEncoder(c.deps.Stdout)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return err
	}
	return encoder.Close()
}

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

// clean makes text from elsewhere safe for a terminal: a control or formatting character could move the
// cursor, recolour the screen or turn the reading direction.
func clean[S ~string](text S) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
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
