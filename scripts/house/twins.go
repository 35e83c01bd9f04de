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

// twinExceptions are the twins that may be there, with the reason. The list only gets shorter: what is still to be merged
// stands here and nowhere else.
var twinExceptions = []twinException{
	{
		why: "to be done: the preparation of a thread, whose answers have other fields always",
		groups: [][]string{
			{"core/api.plannedWorkspace", "sdk/wire.WorkspaceSpec"},
			{"core/api.threadPreparationRequest", "sdk/client.ThreadPreparation"},
		},
	},
	{
		why: "to be done: threads are answered from structs of core/api still, which have what a stored thread leaves out when it is empty",
		groups: [][]string{
			{"core.Preparation", "core/api.plannedPreparation", "core/api.threadPreparationBody"},
			{"core.Thread", "core/api.threadBody", "sdk/client.Thread"},
			{"core.ThreadPlan", "core/api.threadPlanBody", "sdk/client.ThreadPlan"},
		},
	},
	{
		why: "to be done: events inside the service, and what runtimes and agents say",
		groups: [][]string{
			{"core/config.AgentType", "sdk/runtime.DeclaredType"},
			{"core/config.VaultTransitAuth", "plugins/secrets-vault/vault.Auth"}, // two logins: core imports no plugin, and a plugin no core
		},
	},
	{
		why: "errors of different contracts that happen to look alike",
		groups: [][]string{
			{"core/api.errorDetail", "sdk/runtime/server.errorDetail", "sdk/wire.ErrorDetail", "sdk/wire.ExecutionError"}, // details always, of a runtime's own form, or left out
			{"sdk/audit.Error", "sdk/secret.Error"},
			{"sdk/client.ThreadError", "sdk/wire.TurnError"},
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
