package cmd_test

import (
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/config"
)

// pages lists every page of the documentation, and the README.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	list := []string{"README.md", "packaging/README.md", "configs/README.md"}
	for _, file := range files {
		list = append(list, "docs/"+filepath.Base(file))
	}
	return list
}

var (
	fencePattern  = regexp.MustCompile("(?ms)^```(sh|)\n(.*?)^```")
	inlinePattern = regexp.MustCompile("`(wardroom [a-z][^`]*)`")
	quotedPattern = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// TestCommandsOfPages holds every command that a page shows, in a block or within a line, to the program: it exists, has these
// flags, and takes as many arguments.
func TestCommandsOfPages(t *testing.T) {
	count := 0
	for _, page := range pages(t) {
		text := readDoc(t, page)
		for _, line := range commandLines(text) {
			count++
			checkCommand(t, page, line, true)
		}
		for _, m := range inlinePattern.FindAllStringSubmatch(fencePattern.ReplaceAllString(text, ""), -1) {
			count++
			checkCommand(t, page, strings.ReplaceAll(m[1], "\n", " "), false)
		}
	}
	if count < 200 {
		t.Errorf("only %d commands were found", count)
	}
}

var (
	// In the console's sources a command stands in a text of any kind, or between marks of code.
	shownPattern  = regexp.MustCompile("`(wardroom [^`]*)`|\"(wardroom (?:[^\"\\\\]|\\\\.)*)\"|'(wardroom (?:[^'\\\\]|\\\\.)*)'|<code>(wardroom [^<]*)</code>")
	filledPattern = regexp.MustCompile(`\$?\{[a-z][^}]*\}`)
)

// TestCommandsOfConsole holds every command that the console shows or copies to the program: it exists, and has these flags.
func TestCommandsOfConsole(t *testing.T) {
	count := 0
	for _, folder := range []string{"view", "part", "store"} {
		files, err := filepath.Glob(filepath.Join(root, "appliance/console/ui", folder, "*.ts*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := folder + "/" + filepath.Base(file)
			for _, m := range shownPattern.FindAllStringSubmatch(readDoc(t, "appliance/console/ui/"+name), -1) {
				line := strings.ReplaceAll(strings.Join(m[1:], ""), "${ask.source}", "thread")
				count++
				checkCommand(t, name, filledPattern.ReplaceAllString(line, "X"), false)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d commands were found", count)
	}
}

// commandLines returns the commands of ours in the blocks of a page.
func commandLines(text string) []string {
	var lines []string
	for _, block := range fencePattern.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			line = strings.TrimPrefix(line, "bin/")
			if strings.HasPrefix(line, "wardroom ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// checkCommand looks a command up in the tree. A whole one, of a block, also has the arguments that it needs.
func checkCommand(t *testing.T, page, line string, whole bool) {
	t.Helper()
	plain := quotedPattern.ReplaceAllString(line, "TEXT")
	for _, end := range []string{" #", " |", " >", " <", " &", ";"} {
		plain, _, _ = strings.Cut(plain, end)
	}
	words := strings.Fields(plain)[1:]
	tree := cmd.New(cmd.Deps{})
	tree.InitDefaultHelpCmd()
	tree.SetOut(io.Discard)
	found, rest, err := tree.Find(words)
	if err != nil || found == tree && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		t.Errorf("%s: `%s`: there is no such command", page, line)
		return
	}
	if name := found.Name(); name == "help" || strings.Contains(found.CommandPath(), " completion") {
		return
	}
	takes := found.Runnable() && (found.Args == nil || found.Args(found, rest) == nil) // itself, and not only for others
	if found.HasSubCommands() && !takes && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") &&
		!strings.ContainsAny(rest[0], "|,.…") {
		t.Errorf("%s: `%s`: %s has no command %s", page, line, found.CommandPath(), rest[0])
		return
	}
	found.InitDefaultHelpFlag()
	if err := found.ParseFlags(rest); err != nil && (whole || strings.Contains(err.Error(), "unknown")) {
		t.Errorf("%s: `%s`: %v", page, line, err)
		return
	}
	if asksHelp(found.Flags()) || !whole || found.Args == nil {
		return
	}
	if err := found.Args(found, found.Flags().Args()); err != nil {
		t.Errorf("%s: `%s`: %v", page, line, err)
	}
}

func asksHelp(flags *pflag.FlagSet) bool {
	help := flags.Lookup("help")
	return help != nil && help.Changed
}

// TestConfigKeysOfPages holds every key that a page names as `section.key` to the configuration.
func TestConfigKeysOfPages(t *testing.T) {
	for _, page := range pages(t) {
		for _, name := range unknownKeys(readDoc(t, page)) {
			t.Errorf("%s speaks of the key %s, which the configuration has not", page, name)
		}
	}
}

var keyPattern = regexp.MustCompile("`((?:server|store|engine|streams|metrics|security|log)\\.[a-zA-Z.]+)[`:]")

// unknownKeys returns what a text names as keys of the configuration which are none, nor sections.
func unknownKeys(text string) []string {
	known := map[string]bool{}
	for _, k := range config.Reference() {
		for path := k.Path; path != ""; { // a map such as scopeMapping has sections that are no keys of their own
			known[path] = true
			at := strings.LastIndexByte(path, '.')
			path = path[:max(at, 0)]
		}
	}
	var names []string
	for _, m := range keyPattern.FindAllStringSubmatch(text, -1) {
		if name := m[1]; !known[name] && !otherNames[name] && !strings.HasSuffix(name, ".go") {
			names = append(names, name)
		}
	}
	return names
}

// otherNames are fields of patterns and actions that are called like keys.
var otherNames = map[string]bool{"security.allowedUsers": true, "security.allowedRoles": true, "metrics.read": true, "store.key.rotate": true}
