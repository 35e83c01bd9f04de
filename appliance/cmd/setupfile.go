package cmd

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setupHead begins a drop-in of setup.
const setupHead = "# Written by `wardroom setup`. Run again it changes what it asks for, and keeps everything else in this file. Files of this\n" +
	"# directory whose names sort later win.\n\n"

// formerHead began it in versions that replaced the file.
const formerHead = "# Written by `wardroom setup`, which replaces this file when it is run again. Settings of your own belong into another file\n" +
	"# of this directory; those whose names sort later win.\n\n"

// setupTree is a configuration file whose values can be changed without losing the rest of it: keys and comments that
// others put there stay.
type setupTree struct {
	former []byte // as it was read
	head   string // comment before the first key
	root   *yaml.Node
	edited bool
}

// readSetupTree parses a file; one that is not there is empty.
func readSetupTree(text []byte) (*setupTree, error) {
	t := &setupTree{former: text, head: setupHead, root: &yaml.Node{Kind: yaml.MappingNode}}
	body := string(text)
	for _, head := range []string{setupHead, formerHead} {
		body = strings.TrimPrefix(body, head)
	}
	if len(text) > 0 && body == string(text) {
		t.head = "" // somebody took it out
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(body), &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 1 && document.Content[0].Kind == yaml.MappingNode {
		t.root = document.Content[0]
		t.head += commentBlock(document.HeadComment)
		t.root.FootComment = document.FootComment
	}
	return t, nil
}

func commentBlock(comment string) string {
	if comment == "" {
		return ""
	}
	return comment + "\n\n"
}

// child returns where the value of a key stands in a mapping; -1 if it has none.
func child(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// text returns a value; "" where there is none.
func (t *setupTree) text(path ...string) string {
	at := t.root
	for _, key := range path {
		i := child(at, key)
		if i < 0 {
			return ""
		}
		at = at.Content[i]
	}
	return at.Value
}

// set gives a key a value, with a comment where the key is new.
func (t *setupTree) set(path, comment string, value any) {
	var wanted yaml.Node
	if err := wanted.Encode(value); err != nil {
		panic(err) // of texts, booleans and lists it does not fail
	}
	if text, ok := value.(string); ok {
		wanted = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	}
	at := t.root
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		i := child(at, key)
		if i < 0 || at.Content[i].Kind != yaml.MappingNode {
			if i >= 0 {
				at.Content = slices.Delete(at.Content, i-1, i+1) // a section without content
			}
			at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.MappingNode})
			i = len(at.Content) - 1
		}
		at = at.Content[i]
		at.Style &^= yaml.FlowStyle
	}
	last := keys[len(keys)-1]
	i := child(at, last)
	switch {
	case i < 0:
		at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: last, HeadComment: comment}, &wanted)
	case sameNode(at.Content[i], &wanted):
		return
	default:
		wanted.LineComment, wanted.FootComment = at.Content[i].LineComment, at.Content[i].FootComment
		at.Content[i] = &wanted
	}
	t.edited = true
}

func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameNode)
}

// drop takes a key out, and sections that are empty without it.
func (t *setupTree) drop(path string) {
	if dropKey(t.root, strings.Split(path, ".")) {
		t.edited = true
	}
}

func dropKey(at *yaml.Node, path []string) bool {
	i := child(at, path[0])
	if i < 0 {
		return false
	}
	if len(path) > 1 {
		if below := at.Content[i]; !dropKey(below, path[1:]) {
			return false
		} else if len(below.Content) > 0 {
			return true
		}
	}
	at.Content = slices.Delete(at.Content, i-1, i+1)
	return true
}

// bytes returns the file: that which was read if nothing changed.
func (t *setupTree) bytes() ([]byte, error) {
	if !t.edited && len(t.former) > 0 {
		return t.former, nil
	}
	if len(t.root.Content) == 0 {
		return []byte(strings.TrimSuffix(t.head, "\n")), nil
	}
	var out bytes.Buffer
	in := yaml.NewEncoder(&out)
	in.SetIndent(2)
	if err := in.Encode(t.root); err != nil {
		return nil, err
	}
	if err := in.Close(); err != nil {
		return nil, err
	}
	text := bytes.NewBufferString(t.head)
	former := ""
	for line := range strings.Lines(strings.TrimRight(out.String(), "\n") + "\n") {
		if former != "" && former != "\n" && line[0] != ' ' && line[0] != '\n' && line[0] != '-' && former[0] != '#' {
			text.WriteByte('\n') // sections stand apart
		}
		text.WriteString(line)
		former = line
	}
	return text.Bytes(), nil
}
