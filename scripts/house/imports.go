package house

import (
	"path"
	"strconv"
	"strings"
)

// edge is one forbidden import. Paths are relative to the module for our packages ("core/store") and full
// for foreign ones ("github.com/gin-gonic/gin").
type edge struct {
	from func(importer string) bool
	to   func(imported string) bool
	// except names the sanctioned joins.
	except func(importer, imported string, test bool) bool
	why    string
}

// publicTypes is the one definition of what crosses the product's border, which both sides of it use.
const publicTypes = "sdk/wire"

// leaves is where packages are that siblings below core may share.
const leaves = "core/internal"

// contract is the suite of what stores promise, with the store in memory that tests of services use.
const contract = "core/storetest"

// edges lists every forbidden direction with its reason. What no rule names is allowed.
var edges = []edge{
	{
		from: exactly("core"), to: ours,
		except: func(_, imported string, test bool) bool {
			return imported == publicTypes || test && imported == "core/coretest" || test && imported == "core"
		},
		why: "the core root is the vocabulary that everything imports, so it imports nothing of ours but the public types",
	},
	{
		from: exactly("core"), to: foreign,
		except: func(_, imported string, test bool) bool {
			return test || imported == "github.com/oklog/ulid/v2"
		},
		why: "the core root is standard library and the ULID codec only, so that nobody inherits a dependency from the vocabulary",
	},
	{
		from: within("core"), to: within("core"),
		except: func(importer, imported string, test bool) bool {
			return imported == "core" || area(importer) == area(imported) || importer == "core" ||
				Within(imported, leaves) || Within(importer, leaves) || // leaves have a rule of their own
				imported == "core/coretest" && (test || testSupport(importer)) ||
				imported == contract && test || importer == contract && area(imported) == "core/store" ||
				importer == "core/engine" && imported == "core/orgchart" || // pure rules, which only the engine runs
				importer == "core/engine" && imported == "core/timeline" && test // what the engine journals is what that reads
		},
		why: "siblings below core do not import each other: they meet through interfaces in the core root or at the consumer, and appliance joins them",
	},
	{
		from: within(leaves), to: within("core"),
		except: func(importer, imported string, test bool) bool {
			return imported == "core" || imported == "core/internal/rawjson" && importer != imported || test && (imported == importer || imported == "core/coretest")
		},
		why: "a package of core/internal is a leaf: siblings below core share it, so it imports nothing of core but the root's vocabulary, and how JSON is read",
	},
	{
		from: within("core"), to: within("sdk"),
		except: func(importer, imported string, test bool) bool {
			if imported == publicTypes {
				return true
			}
			switch area(importer) {
			case "core/agents": // the wire protocol is one definition for both sides; its tests drive a real client
				return imported == "sdk/agent/protocol" || test && imported == "sdk/agent"
			case "core/audit": // records in the form that everybody verifies, and hands them to sinks
				return imported == "sdk/audit" || imported == "sdk/audit/trail"
			case "core/pluginhost":
				return true
			case "core/secrets": // asks providers, and keeps values in the type that never prints them
				return imported == "sdk/secret"
			case "core/runtimes": // speaks the contract of runtimes, and serves their terminals
				return imported == "sdk/runtime" || imported == "sdk/terminal" || test && Within(imported, "sdk")
			}
			return false
		},
		why: "only core/pluginhost, core/runtimes and the agent protocol join core to sdk; elsewhere the product would depend on what third parties see",
	},
	{
		from: within("core"), to: anyOf(within("appliance"), within("plugins"), within("scripts"), within("configs")),
		why: "core is wired from above: appliance hands it what it needs",
	},
	{
		from: within("sdk"), to: anyOf(within("core"), within("appliance"), within("plugins"), within("scripts"), within("configs")),
		why: "sdk is all that a third party gets, so it stands alone",
	},
	{
		from: within("plugins"), to: ours,
		except: func(importer, imported string, _ bool) bool {
			return Within(imported, "sdk") || area(importer) == area(imported)
		},
		why: "a plugin of ours has no more than a third party's: sdk, and nothing else",
	},
	{
		from: within("configs"), to: anyOf(ours, foreign),
		except: func(_, _ string, test bool) bool { return test },
		why:    "configs is files and go:embed, without logic",
	},
	{
		from: within("docs"), to: anyOf(ours, foreign),
		why: "docs is pages and go:embed, without logic",
	},
	{
		from: product, to: under("github.com/yuin/goldmark"), except: only("appliance/docsite"),
		why: "Markdown is rendered in one place, which leaves HTML out",
	},
	{
		from: func(importer string) bool { return !Within(importer, "scripts") },
		to:   within("scripts"),
		why:  "the product does not depend on its tools",
	},
	{
		from: product, to: under("github.com/gin-gonic"), except: only("core/api"),
		why: "HTTP is core/api's matter: every route is declared there, in one table",
	},
	{
		from: product, to: anyOf(under("github.com/dgraph-io/badger"), under("github.com/dgraph-io/ristretto")), except: only("core/store"),
		why: "Badger stays behind core/store, which owns keys, transactions and durability",
	},
	{
		from: product, to: under("github.com/blevesearch"), except: only("core/memory"),
		why: "the full-text index stays behind core/memory, which can build it anew",
	},
	{
		from: product, to: under("github.com/open-policy-agent"), except: only("core/policy"),
		why: "policy evaluation stays behind core/policy",
	},
	{
		from: product, to: anyOf(under("github.com/docker"), under("github.com/moby")), except: only("plugins/runtime-docker"),
		why: "the container engine's large dependency tree stays in its plugin",
	},
	{
		from: product, to: under("k8s.io"), except: only("plugins/runtime-kubernetes", "plugins/secrets-kubernetes"),
		why: "the cluster client's large dependency tree stays in its plugins",
	},
	{
		from: product, to: anyOf(under("github.com/hashicorp/vault"), under("github.com/aws/aws-sdk-go-v2"), under("github.com/elastic")),
		except: func(importer, _ string, _ bool) bool { return Within(importer, "plugins") },
		why:    "a foreign service's client belongs into the plugin that speaks to it",
	},
	{
		from: product, to: under("github.com/hashicorp/go-plugin"), except: only("sdk", "core/pluginhost"),
		why: "plugins are started and spoken to by core/pluginhost alone, over sdk's glue",
	},
	{
		from: anyOf(within("core"), within("sdk")), to: anyOf(under("github.com/spf13/cobra"), under("github.com/spf13/pflag")),
		why: "flags are the command line's matter; packages take options",
	},
}

