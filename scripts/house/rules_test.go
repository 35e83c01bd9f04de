package house_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/wardroom/wardroom/scripts/house"
)

// tree builds a tree from file texts.
func tree(t *testing.T, files map[string]string) *house.Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.FileMode(0o644)}
	}
	loaded, err := house.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// goFile is the text of a Go file that imports the given paths; a path without a dot is one of ours.
func goFile(name string, imports ...string) string {
	text := "package " + name + "\n"
	for _, path := range imports {
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
			path = house.Module + "/" + path
		}
		text += "import _ \"" + path + "\"\n"
	}
	return text
}

func TestCheckImports(t *testing.T) {
	for _, tt := range []struct {
		name, file, imported string
		want                 string // part of the reason; empty when the import is allowed
	}{
		{"CoreUsesSibling", "core/core.go", "core/store", "vocabulary"},
		{"CoreUsesULID", "core/id.go", "github.com/oklog/ulid/v2", ""},
		{"CoreUsesOther", "core/id.go", "github.com/google/uuid", "standard library"},
		{"CoreTestUsesCoretest", "core/core_test.go", "core/coretest", ""},
		{"Sibling", "core/engine/run.go", "core/store", "siblings"},
		{"ReadModel", "core/engine/run.go", "core/timeline", "siblings"},
		{"ReadModelInTest", "core/engine/run_test.go", "core/timeline", ""},
		{"SiblingInTest", "core/engine/run_test.go", "core/store", "siblings"},
		{"OwnSubpackage", "core/store/db.go", "core/store/keys", ""},
		{"SubpackageOfSibling", "core/engine/run.go", "core/store/keys", "siblings"},
		{"Vocabulary", "core/engine/run.go", "core", ""},
		{"Leaf", "core/engine/run.go", "core/internal/text", ""},
		{"LeafFromSubpackage", "core/store/keys/key.go", "core/internal/text", ""},
		{"LeafFromRoot", "core/core.go", "core/internal/text", "vocabulary"},
		{"LeafUsesVocabulary", "core/internal/text/read.go", "core", ""},
		{"LeafUsesSibling", "core/internal/text/read.go", "core/store", "leaf"},
		{"LeafUsesLeaf", "core/internal/text/read.go", "core/internal/other", "leaf"},
		{"LeafTestUsesItself", "core/internal/text/read_test.go", "core/internal/text", ""},
		{"LeafTestUsesCoretest", "core/internal/text/read_test.go", "core/coretest", ""},
		{"LeafTestUsesSibling", "core/internal/text/read_test.go", "core/store", "leaf"},
		{"LeafUsesSDK", "core/internal/text/read.go", "sdk/agent/protocol", "third parties"},
		{"CoretestInTest", "core/engine/run_test.go", "core/coretest", ""},
		{"CoretestInCode", "core/engine/run.go", "core/coretest", "siblings"},
		{"CoretestInTestSupport", "core/store/storetest/suite.go", "core/coretest", ""},
		{"ProtocolFromAgents", "core/agents/session.go", "sdk/agent/protocol", ""},
		{"ClientFromAgents", "core/agents/session.go", "sdk/agent", "third parties"},
		{"ClientFromAgentsTest", "core/agents/session_test.go", "sdk/agent", ""},
		{"ProtocolFromEngine", "core/engine/run.go", "sdk/agent/protocol", "third parties"},
		{"PluginHost", "core/pluginhost/host.go", "sdk/audit", ""},
		{"CoreUsesAppliance", "core/api/server.go", "appliance", "wired from above"},
		{"SDKUsesCore", "sdk/client/client.go", "core", "stands alone"},
		{"SDKTestUsesCore", "sdk/client/client_test.go", "core/api", "stands alone"},
		{"SDKUsesSDK", "sdk/agent/agent.go", "sdk/agent/protocol", ""},
		{"PluginUsesSDK", "plugins/audit-file/main.go", "sdk/audit", ""},
		{"PluginUsesCore", "plugins/audit-file/main.go", "core", "third party"},
		{"PluginUsesItself", "plugins/audit-file/main.go", "plugins/audit-file/rotate", ""},
		{"PluginUsesPlugin", "plugins/audit-file/main.go", "plugins/example", "third party"},
		{"ConfigsUsesCore", "configs/embed.go", "core", "go:embed"},
		{"ConfigsTestUsesConfig", "configs/embed_test.go", "core/config", ""},
		{"ApplianceJoins", "appliance/app.go", "core/store", ""},
		{"ApplianceUsesScripts", "appliance/app.go", "scripts/bench", "its tools"},
		{"GinInAPI", "core/api/router.go", "github.com/gin-gonic/gin", ""},
		{"GinInAppliance", "appliance/app.go", "github.com/gin-gonic/gin", "one table"},
		{"GinInBaseline", "scripts/bench/baseline.go", "github.com/gin-gonic/gin", ""},
		{"BadgerInStore", "core/store/db.go", "github.com/dgraph-io/badger/v4", ""},
		{"BadgerInEngine", "core/engine/run.go", "github.com/dgraph-io/badger/v4/options", "core/store"},
		{"BleveInMemory", "core/memory/index.go", "github.com/blevesearch/bleve/v2", ""},
		{"BleveInThreads", "core/threads/find.go", "github.com/blevesearch/bleve/v2", "core/memory"},
		{"CobraInCommand", "appliance/cmd/root.go", "github.com/spf13/cobra", ""},
		{"CobraInCore", "core/config/flags.go", "github.com/spf13/cobra", "options"},
		{"EndToEnd", "appliance/e2e/kill_test.go", "scripts/faultrig", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			loaded := tree(t, map[string]string{tt.file: goFile("p", tt.imported)})
			findings := house.CheckImports(loaded)
			switch {
			case tt.want == "" && len(findings) > 0:
				t.Errorf("refused: %v", findings)
			case tt.want != "" && len(findings) == 0:
				t.Error("allowed")
			case tt.want != "" && !strings.Contains(findings[0].Why, tt.want):
				t.Errorf("reason %q does not say %q", findings[0].Why, tt.want)
			}
		})
	}
}

