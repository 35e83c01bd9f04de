package house_test

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/scripts/house"
)

var update = flag.Bool("update", false, "rewrite depaware.txt")

const root = "../.."

// The tests of this file hold the real tree to the rules; the others test the rules.

func TestImportDirections(t *testing.T) { report(t, house.CheckImports(realTree(t))) }

func TestPackageComments(t *testing.T) { report(t, house.CheckDocs(realTree(t))) }

func TestMap(t *testing.T) { report(t, house.CheckMap(realTree(t))) }

func TestGoroutinesAreLeakChecked(t *testing.T) { report(t, house.CheckGoroutines(realTree(t))) }

func TestSizes(t *testing.T) {
	findings, err := house.CheckSizes(realTree(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestWords(t *testing.T) {
	findings, err := house.CheckWords(realTree(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestButtons(t *testing.T) {
	findings, err := house.CheckButtons(realTree(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

func TestLicence(t *testing.T) {
	findings, err := house.CheckLicence(realTree(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, findings)
}

// A new dependency of the binary shows up in review as a line of depaware.txt.
func TestDependencyList(t *testing.T) {
	got, err := house.Modules(root, "./appliance/cmd/wardroom")
	if err != nil {
		t.Fatal(err)
	}
	golden := "depaware.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the modules of the binary changed. If that is meant, say why in the commit message and run\n"+
			"\tgo test ./scripts/house -update\ngot:\n%s\nwant:\n%s", got, want)
	}
}

// loadRoot parses the tree once for all tests: none of them changes it.
var loadRoot = sync.OnceValues(func() (*house.Tree, error) { return house.LoadDir(root) })

func realTree(t *testing.T) *house.Tree {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the root of the module is not where it should be: %v", err)
	}
	tree, err := loadRoot()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func report(t *testing.T, findings []house.Finding) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

func TestTwins(t *testing.T) { report(t, house.CheckTwins(realTree(t))) }
