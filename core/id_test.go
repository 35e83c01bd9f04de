package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// An id shows its kind: no kind's ids begin as those of another kind. Each prefix stands with its noun.
func TestPrefixesDiffer(t *testing.T) {
	prefixes := map[string]string{} // by the name of the constant
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Prefix") || len(spec.Values) == 0 {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				if prefixes[spec.Names[0].Name], err = strconv.Unquote(value.Value); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
	}
	if prefixes["PrefixExecution"] != "exec_" || prefixes["PrefixRequest"] != "req_" {
		t.Fatalf("the prefixes were not found: %v", prefixes)
	}
	for name, prefix := range prefixes {
		if !core.BeginsWithID(core.IDBound(prefix, time.Now()) + " ") {
			t.Errorf("%s is not in the list of all", name)
		}
		for other, longer := range prefixes {
			if name != other && strings.HasPrefix(longer, prefix) {
				t.Errorf("%s is %q, and %s is %q", name, prefix, other, longer)
			}
		}
	}
}

func TestBeginsWithID(t *testing.T) {
	id := core.IDBound(core.PrefixExecution, time.Now())
	for _, text := range []string{"", "exec_", id[:len(id)-1], "by " + id, "ann_" + id[len(core.PrefixExecution):]} {
		if core.BeginsWithID(text) {
			t.Errorf("%q", text)
		}
	}
}
