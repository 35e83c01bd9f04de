package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOutboundAddressesAreDocumented: every key that says where the product connects to is in the table of the documentation.
func TestOutboundAddressesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## What it connects to\n")
	section, _, _ = strings.Cut(section, "\n## ")
	data, err := os.ReadFile("../../configs/wardroom.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var document schemaNode
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	words := []string{"address", "allowedUrls", "domain", "endpoint", "host", "hosts", "issuer", "jwksUri", "proxy", "region", "url"}
	// What callers name, and where data may go to or lies.
	inward := []string{"server.hosts", "runtimes.*.region", "webhooks.regions.*.region", "webhooks.regions.*.hosts", "security.compliance.gdpr.dataResidency.region"}
	found := 0
	document.walk("", func(path string) {
		if name := path[strings.LastIndex(path, ".")+1:]; !slices.Contains(words, name) || slices.Contains(inward, path) {
			return
		}
		if found++; !strings.Contains(section, "`"+path+"`") {
			t.Errorf("%s is not in the table of docs/operations.md", path)
		}
	})
	if found < 12 {
		t.Errorf("only %d keys of addresses are known", found)
	}
}

// schemaNode is the part of a JSON schema that describes the keys below a key.
type schemaNode struct {
	Properties           map[string]schemaNode `json:"properties"`
	AdditionalProperties json.RawMessage       `json:"additionalProperties"`
	Items                *schemaNode           `json:"items"`
}

// walk calls fn with the path of each key; * stands for the name or the number of an entry.
func (n *schemaNode) walk(path string, fn func(path string)) {
	for name, child := range n.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		fn(at)
		child.walk(at, fn)
	}
	var entry schemaNode
	if json.Unmarshal(n.AdditionalProperties, &entry) == nil {
		entry.walk(path+".*", fn)
	}
	if n.Items != nil {
		n.Items.walk(path+".*", fn)
	}
}