func TestCheckImportsPassesOverTestData(t *testing.T) {
	loaded := tree(t, map[string]string{
		"core/engine/testdata/bad.go": "this is not Go",
		"bin/generated.go":            "nor this",
		".cache/x.go":                 "nor this",
	})
	if len(loaded.Packages) != 0 {
		t.Errorf("loaded %d packages", len(loaded.Packages))
	}
}

func TestCheckDocs(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"OK", "// Package p owns p. It does not own q.\npackage p\n", ""},
		{"Missing", "package p\n", "no package comment"},
		{"OneSentence", "// Package p owns v1.2 of p.\npackage p\n", "one sentence"},
		{"OtherName", "// This package is p. It is not q.\npackage p\n", "does not begin"},
		{"Main", "// Command wardroom is the product. It holds no logic.\npackage main\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, house.CheckDocs(tree(t, map[string]string{"core/p/p.go": tt.text})), tt.want)
		})
	}
	t.Run("OnlyTests", func(t *testing.T) {
		check(t, house.CheckDocs(tree(t, map[string]string{"appliance/e2e/e2e_test.go": "package e2e\n"})), "")
	})
}

func TestCheckMap(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"OK", "//\tp         owns p\n//\tinternal  leaves\n", ""},
		{"Missing", "//\tinternal  leaves\n", "core/p: is not in the map"},
		{"Gone", "//\tp         owns p\n//\tq         owns q\n//\tinternal  leaves\n", "core/q: is in the map"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, house.CheckMap(tree(t, map[string]string{
				"core/doc.go": "// Package core is the map.\n//\n" + tt.text + "package core\n", "core/p/p.go": "package p\n", "core/p/sub/s.go": "package sub\n",
				"core/internal/leaf/l.go": "package leaf\n", "core/coretest/c.go": "package coretest\n",
			})), tt.want)
		})
	}
}

func TestCheckSizes(t *testing.T) {
	long := "package p\n" + strings.Repeat("var _ = 0\n", house.MaxFileLines)
	for _, tt := range []struct{ name, file, text, want string }{
		{"Short", "core/p/p.go", "package p\n", ""},
		{"Long", "core/p/p.go", long, "split it"},
		{"LongGenerated", "core/p/p.go", "// Code generated by x. DO NOT EDIT.\n\n" + long, ""},
		{"LongScript", "scripts/run.sh", strings.Repeat("true\n", house.MaxFileLines+1), "split it"},
		{"LongData", "scripts/demo/corpus.jsonl", strings.Repeat("{}\n", house.MaxFileLines+1), ""},
		{"ShortMain", "cmd/main.go", "package main\n\nfunc main() {\n}\n", ""},
		{"LongMain", "cmd/main.go", "package main\n\nfunc main() {\n" + strings.Repeat("\tprintln()\n", house.MaxMainLines) + "}\n", "main has 62 lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := house.CheckSizes(tree(t, map[string]string{tt.file: tt.text}))
			if err != nil {
				t.Fatal(err)
			}
			check(t, findings, tt.want)
		})
	}
}

func TestCheckWords(t *testing.T) {
	// Spelled in two, or this file would be a finding.
	later, sleeps := "TO"+"DO", "package p\n\nimport \"time\"\n\nfunc f() { time."+"Sleep(1) }\n"
	for _, tt := range []struct{ name, file, text, want string }{
		{"Comment", "core/p/p.go", "package p\n\n// " + later + ": more\n", "postpones"},
		{"String", "core/p/p.go", "package p\n\nvar s = \"" + later + "\"\n", ""},
		{"Script", "scripts/run.sh", "true # " + later + "\n", "postpones"},
		{"ScriptText", "scripts/run.sh", "echo " + later + "\n", ""},
		{"EmptyName", "core/util/p.go", "package util\n", "does not say"},
		{"Sleep", "core/p/p_test.go", sleeps, "sleeps"},
		{"SleepRenamed", "core/p/p_test.go", "package p\n\nimport tm \"time\"\n\nfunc f() { tm.Sleep(1) }\n", "sleeps"},
		{"SleepInCode", "core/p/p.go", sleeps, ""},
		{"OtherSleep", "core/p/p_test.go", "package p\n\nimport _ \"time\"\n\nfunc f() { agent.Sleep(1) }\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := house.CheckWords(tree(t, map[string]string{tt.file: tt.text}))
			if err != nil {
				t.Fatal(err)
			}
			check(t, findings, tt.want)
		})
	}
}

