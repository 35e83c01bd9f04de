package config_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

func TestLogParts(t *testing.T) {
	c := mustParse(t, "log: {parts: {webhooks: debug, plugins: warn, plugins.docker: trace}}")
	if len(c.Log.Parts) != 3 || c.Log.Parts["plugins.docker"] != "trace" {
		t.Errorf("parts %v", c.Log.Parts)
	}
	for text, want := range map[string]string{
		"{webhook: debug}":  `log.parts: name "webhook", which is no part of the server; they are access,`,
		"{plugins.: debug}": `log.parts: name "plugins."`,
		"{webhooks: loud}":  `log.parts: give webhooks the level "loud"; it must be one of trace, debug,`,
	} {
		if _, err := parse("log: {parts: " + text + "}"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What has nothing below it, as in a drop-in whose lines are commented out, changes nothing of what an earlier file said.
func TestLogPartsWithoutAny(t *testing.T) {
	for _, empty := range []string{"log:\n  parts:\n", "log:\n  parts:\n    # store: trace\n", "log: {parts: ~}\n"} {
		c, err := config.Parse([]config.File{
			{Name: "wardroom.yaml", Data: []byte("log:\n  parts: {store: debug}\n")},
			{Name: "conf.d/10.yaml", Data: []byte(empty)},
		}, config.Options{Lookup: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		if c.Log.Parts["store"] != "debug" {
			t.Errorf("%q: parts %v", empty, c.Log.Parts)
		}
	}
}
