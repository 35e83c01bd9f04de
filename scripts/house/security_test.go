package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that docs/security-tests.md names is where it says.
func TestSecurityTests(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(root + "/docs/security-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/-]+) (Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 60 {
		t.Errorf("the page names %d tests", len(named))
	}
	sources := map[string]string{} // of the tests of a directory
	for _, name := range named {
		dir := name[1]
		if _, read := sources[dir]; !read {
			files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[dir] += string(text)
			}
		}
		if !strings.Contains(sources[dir], "\nfunc "+name[2]+"(") {
			t.Errorf("docs/security-tests.md names %s in %s, where it is not", name[2], dir)
		}
	}
}
