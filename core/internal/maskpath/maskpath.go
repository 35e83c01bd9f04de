// Package maskpath reads the paths that name fields to be masked.
//
// It owns the syntax of a path and nothing of what is done to what it names. core/config checks paths with it, and
// core/masking compiles them. It is pure.
package maskpath

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of a path.
const (
	MaxNames = 16
	MaxBytes = 256
)

// Parse returns the names of a path, from the outside in. A name may hold *, which stands for any characters; ** alone
// stands for any number of names. Lists have no names of their own: [*] and [] behind a name are left out.
func Parse(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("must not be empty")
	}
	if len(path) > MaxBytes {
		return nil, fmt.Errorf("must be at most %d bytes long", MaxBytes)
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "$."), ".") {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "[*]"), "[]")
		switch {
		case name == "":
			return nil, fmt.Errorf("%q has an empty name; a path is names with dots between them, such as input.*.email", path)
		case name != "**" && strings.Contains(name, "**"):
			return nil, fmt.Errorf("%q has ** within a name; it stands for whole names", path)
		case strings.ContainsAny(name, "[]\"' \t\n"):
			return nil, fmt.Errorf("%q holds brackets, quotes or space; elements of lists need no mark of their own", path)
		case name == "**" && len(names) > 0 && names[len(names)-1] == "**":
			continue
		}
		names = append(names, name)
	}
	if len(names) > MaxNames {
		return nil, fmt.Errorf("%q has more than %d names", path, MaxNames)
	}
	return names, nil
}
