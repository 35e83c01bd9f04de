package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// What configs/ publishes is made from the fields of Config, and must not lag behind it.
func TestPublishedFiles(t *testing.T) {
	t.Run("Schema", func(t *testing.T) {
		data, err := config.Schema()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "../../configs/wardroom.schema.json", string(data))
	})
	t.Run("Template", func(t *testing.T) {
		golden(t, "../../configs/wardroom.yaml", string(config.Template()))
	})
}

func TestPackagedFileMeansDefault(t *testing.T) {
	c, err := config.Load("../../configs/wardroom.yaml", config.Options{Lookup: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if changes := config.Changes(config.Default(), c); len(changes) != 0 {
		t.Errorf("the packaged file changes %v", changes)
	}
}

// What the published file has behind its keys is what they may be set to: the defaults, written out, change nothing.
func TestPublishedDefaults(t *testing.T) {
	data, err := os.ReadFile("../../configs/wardroom.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wardroom.yaml")
	data = regexp.MustCompile(`(?m)^( *)#([a-zA-Z]+:)`).ReplaceAll(data, []byte("$1$2"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, config.Options{Lookup: noEnv})
	if err != nil {
		t.Fatal(problemText(err))
	}
	if changes := config.Changes(config.Default(), c); len(changes) != 0 {
		t.Errorf("the defaults, written out, change %v", changes)
	}
}
