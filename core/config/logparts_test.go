package config_test

import (
	"strings"
	"testing"
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
