package cmd

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// fishWords is the line of the script for fish that takes the words before the cursor, without their quotes. A later line
// evaluates them.
const fishWords = "    set -l args (commandline -opc)\n"

// fishQuoted quotes them anew, so that no completion runs what stands in quotes, as in a prompt. A ~ is what it was, and so is a
// variable that is all of a word, or of the value of a flag.
const fishQuoted = fishWords + `    if set -q args[2]
        for i in (seq 2 (count $args))
            string match -qr -- '^(--[\w-]+=)?\$\w+$' $args[$i]
            or set args[$i] (string escape -- (string replace -r -- '^(~|\$HOME)(?=/|$)' $HOME $args[$i]))
        end
    end
`

// addCompletion adds the command that prints scripts for shells.
func (c *cli) addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	fish, _, err := root.Find([]string{"completion", "fish"})
	if err != nil {
		panic(err) // it was added above
	}
	fish.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script strings.Builder
		if err := root.GenFishCompletion(&script, !bare); err != nil {
			return err
		}
		_, err = io.WriteString(c.deps.Stdout, strings.Replace(script.String(), fishWords, fishQuoted, 1))
		return err
	}
}