// CheckImports reports every forbidden import.
func CheckImports(t *Tree) []Finding {
	var findings []Finding
	for _, pkg := range t.Packages {
		if pkg.Path == "appliance/e2e" {
			continue // drives the whole product from outside
		}
		for _, file := range pkg.Files {
			for _, spec := range file.Syntax.Imports {
				full, err := strconv.Unquote(spec.Path.Value)
				if err != nil || standard(full) {
					continue
				}
				imported := relative(full)
				for _, e := range edges {
					if !e.from(pkg.Path) || !e.to(imported) {
						continue
					}
					if e.except != nil && e.except(pkg.Path, imported, file.Test) {
						continue
					}
					findings = append(findings, Finding{
						At:  t.At(spec.Pos()),
						Why: pkg.Path + " imports " + imported + ": " + e.why,
					})
				}
			}
		}
	}
	return findings
}

// relative turns an import path into one relative to the module; foreign ones stay as they are.
func relative(full string) string {
	if full == Module {
		return "."
	}
	return strings.TrimPrefix(full, Module+"/")
}

// standard reports whether the import path is of the standard library: its first element has no dot.
func standard(full string) bool {
	first, _, _ := strings.Cut(full, "/")
	return !strings.Contains(first, ".")
}

func foreign(imported string) bool { return strings.Contains(strings.Split(imported, "/")[0], ".") }

func ours(imported string) bool { return !foreign(imported) }

// product is what is shipped: everything but scripts, which may compare with a bare library.
func product(importer string) bool { return !Within(importer, "scripts") }

// area is the responsibility a package belongs to: "core/store" for "core/store/keys".
func area(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) > 2 {
		parts = parts[:2]
	}
	return strings.Join(parts, "/")
}

// testSupport reports whether a package exists for tests, by its name: coretest, storetest.
func testSupport(name string) bool { return strings.HasSuffix(path.Base(name), "test") }

func exactly(name string) func(string) bool { return func(p string) bool { return p == name } }

func within(dir string) func(string) bool { return func(p string) bool { return Within(p, dir) } }

// under is within for foreign paths, where a major version or a dash may follow.
func under(prefix string) func(string) bool {
	return func(p string) bool { return strings.HasPrefix(p, prefix) }
}

func anyOf(all ...func(string) bool) func(string) bool {
	return func(p string) bool {
		for _, f := range all {
			if f(p) {
				return true
			}
		}
		return false
	}
}

func only(dirs ...string) func(string, string, bool) bool {
	return func(importer, _ string, _ bool) bool {
		for _, dir := range dirs {
			if Within(importer, dir) {
				return true
			}
		}
		return false
	}
}
