package api

import (
	"fmt"
	"maps"
	"strings"
)

// Part holds the operations of a noun that no other operation needs the service of. It is made by the function that has the
// noun's name, which stands with its routes.
type Part struct {
	name     string // of the resource that its routes serve
	resource resource
	routes   []Route // without their Resource
}

// routesOf returns a function that completes routes of a tag. Those whose action ends in .read ask for the scope reads, the others
// for changes.
func routesOf(tag, reads, changes string) func(method, action string, r Route) Route {
	return func(method, action string, r Route) Route {
		r.Method, r.Tag, r.Action, r.Scope = method, tag, action, changes
		if strings.HasSuffix(action, ".read") {
			r.Scope = reads
		}
		return r
	}
}

// resourcesOf returns the resources of parts with those of all other routes, by name. No two have one name: what the trail
// holds of one would follow from the other.
func resourcesOf(parts []Part) (map[string]resource, error) {
	all := maps.Clone(resources)
	for _, p := range parts {
		if _, taken := all[p.name]; taken {
			return nil, fmt.Errorf("the resource %s is declared twice", p.name)
		}
		all[p.name] = p.resource
	}
	return all, nil
}
