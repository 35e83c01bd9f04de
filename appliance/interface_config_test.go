package appliance_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/config"
)

// configWorld holds the configurations of an empty file, and of files with every key.
type configWorld struct {
	dir      string
	defaults map[string]any
	examples []map[string]any
}

func newConfigWorld(t *testing.T) *configWorld {
	t.Helper()
	c := &configWorld{dir: t.TempDir()}
	shown := func(path string) map[string]any {
		t.Helper()
		loaded, err := config.Load(path, config.Options{Lookup: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		text, err := config.Show(loaded)
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	// Entries of maps have defaults too: those of one that says the least.
	path := filepath.Join(c.dir, "least.yaml")
	write(t, path, "runtimes: {least: {url: 'http://127.0.0.1:3100'}}\nagentTypes: {least: {command: sh}}\n")
	c.defaults = shown(path)
	files, err := filepath.Glob("../core/config/testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name == "every-key.good.yaml" || name == "certificate-secrets.good.yaml" {
			c.examples = append(c.examples, shown(file))
		}
	}
	return c
}

// configKeys: KEY:TYPE=DEFAULT... The key has the default, takes another value, and refuses one of another type.
func (w *interfaceWorld) configKeys(what string) error {
	var problems []error
	for _, word := range strings.Fields(what) {
		name, typ, _ := strings.Cut(word, ":")
		typ, def, _ := strings.Cut(typ, "=")
		problems = append(problems, named(name, w.config.key(name, typ, def)))
	}
	return errors.Join(problems...)
}

func (c *configWorld) key(name, typ, def string) error {
	entry := strings.Contains(name, ".*.")
	got, ok := lookUp(c.defaults, strings.Replace(name, ".*.", ".least.", 1))
	if !ok && !entry { // what may be left out of an entry is not shown
		return errors.New("there is no such key")
	}
	if ok && !entry && !sameSetting(got, def, typ) {
		return fmt.Errorf("its default is %v", got)
	}
	changed := slices.ContainsFunc(c.examples, func(example map[string]any) bool {
		for _, name := range entriesOf(example, name) {
			if value, ok := lookUp(example, name); ok && !sameSetting(value, def, typ) {
				return true
			}
		}
		return false
	})
	if !changed {
		return errors.New("no example has another value than the default: it may be accepted and ignored")
	}
	if words := strings.Split(typ, "|"); len(words) > 1 {
		for _, value := range words {
			if refusal, err := c.refusal(name, value); err != nil || strings.Contains(refusal, "must be") && strings.Contains(refusal, strconv.Quote(value)) {
				return fmt.Errorf("%s is refused: %s %w", value, refusal, err)
			}
		}
	}
	wrong := map[string]string{"boolean": "perhaps", "number": "lots", "size": "lots", "duration": "soon", "strings": "{a: b}", "list": "text"}[typ]
	switch {
	case strings.Contains(typ, "|"):
		wrong = "another"
	case wrong == "":
		wrong = "{a: b}"
	}
	refusal, err := c.refusal(name, wrong)
	if err == nil && !strings.Contains(refusal, strings.Replace(name, ".*.", ".odd.", 1)) {
		err = fmt.Errorf("the value %s is taken: %s", wrong, refusal)
	}
	return err
}

// refusal returns what the reader has against a file with one key.
func (c *configWorld) refusal(name, value string) (string, error) {
	var text strings.Builder
	steps := strings.Split(strings.Replace(name, ".*.", ".odd.", 1), ".")
	for depth, step := range steps {
		text.WriteString(strings.Repeat("  ", depth) + step + ":")
		if depth < len(steps)-1 {
			text.WriteString("\n")
		}
	}
	path := filepath.Join(c.dir, "one.yaml")
	if err := os.WriteFile(path, []byte(text.String()+" "+value+"\n"), 0o600); err != nil {
		return "", err
	}
	_, err := config.Load(path, config.Options{Lookup: func(string) (string, bool) { return "", false }})
	if err == nil {
		return "", nil
	}
	return err.Error(), nil
}

// configRead: KEY..., members of lists, which an example has and the reader keeps.
func (w *interfaceWorld) configRead(what string) error {
	var problems []error
	for _, name := range strings.Fields(what) {
		if !slices.ContainsFunc(w.config.examples, func(example map[string]any) bool {
			value, ok := lookUp(example, name)
			return ok && !reflect.ValueOf(value).IsZero()
		}) {
			problems = append(problems, fmt.Errorf("no example has %s", name))
		}
	}
	return errors.Join(problems...)
}

// entriesOf returns the names that a key with * has in a tree.
func entriesOf(tree map[string]any, name string) []string {
	before, after, ok := strings.Cut(name, ".*.")
	if !ok {
		return []string{name}
	}
	entries, _ := lookUp(tree, before)
	object, _ := entries.(map[string]any)
	var names []string
	for entry := range object {
		names = append(names, before+"."+entry+"."+after)
	}
	return names
}

// lookUp finds a dotted key, with [N] for members of lists.
func lookUp(tree any, name string) (any, bool) {
	for step := range strings.SplitSeq(strings.ReplaceAll(name, "[", ".["), ".") {
		if at, ok := strings.CutPrefix(step, "["); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(at, "]"))
			list, _ := tree.([]any)
			if err != nil || n >= len(list) {
				return nil, false
			}
			tree = list[n]
			continue
		}
		object, _ := tree.(map[string]any)
		next, ok := object[step]
		if !ok {
			return nil, false
		}
		tree = next
	}
	return tree, true
}

// sameSetting compares a value as the configuration shows it with one of the table.
func sameSetting(got any, want, typ string) bool {
	text := fmt.Sprint(got)
	if list, ok := got.([]any); ok && len(list) == 0 {
		text = "[]"
	}
	if typ == "duration" {
		a, errA := durationOf(text)
		b, errB := durationOf(want)
		return errA == nil && errB == nil && a == b
	}
	return text == want
}

func durationOf(text string) (time.Duration, error) { return config.ParseDuration(text) }
