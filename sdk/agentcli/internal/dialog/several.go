package dialog

import "strings"

// several reads options that are separated by commas, of labels of which some hold commas themselves. Find returns the place of one
// option. Ways is in how many ways the words can be read, 2 for more than one, and bad what no option begins with where they cannot.
func several(said string, labels []string, find func(string) (int, bool)) (chosen []int, ways int, bad string) {
	longest := 1 // label, in parts
	for _, l := range labels {
		longest = max(longest, 1+strings.Count(l, ","))
	}
	parts := strings.Split(said, ",")
	type step struct{ ways, option, next int }
	steps := make([]step, len(parts)+1) // for what begins with each part
	steps[len(parts)].ways = 1
	for i := len(parts) - 1; i >= 0; i-- {
		for j := i + 1; j <= min(i+longest, len(parts)); j++ {
			option, ok := find(strings.TrimSpace(strings.Join(parts[i:j], ",")))
			if !ok || steps[j].ways == 0 {
				continue
			}
			steps[i] = step{ways: min(2, steps[i].ways+steps[j].ways), option: option, next: j}
		}
	}
	if ways = steps[0].ways; ways == 0 {
		return nil, 0, beyond(parts, longest, find)
	}
	for i := 0; i < len(parts); i = steps[i].next {
		chosen = append(chosen, steps[i].option)
	}
	return chosen, ways, ""
}

// beyond returns the part at which no option begins, behind as many options as can be read.
func beyond(parts []string, longest int, find func(string) (int, bool)) string {
	at := 0
	reached := make([]bool, len(parts)+1)
	reached[0] = true
	for i := range parts {
		if !reached[i] {
			continue
		}
		at = i
		for j := i + 1; j <= min(i+longest, len(parts)); j++ {
			if _, ok := find(strings.TrimSpace(strings.Join(parts[i:j], ","))); ok {
				reached[j] = true
			}
		}
	}
	return strings.TrimSpace(parts[at])
}

// inSeveralWays is the error of options that can be read in more than one way.
func inSeveralWays(field, said string, labels []string) error {
	return invalid(field, "%q can be read in more than one way, as labels hold commas: give the numbers of the options, %s", said, list(labels))
}