func TestCheckButtons(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"None", "<button onClick={f}>a</button>", "no type"},
		{"NoAttribute", "<button>a</button>", "no type"},
		{"NextLine", "<button\n  class=\"link\">a</button>", "no type"},
		{"Other", "<button type=\"link\">a</button>", "no type"},
		{"Button", "<button type=\"button\" onClick={f}>a</button>", ""},
		{"Submit", "<button type=\"submit\">a</button>", ""},
		{"Computed", "<button type={kind}>a</button>", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := house.CheckButtons(tree(t, map[string]string{"appliance/console/ui/part/a.tsx": tt.text}))
			if err != nil {
				t.Fatal(err)
			}
			check(t, findings, tt.want)
		})
	}
}

func TestCheckGoroutines(t *testing.T) {
	starts := "package p\n\nfunc f() { go\tf() }\n" // with a tab: .ci/run finds by the text what starts goroutines, and this package does not
	leak := "package p\n\nimport _ \"go.uber.org/goleak\"\n"
	check(t, house.CheckGoroutines(tree(t, map[string]string{"core/p/p.go": starts})), "goleak")
	check(t, house.CheckGoroutines(tree(t, map[string]string{"core/p/p.go": starts, "core/p/p_test.go": leak})), "")
	check(t, house.CheckGoroutines(tree(t, map[string]string{"scripts/p/p.go": starts})), "")
}

func TestCheckLicence(t *testing.T) {
	findings, err := house.CheckLicence(tree(t, map[string]string{"NOTICE": "Wardroom\n", "VERSION": "1.2\n", "LICENSE": "do as you like\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != 2 {
		t.Errorf("findings %v, want one for LICENSE and one for VERSION", findings)
	}
}

// check wants no finding for an empty want, and else exactly one that says it.
func check(t *testing.T, findings []house.Finding, want string) {
	t.Helper()
	switch {
	case want == "" && len(findings) > 0:
		t.Errorf("findings %v, want none", findings)
	case want != "" && (len(findings) != 1 || !strings.Contains(findings[0].String(), want)):
		t.Errorf("findings %v, want one that says %q", findings, want)
	}
}

func TestCheckTwins(t *testing.T) {
	const webhook = "type Webhook struct {\n\tID string `json:\"id\"`\n\tURL string `json:\"url,omitempty\"`\n\tEvents []string `json:\"events\"`\n"
	for _, tt := range []struct {
		name, file, text string
		want             string // parts of the finding, with | between; empty: none
	}{
		{"Twin", "core/api/body.go", "type body struct {\n\tEvents, More []string `json:\"events\"`\n\tID string `json:\"id\"`\n\tURL *string `json:\"url\"`\n}", "core/api.body|sdk/wire.Webhook"},
		{"OneNameMore", "core/api/body.go", webhook + "\tSecret string `json:\"secret\"`\n}", ""},
		{"Hidden", "core/api/body.go", webhook + "\tSecret string `json:\"-\"`\n}", "core/api.Webhook"},
		{"Embedded", "core/api/body.go", "type body struct{ wire.Webhook }", ""},
		{"Local", "core/api/body.go", "func f() {\n" + webhook + "}\n}", "core/api.Webhook"},
		{"SamePackage", "sdk/wire/other.go", strings.Replace(webhook, "Webhook", "Other", 1) + "}", ""},
		{"InTest", "core/api/body_test.go", webhook + "}", ""},
		{"Generated", "core/api/body.go", "// Code generated by a tool. DO NOT EDIT.\n\n" + webhook + "}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "package api\n\n" + tt.text + "\n"
			if strings.HasPrefix(tt.text, "// Code") {
				text = strings.Replace(tt.text, "\n\n", "\n\npackage api\n\n", 1)
			}
			findings := house.TwinsWithout(tree(t, map[string]string{"sdk/wire/webhook.go": "package wire\n\n" + webhook + "}\n", tt.file: text}))
			if len(findings) == 0 != (tt.want == "") {
				t.Fatalf("%v", findings)
			}
			for part := range strings.SplitSeq(tt.want, "|") {
				if tt.want != "" && !strings.Contains(findings[0].String(), part) {
					t.Errorf("%v does not name %s", findings[0], part)
				}
			}
		})
	}
	gone := house.CheckTwins(tree(t, map[string]string{"core/a.go": "package core\n"}))
	if len(gone) == 0 || !strings.Contains(gone[0].Why, "drop the exception") {
		t.Errorf("exceptions without twins: %v", gone)
	}
}
