package cmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/appliance/chartdraw"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) patternGraph() *cobra.Command {
	var version, file, format string
	var ascii bool
	cmd := &cobra.Command{
		Use:   "graph [NAME]",
		Short: "Draw the roles and the workflow of a pattern",
		Long: "Draw the hierarchy of roles, where messages go, and the steps of the pattern NAME, or of the definition in the\n" +
			"file of --file (YAML; - reads stdin), for which no server is needed.\n\n" +
			"-o text is for a terminal, -o svg one self-contained picture, -o json what is drawn.",
		Args: func(cmd *cobra.Command, args []string) error {
			list := parameters("graph NAME")
			if cmd.Flags().Changed("file") {
				list = nil
			}
			return takes(list)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch format {
			case "text", "table", "svg", "json":
			default:
				return usagef(cmd, "--output must be text, svg or json, not %q", format)
			}
			drawing, err := c.drawFile(file)
			if file == "" {
				drawing, err = c.drawPattern(cmd, args[0], version)
			}
			if err != nil {
				return err
			}
			return c.showDrawing(drawing, format, ascii)
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "exact version or a range such as 1.x (default the latest)")
	cmd.Flags().StringVar(&file, "file", "", "draw the definition in this file")
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text, svg or json")
	cmd.Flags().BoolVar(&ascii, "ascii", false, "draw with ASCII only, as where the locale is not UTF-8")
	exclusive(cmd, "file", "version")
	return cmd
}

// drawPattern draws a pattern of the server.
func (c *cli) drawPattern(cmd *cobra.Command, name, version string) (drawing *chartdraw.Drawing, err error) {
	err = c.call(cmd, func(ctx context.Context, api *client.Client) error {
		p, err := api.GetPattern(ctx, name, version)
		if err != nil {
			return err
		}
		source, err := wholeDefinition(p)
		if err != nil {
			return err
		}
		plan, found := pattern.Parse(string(source))
		if len(found) > 0 {
			// The server has taken it, so it knows more than this program.
			return fmt.Errorf("this program cannot read the definition of %s %s, the server's version may be newer: %s",
				clean(p.Name), clean(p.Version), found[0])
		}
		drawing = chartdraw.New(plan, source)
		return nil
	})
	return drawing, err
}

// wholeDefinition puts what the API says beside a definition back into it.
func wholeDefinition(p *client.Pattern) (json.RawMessage, error) {
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(p.Definition, &whole); err != nil {
		return nil, fmt.Errorf("the server's definition is no JSON object: %w", err)
	}
	for key, text := range map[string]string{"name": p.Name, "version": p.Version, "description": p.Description} {
		value, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		if text != "" {
			whole[key] = value
		}
	}
	return json.Marshal(whole)
}

// drawFile draws a definition in a file, or shows what is wrong with it. It does nothing without a file.
func (c *cli) drawFile(file string) (*chartdraw.Drawing, error) {
	if file == "" {
		return nil, nil
	}
	data, err := c.readFile(file)
	if err != nil {
		return nil, err
	}
	plan, found := pattern.Parse(string(data))
	if len(found) > 0 {
		var problems []client.Problem
		for _, p := range found {
			problems = append(problems, client.Problem(p))
		}
		c.printProblems(file, string(data), problems)
		return nil, &outcomeError{code: exitUsage, message: fmt.Sprintf("%s in %s", count(len(found), "problem"), file)}
	}
	return chartdraw.New(plan, definitionOf(plan)), nil
}

// definitionOf returns the definition of a parsed plan as JSON.
func definitionOf(plan core.Plan) json.RawMessage {
	if p, ok := plan.(*pattern.Plan); ok {
		return p.JSON()
	}
	return nil
}

func (c *cli) showDrawing(drawing *chartdraw.Drawing, format string, ascii bool) error {
	switch format {
	case "json":
		body, err := json.Marshal(drawing)
		if err != nil {
			return err
		}
		return c.printJSON(body)
	case "svg":
		_, err := c.deps.Stdout.Write(drawing.SVG())
		return err
	}
	opts := chartdraw.TextOptions{Width: c.timelineStyle().width, ASCII: ascii || !c.unicode()}
	_, err := fmt.Fprint(c.deps.Stdout, drawing.Text(opts))
	return err
}
