package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

var update = flag.Bool("update", false, "rewrite the golden files and what is generated from the fields of Config")

// noEnv is a Lookup of an empty environment.
func noEnv(string) (string, bool) { return "", false }

// env is a Lookup of the given variables.
func env(vars map[string]string) config.Lookup {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// mustParse parses one main file.
func mustParse(tb testing.TB, text string) *config.Config {
	tb.Helper()
	c, err := parse(text)
	if err != nil {
		tb.Fatalf("parse: %v", err)
	}
	return c
}

func parse(text string) (*config.Config, error) {
	return config.Parse([]config.File{{Name: "/etc/wardroom/wardroom.yaml", Data: []byte(text)}}, config.Options{Lookup: noEnv})
}

// mustShow renders the effective configuration with the working directory taken out.
func mustShow(tb testing.TB, c *config.Config) string {
	tb.Helper()
	data, err := config.Show(c)
	if err != nil {
		tb.Fatalf("show: %v", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.ReplaceAll(string(data), dir, "/CWD")
}

// golden compares got with the file, or rewrites it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s is out of date; run the test with -update after a look at the difference.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
