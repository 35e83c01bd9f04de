package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) patternValidate() *cobra.Command {
	var remote bool
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a definition and show every problem beside its line",
		Long: "Check the definition in FILE (YAML; - reads stdin) without a server. --remote asks the server instead,\n" +
			"which knows the patterns that a definition is composed of.",
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			check := localCheck(string(data))
			if remote {
				err = c.call(cmd, func(ctx context.Context, api *client.Client) (err error) {
					check, err = api.ValidatePattern(ctx, string(data))
					return err
				})
				if err != nil {
					return err
				}
			}
			return c.showCheck(args[0], string(data), check)
		},
	}
	cmd.Flags().BoolVar(&remote, "remote", false, "let the server check it")
	return cmd
}

// localCheck checks a definition in this process, in the shape of the API's answer.
func localCheck(source string) *client.PatternCheck {
	_, found := pattern.Parse(source)
	return &client.PatternCheck{PatternCheck: wire.PatternCheck{Valid: len(found) == 0, Problems: append([]client.Problem{}, found...)}}
}

func (c *cli) showCheck(name, source string, check *client.PatternCheck) error {
	body := check.Body
	if body == nil {
		var err error
		if body, err = json.Marshal(check); err != nil {
			return err
		}
	}
	if c.tables() && !check.Valid {
		c.printProblems(name, source, check.Problems)
	} else if err := c.show(body, func(s *screen) { s.line("%s is valid", clean(name)) }); err != nil {
		return err
	}
	if check.Valid {
		return nil
	}
	return &outcomeError{code: exitUsage, message: fmt.Sprintf("%s in %s", count(len(check.Problems), "problem"), name)}
}
