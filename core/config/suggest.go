package config

import (
	"sort"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns the candidate that text is most likely a misspelling or the beginning of, or "".
func nearest(text string, candidates []string) string {
	best, bestDistance := "", maxDistance(text)+1
	for _, candidate := range candidates {
		d := distance(text, candidate)
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" || len(text) < 3 {
		return best
	}
	for _, candidate := range candidates {
		if strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(text)) {
			return candidate
		}
	}
	return ""
}

// suggestKey returns the advice for an unknown key in a section ("" is the top), which the table knows by its
// pattern: the nearest known key of the section, else the same or a near name elsewhere, else the names that
// are known here.
func suggestKey(section, pattern, name string) string {
	here := children(pattern)
	if near := nearest(name, here); near != "" && strings.EqualFold(near, name) {
		return "did you mean " + join(section, near) + "?"
	}
	for _, key := range allKeys() { // the right name in the wrong section
		if strings.EqualFold(key[strings.LastIndex(key, ".")+1:], name) {
			return "did you mean " + strings.ReplaceAll(key, anyName, "<name>") + "?"
		}
	}
	if near := nearest(name, here); near != "" {
		return "did you mean " + join(section, near) + "?"
	}
	if section == "" {
		return "known sections are " + strings.Join(here, ", ")
	}
	return "known keys here are " + strings.Join(here, ", ")
}

// distance is the edit distance with letter case ignored. Input is an operator's key: it is cut, as the
// cost grows with the product of the lengths.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	return levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b))
}

// maxDistance is how many edits still make a misspelling rather than another word. Two swapped letters
// count as two edits.
func maxDistance(text string) int {
	if len(text) < 4 {
		return 1
	}
	return max(2, min(3, len(text)/3))
}

// children returns the names directly below a section, in the order of the table.
func children(section string) []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range fields {
		rest, ok := f.key, true
		if section != "" {
			rest, ok = strings.CutPrefix(f.key, section+".")
		}
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if !seen[name] && name != anyName {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// allKeys returns every key and section, sorted so that advice is the same in every run.
func allKeys() []string {
	keys := make([]string, 0, len(fields)+len(sectionDocs))
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	for section := range sectionDocs {
		keys = append(keys, section)
	}
	sort.Strings(keys)
	return keys
}

func join(section, name string) string {
	if section == "" {
		return name
	}
	return section + "." + name
}
