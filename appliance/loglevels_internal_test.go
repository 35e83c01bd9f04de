package appliance

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

// Parts have levels of their own, also those that were named before a level was set, and what is below a part has its level.
func TestLogLevelsOfParts(t *testing.T) {
	var out bytes.Buffer
	c := config.Log{Level: "info", Parts: map[string]string{"webhooks": "debug", "plugins": "error"}}
	levels := newLogLevels(c)
	log := newLogger(config.Log{}, levels, &out, &out)
	webhooks, store, docker := log.Named("webhooks"), log.Named("store"), log.Named("plugins").Named("docker").With("id", 1)
	got := func() string {
		t.Helper()
		out.Reset()
		for name, l := range map[string]hclog.Logger{"webhooks": webhooks, "store": store, "docker": docker, "none": log} {
			for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error} {
				l.Log(level, name+"="+level.String())
			}
			if l.IsDebug() != (l.GetLevel() <= hclog.Debug) || l.IsWarn() != (l.GetLevel() <= hclog.Warn) {
				t.Errorf("%s: its level is %s, and it says otherwise", name, l.GetLevel())
			}
		}
		var least []string // of each, the least severe level that came through
		for _, name := range []string{"webhooks", "store", "docker", "none"} {
			for _, level := range core.LogLevels {
				if strings.Contains(out.String(), name+"="+level) {
					least = append(least, name+"="+level)
					break
				}
			}
		}
		return strings.Join(least, " ")
	}
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"configured", func() {}, "webhooks=debug store=info docker=error none=info"},
		{"one part", func() { levels.set("store", hclog.Trace) }, "webhooks=debug store=trace docker=error none=info"},
		{"a plugin", func() { levels.set("plugins.docker", hclog.Debug) }, "webhooks=debug store=trace docker=debug none=info"},
		{"all plugins", func() { levels.set("plugins", hclog.Warn) }, "webhooks=debug store=trace docker=warn none=info"},
		{"all", func() { levels.set("", hclog.Warn) }, "webhooks=warn store=warn docker=warn none=warn"},
		{"a reload", func() { levels.apply(c) }, "webhooks=debug store=info docker=error none=info"},
	} {
		step.do()
		if have := got(); have != step.want {
			t.Errorf("%s: %s, want %s", step.what, have, step.want)
		}
	}
	if !strings.Contains(out.String(), "wardroom.plugins.docker: docker=error: id=1") {
		t.Errorf("lines are not as before:\n%s", out.String())
	}
	out.Reset()
	log.Named("http").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}).Print("hidden")
	levels.set("http", hclog.Debug)
	log.Named("http").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}).Print("shown")
	if text := out.String(); strings.Contains(text, "hidden") || !strings.Contains(text, "[DEBUG] wardroom.http: shown\n") {
		t.Errorf("of a standard logger: %s", text)
	}
	if !levels.known("plugins.docker") || !levels.known("audit") || levels.known("plugins.other") || levels.known("docker") {
		t.Error("the parts that there are")
	}
}

// core.LogParts are the names that the code gives to loggers, no more and no less.
func TestLogPartsAreThoseOfTheCode(t *testing.T) {
	below := []string{"badger"} // of the part store
	var named []string
	for _, root := range []string{".", "../core"} {
		err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
					method, isMethod := call.Fun.(*ast.SelectorExpr)
					name, isText := call.Args[0].(*ast.BasicLit)
					if isMethod && isText && method.Sel.Name == "Named" && name.Kind == token.STRING {
						text, _ := strconv.Unquote(name.Value)
						named = append(named, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(named)
	named = slices.DeleteFunc(slices.Compact(named), func(name string) bool { return slices.Contains(below, name) })
	if !slices.Equal(named, core.LogParts) {
		t.Errorf("loggers have the names %q, core.LogParts are %q", named, core.LogParts)
	}
}
