package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

const pluginPage = "docs/plugins.md"

// TestPluginStatesAreDocumented holds the page to the states that a plugin can be in.
func TestPluginStatesAreDocumented(t *testing.T) {
	page := readDoc(t, pluginPage)
	for _, state := range []core.PluginState{
		core.PluginDisabled, core.PluginVerifying, core.PluginStarting, core.PluginConfiguring, core.PluginReady, core.PluginFailed,
		core.PluginQuarantined,
	} {
		if !strings.Contains(page, "\n| `"+string(state)+"` |") {
			t.Errorf("%s does not list the state %s", pluginPage, state)
		}
	}
}

// TestPluginCommandsExist runs the help of every plugin command that the page and the README of the example name.
func TestPluginCommandsExist(t *testing.T) {
	command := regexp.MustCompile(`wardroom (plugin [a-z]+)`)
	seen := map[string]bool{}
	for _, page := range []string{pluginPage, "plugins/example/README.md"} {
		for _, match := range command.FindAllStringSubmatch(readDoc(t, page), -1) {
			if seen[match[1]] {
				continue
			}
			seen[match[1]] = true
			r := execute(t, "", append(strings.Fields(match[1]), "--help")...)
			r.expect(t, 0)
			if !strings.Contains(r.stdout.String(), "wardroom "+match[1]) {
				t.Errorf("%s speaks of `wardroom %s`, which does not exist", page, match[1])
			}
		}
	}
	if len(seen) < 9 {
		t.Errorf("only %d commands were found", len(seen))
	}
}

// TestPluginManifestExample has the manifest of the page be one, but for its checksum.
func TestPluginManifestExample(t *testing.T) {
	_, rest, found := strings.Cut(readDoc(t, pluginPage), "```json\n")
	text, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("%s has no manifest", pluginPage)
	}
	m, err := pluginhost.ParseManifest([]byte(strings.Replace(text, "9f86d0...", strings.Repeat("9f86d08", 9)+"1", 1)))
	if err != nil || len(m.Plugins) != 1 || m.Plugins[0].Kind != core.PluginKindRuntime {
		t.Errorf("the manifest of the page: %+v, %v", m, err)
	}
}

// TestPluginPackagesExist looks for each package of the sdk that the page names.
func TestPluginPackagesExist(t *testing.T) {
	for _, match := range regexp.MustCompile("`(sdk/[a-z/]+)`").FindAllStringSubmatch(readDoc(t, pluginPage), -1) {
		if files, _ := filepath.Glob(filepath.Join(root, match[1], "*.go")); len(files) == 0 {
			t.Errorf("%s speaks of %s, which does not exist", pluginPage, match[1])
		}
	}
	for _, link := range linkPattern.FindAllStringSubmatch(readDoc(t, pluginPage), -1) {
		if _, err := os.Stat(filepath.Join(root, "docs", link[1])); err != nil {
			t.Errorf("%s links to %s, which is not there", pluginPage, link[1])
		}
	}
}
