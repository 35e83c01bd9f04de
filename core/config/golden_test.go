package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

// testEnv is the environment of the golden files.
var testEnv = env(map[string]string{
	"HOST": "10.1.2.3", "PORT": "9090", "ACTIVE": "77", "PUBLIC": "true", "EMPTY": "",
	"TRICKY": "x\nengine: {maxActive: 1} # \"${HOST}",
})

func TestGoodFiles(t *testing.T) {
	for _, path := range glob(t, "testdata/*.good.yaml") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".good.yaml"), func(t *testing.T) {
			c, err := config.Load(path, config.Options{Lookup: testEnv})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", mustShow(t, c))
			if err := c.Validate(); err != nil {
				t.Errorf("what was loaded does not validate: %v", err)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	for _, path := range glob(t, "testdata/*.bad.yaml") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".bad.yaml"), func(t *testing.T) {
			c, err := config.Load(path, config.Options{Lookup: testEnv})
			if err == nil {
				t.Fatal("it was accepted")
			}
			if c != nil {
				t.Error("a configuration came with the error")
			}
			if code := core.ErrorCode(err); code != core.CodeValidation {
				t.Errorf("code %s", code)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", problemText(err))
		})
	}
}

// Each directory below testdata/dropins is a main file with its conf.d and, as want.txt, the keys that
// differ from the defaults, or the problems.
func TestDropIns(t *testing.T) {
	for _, path := range glob(t, "testdata/dropins/*/wardroom.yaml") {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c, err := config.Load(path, config.Options{Lookup: noEnv})
			got := ""
			if err != nil {
				got = problemText(err)
			} else {
				cwd, err := os.Getwd()
				if err != nil {
					t.Fatal(err)
				}
				for _, change := range config.Changes(config.Default(), c) {
					got += change.Key + ": " + strings.ReplaceAll(change.New, cwd, "/CWD") + "\n"
				}
				got += "files: " + strings.Join(c.Files(), " ") + "\n"
			}
			golden(t, filepath.Join(dir, "want.txt"), got)
		})
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	return paths
}

func problemText(err error) string {
	var b strings.Builder
	for _, p := range config.Problems(err) {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
