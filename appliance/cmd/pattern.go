package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/sdk/client"
)

func (c *cli) patternCommand() *cobra.Command {
	return c.nounGroup(patterns, &cobra.Command{Use: "pattern", Aliases: []string{"patterns"}, Short: "Store and read patterns"},
		patterns.lists(c, &cobra.Command{Use: "list", Short: "List the latest version of each pattern"}), c.patternGet(), c.patternGraph(), c.patternPut(), c.patternValidate(), c.patternDelete(),
		c.schemaCommand("definitions", pattern.Schema), c.patternVersions())
}

var patterns = &resource[client.PatternSummary]{
	noun: "pattern", member: "patterns", empty: "no patterns; store one with `wardroom pattern put FILE`",
	columns: []column[client.PatternSummary]{
		{head: "NAME", show: func(p *client.PatternSummary) any { return p.Name }},
		{head: "VERSION", show: func(p *client.PatternSummary) any { return p.Version }},
		{head: "UPDATED", show: func(p *client.PatternSummary) any { return moment(&p.UpdatedAt) }, wide: true},
		{head: "AGE", show: func(p *client.PatternSummary) any { return p.UpdatedAt }},
		{head: "ACTIVE", show: useOf(func(u *client.PatternUse) int { return u.Active })},
		{head: "DONE-24H", show: useOf(func(u *client.PatternUse) int { return u.Completed })},
		{head: "FAILED-24H", show: useOf(func(u *client.PatternUse) int { return u.Failed })},
		{head: "CANCELLED-24H", show: useOf(func(u *client.PatternUse) int { return u.Cancelled }), wide: true},
		{head: "DESCRIPTION", show: func(p *client.PatternSummary) any { return p.Description }, cut: 60},
	},
	filters: []filter{{flag: "search", usage: "only those whose name or description holds this text"}, byCreator},
	id:      func(p *client.PatternSummary) string { return p.Name },
	status:  func(p *client.PatternSummary) string { return spaced(p.Version, shorten(clean(p.Description), 60)) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		filter := client.PatternFilter{Search: sel.text("search"), CreatedBy: sel.text("created-by"), Use: true, Page: sel.Page}
		list, err := api.ListPatterns(ctx, filter)
		if unknownQuery(err) { // an older server does not count the use
			filter.Use = false
			list, err = api.ListPatterns(ctx, filter)
		}
		return list, err
	},
}

// useOf shows a number of a pattern's use, nothing where the caller may not read executions.
func useOf(number func(*client.PatternUse) int) func(*client.PatternSummary) any {
	return func(p *client.PatternSummary) any {
		if p.Use == nil {
			return ""
		}
		return number(p.Use)
	}
}

func (c *cli) patternGet() *cobra.Command {
	var version string
	cmd := shows(c, &cobra.Command{Use: "get NAME", Short: "Show a pattern with its definition"},
		func(api *client.Client, ctx context.Context, name string) (*client.Pattern, error) {
			return api.GetPattern(ctx, name, version)
		},
		func(s *screen, p *client.Pattern) {
			s.fields("name", p.Name, "version", p.Version, "description", p.Description,
				"created", moment(&p.CreatedAt), "updated", moment(&p.UpdatedAt), "by", p.CreatedBy, "etag", p.ETag)
			s.line("definition:")
			s.line("%s", pretty(p.Definition))
		})
	cmd.Flags().StringVar(&version, "version", "", "exact version or a range such as 1.x (default the latest)")
	return cmd
}

func (c *cli) patternPut() *cobra.Command {
	var create bool
	var tag string
	cmd := &cobra.Command{
		Use:   "put FILE",
		Short: "Store a definition: a new pattern, a new version, or the same version again",
		Long: "Store the definition in FILE (YAML; - reads stdin). A name or version that is new is added; a version\n" +
			"that exists is replaced, unless --create is given, or only as long as it is what `wardroom pattern get`\n" +
			"showed the etag of, with --if-match. Executions keep the definition they started with.",
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				change, err := putPattern(ctx, api, string(source), create, tag)
				if err != nil {
					return c.showProblems(args[0], string(source), err)
				}
				return c.show(change.Body, func(s *screen) {
					verb := "replaced"
					if change.Created {
						verb = "stored"
					}
					s.line("pattern %s %s %s", clean(change.Name), clean(change.Version), verb)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&create, "create", false, "fail if the version exists")
	cmd.Flags().StringVar(&tag, "if-match", "", "fail if the version is not what has this etag, as `TAG` of pattern get")
	exclusive(cmd, "create", "if-match")
	return cmd
}

// putPattern stores a definition. An update comes first, because it is the call that tells a new version
// from a replaced one; an unknown name is then created.
func putPattern(ctx context.Context, api *client.Client, source string, create bool, tag string) (*client.PatternChange, error) {
	var head struct {
		Name string `yaml:"name"`
	}
	// What is wrong with the text is for the server to say, with every problem at once.
	nameless := yaml.Unmarshal([]byte(source), &head) != nil || head.Name == ""
	in := client.PatternInput{Definition: source}
	if !create && !nameless {
		if tag != "" {
			return api.ReplacePattern(ctx, head.Name, tag, in)
		}
		change, err := api.UpdatePattern(ctx, head.Name, in)
		if client.CodeOf(err) != client.CodeNotFound {
			return change, err
		}
	}
	return api.CreatePattern(ctx, in)
}

func (c *cli) patternDelete() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a pattern, all versions or one",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.PatternDeletion, error) {
				return api.DeletePattern(ctx, args[0], version)
			}, func(s *screen, gone *client.PatternDeletion) {
				s.line("pattern %s: %s deleted", clean(args[0]), count(gone.VersionsRemoved, "version"))
			})
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "only this version (default all)")
	return cmd
}

func (c *cli) patternVersions() *cobra.Command {
	return shows(c, &cobra.Command{Use: "versions NAME", Short: "List the versions of a pattern, latest first"},
		(*client.Client).PatternVersions, func(s *screen, list *client.PatternVersionList) {
			var cells [][]cell
			for _, v := range list.Versions {
				cells = append(cells, plain(v.Version, moment(&v.CreatedAt)))
			}
			s.table([]string{"VERSION", "CREATED"}, cells)
		})
}

// showProblems turns a refused definition into its lines with what is wrong there.
func (c *cli) showProblems(name, source string, err error) error {
	var api *client.Error
	if !errors.As(err, &api) || len(api.Problems()) == 0 {
		return err
	}
	c.printProblems(name, source, api.Problems())
	return &shownError{headline: fmt.Sprintf("%s: %s in %s", api.Code, count(len(api.Problems()), "problem"), name), cause: err}
}

// count renders "1 problem", "2 problems".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
