package config_test

import (
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
