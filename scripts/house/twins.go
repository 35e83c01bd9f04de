package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fewestNames is how many JSON names two structs must share to be taken for one fact: {id, name} is in many places.
const fewestNames = 3

// twinException names groups of structs that may have the same JSON names as the others of their group.
type twinException struct {
	why    string
	groups [][]string
}

// twinExceptions are the twins that may be there, with the reason. The list only gets shorter.
var twinExceptions = []twinException{
	{
		why: "a stored thread leaves out what is empty and has an order of its own; an answer always has it, and describes it",
		groups: [][]string{
			{"core.Thread", "sdk/wire.Thread"},
			{"core.Preparation", "sdk/wire.PlannedPreparation", "sdk/wire.ThreadSetup"},
		},
	},
	{
		why: "a section of the configuration, with its bounds, defaults and published comments, and the same settings where core/config may not be imported",
		groups: [][]string{
			{"core/config.AgentType", "sdk/runtime.DeclaredType"},                // the contract of runtimes, with durations in milliseconds
			{"core/config.VaultTransitAuth", "plugins/secrets-vault/vault.Auth"}, // the configuration of a plugin, which has a schema of its own
		},
	},
	{
		why: "errors of different contracts, each with the codes of its own",
		groups: [][]string{
			{"core/api.errorDetail", "sdk/runtime/server.errorDetail", "sdk/wire.ErrorDetail", "sdk/wire.ExecutionError"}, // details always, of a runtime's own form, or left out
			{"sdk/audit.Error", "sdk/secret.Error"}, // two contracts of plugins, each with a closed set of codes
		},
	},
}

// jsonStruct is a struct type with the JSON names that its own fields have. Names that come from an embedded struct are
// not among them: to embed a struct is how to say a fact once.
type jsonStruct struct {
	at   token.Pos
	name string // core.Webhook: package by path, and type
	pkg  string
	keys string // sorted, with commas
}

// CheckTwins reports structs of different packages that have the same JSON names: one fact has one struct. It reports
// exceptions that are none any more as well.
func CheckTwins(t *Tree) []Finding { return checkTwins(t, twinExceptions) }

func checkTwins(t *Tree, exceptions []twinException) []Finding {
	excused, met := map[string]string{}, map[string]bool{} // a struct to the first of its group
	for _, e := range exceptions {
		for _, group := range e.groups {
			for _, name := range group {
				excused[name] = group[0]
			}
		}
	}
	byKeys := map[string][]jsonStruct{}
	for _, pkg := range t.Packages {
		for _, file := range pkg.Files {
			if file.Test || file.Generated {
				continue
			}
			for _, s := range jsonStructs(pkg, file) {
				byKeys[s.keys] = append(byKeys[s.keys], s)
			}
		}
	}
	var findings []Finding
	for _, structs := range byKeys {
		for i, a := range structs {
			for _, b := range structs[i+1:] {
				if a.pkg == b.pkg {
					continue
				}
				if first := excused[a.name]; first != "" && first == excused[b.name] {
					met[a.name], met[b.name] = true, true
				} else {
					findings = append(findings, Finding{
						At:  t.At(b.at),
						Why: fmt.Sprintf("%s has the JSON names of %s (%s): one fact has one struct, in %s if both sides know it", b.name, a.name, a.keys, publicTypes),
					})
				}
			}
		}
	}
	for name := range excused {
		if !met[name] {
			findings = append(findings, Finding{At: "scripts/house/twins.go", Why: name + " has no twin any more: drop the exception"})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return findings
}

// jsonStructs returns the structs of a file that have enough JSON names, in its order.
func jsonStructs(pkg *Package, file *File) []jsonStruct {
	var found []jsonStruct
	ast.Inspect(file.Syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		if keys := jsonNames(body); len(keys) >= fewestNames {
			found = append(found, jsonStruct{at: spec.Pos(), name: pkg.Path + "." + spec.Name.Name, pkg: pkg.Path, keys: strings.Join(keys, ",")})
		}
		return true
	})
	return found
}

// jsonNames returns the names that the fields of a struct have in JSON by their tags, sorted.
func jsonNames(body *ast.StructType) []string {
	var names []string
	for _, field := range body.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
