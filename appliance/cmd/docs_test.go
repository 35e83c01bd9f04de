package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/pattern"
)

// root is the top of the repository, from this package.
const root = "../.."

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	targetPattern = regexp.MustCompile("(?m)^make ([a-z0-9-]+)|`make ([a-z0-9-]+)")
	seriesPattern = regexp.MustCompile("`(service_[a-z_]+)")
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestLinks follows every relative link of the pages and the READMEs, to its file. Places within pages are followed by the tests of
// appliance/docsite.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, link := range linkPattern.FindAllStringSubmatch(readDoc(t, page), -1) {
			target := filepath.Join(root, filepath.Dir(page), link[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
			}
		}
	}
}

// TestMakeTargets holds the README to the Makefile.
func TestMakeTargets(t *testing.T) {
	makefile := readDoc(t, "Makefile")
	for _, match := range targetPattern.FindAllStringSubmatch(readDoc(t, "README.md"), -1) {
		if target := match[1] + match[2]; !strings.Contains(makefile, "\n"+target+":") {
			t.Errorf("README.md speaks of `make %s`, which the Makefile has not", target)
		}
	}
}

// TestReadmePattern checks the definition that a newcomer types.
func TestReadmePattern(t *testing.T) {
	_, rest, found := strings.Cut(readDoc(t, "README.md"), "<<'YAML'\n")
	source, _, ended := strings.Cut(rest, "\nYAML\n")
	if !found || !ended {
		t.Fatal("README.md has no definition")
	}
	if _, problems := pattern.Parse(source); len(problems) > 0 {
		t.Errorf("the definition in README.md is not valid: %v", problems)
	}
}

// TestExitCodesAgree holds the tables of the pages to the one of the program.
func TestExitCodesAgree(t *testing.T) {
	r := execute(t, "", "help", "exit-codes")
	r.expect(t, 0)
	for _, page := range []string{"README.md", "docs/cli.md"} {
		text := readDoc(t, page)
		for line := range strings.Lines(r.stdout.String()) {
			fields := strings.Fields(line)
			if len(fields) < 2 || strings.Trim(fields[0], "0123456789") != "" {
				continue
			}
			if !strings.Contains(text, "\n| "+fields[0]+" | ") {
				t.Errorf("%s does not tell of exit code %s", page, fields[0])
			}
		}
	}
}

// TestSeriesExist looks for each series that the operations page names in the code that makes it. The host puts
// service_plugin_ before those that plugins make.
func TestSeriesExist(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"core/metrics/*.go", "plugins/*/*/*.go", "sdk/runtime/plugin/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(data)
		}
	}
	named := seriesPattern.FindAllStringSubmatch(readDoc(t, "docs/operations.md"), -1)
	for _, page := range []string{"configs/alerts/wardroom.yml", "configs/dashboards/wardroom.json"} {
		found := regexp.MustCompile(`()\b(service_[a-z_]+)`).FindAllStringSubmatch(readDoc(t, page), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d series", page, len(found))
		}
		for _, match := range found {
			named = append(named, []string{page, strings.TrimSuffix(match[2], "_bucket")})
		}
	}
	for _, match := range named {
		ofPlugin, ok := strings.CutPrefix(match[1], "service_plugin_")
		if ok && (ofPlugin == "" || strings.Contains(code.String(), "# TYPE "+ofPlugin+" ")) {
			continue
		}
		if !strings.Contains(code.String(), `"`+match[1]+`"`) {
			t.Errorf("%s: %s does not exist", match[0], match[1])
		}
	}
}
