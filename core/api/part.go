package api

import (
	"fmt"
	"maps"
)

// Part holds the operations of a noun that no other operation needs the service of. It is made by the function that has the
// noun's name, which stands with its routes.
type Part struct {
	name     string // of the resource that its routes serve
	resource resource
	routes   []Route // without their Resource
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
