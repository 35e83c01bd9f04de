package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/config"
)

// compiled returns the schema, which must itself satisfy the 2020-12 meta-schema.
func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	data, err := config.Schema()
	if err != nil {
		tb.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", document); err != nil {
		tb.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// validate checks YAML text against the schema, as an editor would.
func validate(tb testing.TB, schema *jsonschema.Schema, data []byte) error {
	tb.Helper()
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		tb.Fatal(err)
	}
	return schema.Validate(value)
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	schema := compiled(t)
	paths := append(glob(t, "testdata/*.good.yaml"), glob(t, "../../configs/examples/*.yaml")...)
	for _, path := range append(paths, "../../configs/wardroom.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSchemaAcceptsWhatShowPrints(t *testing.T) {
	schema := compiled(t)
	for _, path := range glob(t, "testdata/*.good.golden") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What only the loader can know is listed; every other bad file must fail in an editor as well.
func TestSchemaRefusesBadFiles(t *testing.T) {
	loaderOnly := map[string]string{
		"relations":        "relations between keys",
		"in-transit":       "relations between keys",
		"at-rest":          "relations between keys",
		"admin-by-default": "relations between keys",
		"at-rest-kms":      "relations between keys",
		"at-rest-vault":    "relations between keys",
		"sso-azure":        "relations between keys",
		"sso-nowhere":      "relations between keys",
		"sso-okta":         "relations between keys",
		"sso-user":         "the parts of an address",
		"references":       "the environment", // it fails for its unknown key
		"anchors":          "how the text is written",
		"two-documents":    "how the text is written",
		"duplicate-keys":   "how the text is written",
		"syntax":           "how the text is written",
		"tab":              "how the text is written",
		"strange-keys":     "how the text is written",
	}
	schema := compiled(t)
	for _, path := range glob(t, "testdata/*.bad.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".bad.yaml")
		if _, ok := loaderOnly[name]; ok {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, data); err == nil {
			t.Errorf("%s satisfies the schema", path)
		}
	}
}

// Schema and loader agree on single values too.
func TestSchemaAgreesWithLoader(t *testing.T) {
	schema := compiled(t)
	for _, tt := range []struct {
		text string
		good bool
	}{
		{"engine: {maxActive: 1}", true},
		{"engine: {maxActive: 0}", false},
		{"engine: {maxActive: 1000001}", false},
		{"engine: {maxActive: '5'}", false},
		{"engine: {maxActive: 5.5}", false},
		{"engine: {taskRetries: -1}", false},
		{"engine: {maxactive: 5}", false},
		{"engine: {priorityAging: 1d}", true},
		{"engine: {priorityAging: 1d2h3m4s}", true},
		{"engine: {priorityAging: 90}", false},
		{"engine: {priorityAging: soon}", false},
		{"engine: {priorityAging: ''}", false},
		{"server: {maxBody: 65536, maxDefinition: 4096}", true},
		{"server: {maxBody: 64 kib, maxDefinition: 4k}", true},
		{"server: {maxBody: 2 MiB}", true},
		{"server: {maxBody: 2 MB}", false},
		{"server: {maxBody: 2.5MiB}", false},
		{"server: {maxBody: 1}", false},
		{"server: {environment: staging}", false},
		{"server: {cors: {origins: []}}", true},
		{"server: {cors: {origins: [1]}}", false},
		{"server: {cors: null}", true},
		{"server: {unknown: 1}", false},
		{"unknown: 1", false},
		{"metrics: {public: true}", true},
		{"metrics: {public: 'true'}", false},
		{"metrics: {public: 1}", false},
		{"log: {level: warn}", true},
		{"plugins: {dir: /x, runtime-pen: {enabled: false}}", true},
		{"plugins: {runtime-pen: }", true},
		{"plugins: {runtime-pen: /x}", false},
		{"plugins: {Pen: {}}", false},
		{"plugins: {pen: {kind: ''}}", true},
		{"plugins: {pen: {kind: ink}}", false},
		{"plugins: {pen: {colour: ink}}", false},
		{"plugins: {pen: {config: {any: [1, {of: them}]}}}", true},
		{"plugins: {pen: {config: ink}}", false},
		{"plugins: {pen: {env: {A: b, C: 5, D: true}}}", true},
		{"plugins: {pen: {env: {A: [b]}}}", false},
		{"plugins: {pen: {env: {'A B': b}}}", false},
		{"agentTypes: {claude: {command: x}}", false},
		{"agentTypes: {shell: {command: x, ready: {timeout: 5s}}}", true},
		{"agentTypes: {shell: {command: x, ready: {timeout: 5}}}", false},
		{"runtimes: {pen: {url: 'http://h', token: 5}}", true},
		{"runtimes: {pen: {plugin: x, priority: -1}}", false},
		{"threads: {root: work, maxThreads: 5, workspaces: {ttl: 14d}}", true},
		{"threads: {maxThreads: 0}", false},
		{"threads: {autoAnswer: []}", true},
		{"threads: {autoAnswer: [{answer: allow}]}", true},
		{"threads: {autoAnswer: [{preset: standard, tool: 'Bash*', match: ^ls, answer: allow}]}", true},
		{"threads: {autoAnswer: [{tool: x}]}", false},
		{"threads: {autoAnswer: [{answer: allow, colour: ink}]}", false},
		{"threads: {autoAnswer: [{answer: allow, preset: none}]}", false},
		{"threads: {autoAnswer: {answer: allow}}", false},
		{"threads: {repositories: {app: {url: 'https://h/a', password: 5}}}", true},
		{"threads: {repositories: {App: {url: 'https://h/a'}}}", false},
		{"threads: {repositories: {app: {uri: 'https://h/a'}}}", false},
		{"log: {level: null}", false},
		{"log: []", false},
	} {
		_, loadErr := parse(tt.text)
		schemaErr := validate(t, schema, []byte(tt.text))
		if (loadErr == nil) != tt.good {
			t.Errorf("loader: %s: %v", tt.text, loadErr)
		}
		if (schemaErr == nil) != tt.good {
			t.Errorf("schema: %s: %v", tt.text, schemaErr)
		}
	}
}

func TestExamplesLoad(t *testing.T) {
	for _, path := range glob(t, "../../configs/examples/*.yaml") {
		c, err := config.Load(path, config.Options{Lookup: noEnv})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !c.Server.LoopbackOnly() {
			t.Errorf("%s listens beyond loopback, which serve refuses without security", path)
		}
	}
}
