package cmd

import (
	"strings"

	"github.com/spf13/cobra"
)

// parameter is an argument in the usage of a command.
type parameter struct {
	name     string // as it is written there, such as ID
	optional bool
	many     bool // any number of them; the last one only
}

// parameters reads the arguments out of a usage such as "prune [ID...]" or "run FILE --pattern NAME".
func parameters(use string) []parameter {
	var list []parameter
	words := strings.Fields(use)[1:]
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		var p parameter
		p.name, p.optional = strings.CutPrefix(words[0], "[")
		p.name, p.many = strings.CutSuffix(strings.TrimSuffix(p.name, "]"), "...")
		list, words = append(list, p), words[1:]
	}
	return list
}

// takes checks that the arguments are given that a usage names, and no others.
func takes(list []parameter) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, p := range list {
			if p.many && i < len(args) {
				return nil
			}
			if i >= len(args) && !p.optional {
				return usagef(cmd, "%s is missing", p.name)
			}
		}
		if len(args) > len(list) {
			return usagef(cmd, "unexpected argument %q", args[len(list)])
		}
		return nil
	}
}
