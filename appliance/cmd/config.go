package cmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/config"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "Check and show configuration files"})
	cmd.AddCommand(c.configValidate(), c.configShow(), c.schemaCommand("the configuration file", config.Schema))
	return cmd
}

// configFile adds --config to a command and makes its argument an alternative to it.
func configFile(cmd *cobra.Command, run func(cmd *cobra.Command, path string) error) *cobra.Command {
	var path string
	cmd.Flags().StringVar(&path, "config", "", "configuration file; drop-ins in conf.d beside it are read too")
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 1 || (len(args) == 1 && path != ""):
			return usagef(cmd, "one file is enough; drop-ins are found beside it")
		case len(args) == 1:
			path = args[0]
		case path == "":
			return usagef(cmd, "FILE is missing")
		}
		return run(cmd, path)
	}
	return cmd
}

func (c *cli) configValidate() *cobra.Command {
	var environment int
	cmd := configFile(&cobra.Command{
		Use:   "validate FILE",
		Short: "Check a configuration file and its drop-ins; every problem is shown at once",
	}, func(_ *cobra.Command, path string) error {
		options := config.Options{Lookup: serviceEnvironment(path)}
		if environment != 0 {
			var err error
			if options.Lookup, err = environOf(environment); err != nil {
				return err
			}
		}
		answer := struct {
			Valid    bool             `json:"valid"`
			Files    []string         `json:"files"`
			Problems []config.Problem `json:"problems"`
			Warnings []config.Problem `json:"warnings"`
		}{Files: []string{}, Problems: []config.Problem{}, Warnings: []config.Problem{}}
		cfg, err := config.Load(path, options)
		if err == nil && c.deps.CheckConfig != nil {
			err = c.deps.CheckConfig(cfg)
		}
		if err != nil && config.Problems(err) == nil {
			return err
		}
		if err == nil {
			answer.Valid, answer.Files = true, cfg.Files()
			answer.Warnings = append(answer.Warnings, cfg.Warnings()...)
		} else {
			answer.Problems = config.Problems(err)
		}
		body, marshalErr := json.Marshal(answer)
		if marshalErr != nil {
			return marshalErr
		}
		if !c.tables() || err == nil {
			if showErr := c.show(body, func(s *screen) {
				s.line("valid: %s", clean(strings.Join(answer.Files, ", ")))
				for _, w := range answer.Warnings {
					s.line("warning: %s", clean(w.String()))
				}
			}); showErr != nil {
				return showErr
			}
		}
		return err
	})
	cmd.Flags().IntVar(&environment, "env-of", 0, "number of a process whose environment values refer to, such as a running server's")
	return cmd
}

func (c *cli) configShow() *cobra.Command {
	return configFile(&cobra.Command{
		Use:   "show FILE",
		Short: "Print the configuration in effect: all keys, defaults included, secrets hidden",
	}, func(_ *cobra.Command, path string) error {
		cfg, err := loadConfig(path)
		if err != nil {
			return err
		}
		text, err := config.Show(cfg)
		if err != nil {
			return err
		}
		if c.tables() || c.output == "yaml" {
			_, err = c.deps.Stdout.Write(text)
			return err
		}
		var values any
		if err := yaml.Unmarshal(text, &values); err != nil {
			return fmt.Errorf("read the configuration back: %w", err)
		}
		body, err := json.Marshal(values)
		if err != nil {
			return err
		}
		return c.showJSON(body)
	})
}

// schemaCommand prints a JSON Schema.
func (c *cli) schemaCommand(of string, schema func() ([]byte, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of " + of + ", for editors",
		RunE: func(*cobra.Command, []string) error {
			text, err := schema()
			if err != nil {
				return err
			}
			return c.showJSON(text)
		},
	}
}
