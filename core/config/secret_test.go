package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/config"
)

const canary = "canary-5f3a"

func TestSecretIsNeverPrinted(t *testing.T) {
	secret := config.NewSecret(canary)
	public := struct {
		Secret  config.Secret
		Pointer *config.Secret
		Any     any
		Map     map[string]config.Secret
	}{secret, &secret, secret, map[string]config.Secret{"k": secret}}
	// fmt cannot call methods on unexported fields, so this is the hard case.
	private := struct{ secret config.Secret }{secret}

	outputs := map[string]string{"String": secret.String(), "GoString": secret.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%-5v"} {
		outputs["secret "+verb] = fmt.Sprintf(verb, secret)
		outputs["pointer "+verb] = fmt.Sprintf(verb, &secret)
		outputs["public "+verb] = fmt.Sprintf(verb, public)
		outputs["private "+verb] = fmt.Sprintf(verb, private)
	}
	marshalled, err := json.Marshal(public)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(marshalled)
	if marshalled, err = json.Marshal(map[string]any{"s": secret}); err != nil {
		t.Fatal(err)
	}
	outputs["json any"] = string(marshalled)
	if marshalled, err = yaml.Marshal(public); err != nil {
		t.Fatal(err)
	}
	outputs["yaml"] = string(marshalled)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "secret", secret, "public", public)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "secret", secret, "public", public)
	outputs["slog"] = log.String()
	outputs["error"] = fmt.Errorf("bad %v", secret).Error()

	for how, text := range outputs {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
		if !strings.HasPrefix(how, "private") && !strings.Contains(text, "***") {
			t.Errorf("%s does not show *** but %s", how, text)
		}
	}
}

func TestSecret(t *testing.T) {
	secret, empty := config.NewSecret(canary), config.NewSecret("")
	if got := secret.Reveal(); got != canary {
		t.Errorf("Reveal = %q", got)
	}
	if secret.IsZero() || !empty.IsZero() || empty.Reveal() != "" {
		t.Error("only the empty secret is zero")
	}
	if empty.String() != "***" {
		t.Error("an empty secret can be told from a set one")
	}
	if !secret.Equal(config.NewSecret(canary)) || secret.Equal(empty) || secret.Equal(config.NewSecret("other")) {
		t.Error("Equal does not compare the text")
	}
}
