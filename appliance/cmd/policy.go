package cmd

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// PolicyTools are what the policy commands call.
type PolicyTools struct {
	// Check compiles and tests the policy of a configuration, and returns its revision.
	Check func(ctx context.Context, c *config.Config) (revision string, err error)
	// Eval asks it.
	Eval func(ctx context.Context, c *config.Config, p core.Principal, a core.Access) (core.Ruling, error)
	// EvalApproval asks it about a prompt of an agent; ok is false where it has nothing to say.
	EvalApproval func(ctx context.Context, c *config.Config, q core.PromptQuestion) (ruling core.PromptRuling, ok bool, err error)
	// Text returns the built-in policy.
	Text func() string
}

func (c *cli) policyCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "policy", Short: "Check and try the rules of who may do what",
		Long: "Check and try policies before a server takes them over. The built-in policy is meant unless --dir or --config names another.",
	})
	cmd.AddCommand(c.policyCheck("check", "Compile a policy and run its tests"), c.policyCheck("test", "Run the tests of a policy, in *_test.rego"),
		c.policyEval(), c.policyPrompt(), c.policyShow())
	return cmd
}

// rulesFlags say which policy is meant.
type rulesFlags struct{ config, dir string }

func (f *rulesFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "configuration file, for roles, bindings and security.policy.dir")
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of *.rego files in place of that of the configuration")
}

func (f *rulesFlags) load() (*config.Config, error) {
	c := config.Default()
	if f.config != "" {
		loaded, err := loadConfig(f.config)
		if err != nil {
			return nil, err
		}
		c = loaded
	}
	if f.dir != "" {
		c.Security.Policy.Dir = f.dir
	}
	return c, nil
}

func (c *cli) policyCheck(use, short string) *cobra.Command {
	var flags rulesFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.load()
			if err != nil {
				return err
			}
			revision, err := c.deps.Policy.Check(cmd.Context(), loaded)
			if err != nil {
				return err
			}
			return c.showValue(map[string]any{"valid": true, "revision": revision}, func(s *screen) { s.line("valid, revision %s", revision) })
		},
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) policyEval() *cobra.Command {
	var flags rulesFlags
	var p core.Principal
	var a core.Access
	cmd := &cobra.Command{
		Use:   "eval --action ACTION --scope SCOPE --scopes A,B",
		Short: "Ask a policy about a caller; exits with 5 if it refuses",
		Long: "Ask what a policy says to a caller who does ACTION. Actions and the scopes that they need are in the OpenAPI document\n" +
			"of a server, as x-action and x-scope.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Action == "" || a.Scope == "" {
				return usagef(cmd, "--action and --scope are needed")
			}
			for _, scope := range p.Scopes {
				if !slices.Contains(core.Scopes, scope) {
					return usagef(cmd, "%q is not a scope", scope)
				}
			}
			loaded, err := flags.load()
			if err != nil {
				return err
			}
			p.Kind, p.Name = core.PrincipalAPIKey, p.ID
			ruling, err := c.deps.Policy.Eval(cmd.Context(), loaded, p, a)
			if err != nil {
				return err
			}
			err = c.showValue(map[string]any{"allowed": ruling.Allowed, "reason": ruling.Reason, "revision": ruling.Revision}, func(s *screen) {
				word := "refused"
				if ruling.Allowed {
					word = "allowed"
				}
				s.line("%s: %s", word, clean(ruling.Reason))
			})
			if err == nil && !ruling.Allowed {
				return &outcomeError{code: exitAuth}
			}
			return err
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&a.Action, "action", "", "what is done, such as executions.create")
	f.StringVar(&a.Scope, "scope", "", "the scope that the action needs, such as executions:create")
	f.StringVar(&a.Resource, "resource", "", "kind of what it is done to, such as executions")
	f.StringVar(&a.ID, "id", "", "what it is done to")
	f.StringVar(&a.Pattern, "pattern", "", "pattern that this belongs to")
	f.StringVar(&a.Owner, "owner", "", "who made it")
	f.StringVar(&p.ID, "as", "somebody", "who does it")
	f.StringSliceVar(&p.Scopes, "scopes", nil, "scopes of the caller")
	f.StringSliceVar(&p.Roles, "roles", nil, "roles of the caller's key")
	f.StringSliceVar(&p.Groups, "groups", nil, "groups of the caller")
	return cmd
}

func (c *cli) policyPrompt() *cobra.Command {
	var flags rulesFlags
	var q core.PromptQuestion
	var input, at string
	cmd := &cobra.Command{
		Use:   "eval-prompt --tool TOOL --input JSON",
		Short: "Ask a policy about a prompt of an agent; exits with 5 if it denies",
		Long: "Ask what the package wardroom.approvals of a policy says of an agent's prompt. Without a rule that is about it, the rules\n" +
			"of the thread and of the configuration and the approvalPreset count.",
		Example: `  wardroom policy eval-prompt --dir /etc/wardroom/policy --tool Bash --input '{"command": "git push"}' --role engineer`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var given wire.ToolInput
			if err := json.Unmarshal([]byte(input), &given); err != nil {
				return usagef(cmd, "--input must be a JSON object: %v", err)
			}
			q.Input = given
			q.Time = c.now()
			if at != "" {
				when, err := time.Parse(time.RFC3339, at)
				if err != nil {
					return usagef(cmd, "--at must be a time such as 2026-01-02T15:04:05Z, not %q", at)
				}
				q.Time = when
			}
			loaded, err := flags.load()
			if err != nil {
				return err
			}
			q.PromptID, q.Options = "prompt", []string{core.RulingAllow, core.RulingDeny}
			ruling, ok, err := c.deps.Policy.EvalApproval(cmd.Context(), loaded, q)
			if err != nil {
				return err
			}
			said := map[string]any{"decided": ok}
			if ok {
				said["answer"], said["rule"], said["reason"] = ruling.Answer, ruling.Rule, ruling.Reason
			}
			err = c.showValue(said, func(s *screen) {
				if !ok {
					s.line("nothing: other rules and the preset count")
					return
				}
				s.line("%s, by the rule %s", ruling.Answer, clean(ruling.Rule))
				if ruling.Reason != "" {
					s.line("%s", clean(ruling.Reason))
				}
			})
			if err == nil && ok && ruling.Answer == core.RulingDeny {
				return &outcomeError{code: exitAuth}
			}
			return err
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&q.Kind, "kind", "approval", "kind of the prompt: approval or question")
	f.StringVar(&q.Tool, "tool", "", "tool that the agent wants to use")
	f.StringVar(&input, "input", "{}", "what it would get, a JSON object")
	f.StringVar(&q.Text, "text", "", "what people would be asked")
	f.StringVar(&q.Role, "role", "", "role of the agent")
	f.StringVar(&q.Repository, "repository", "", "repository that it works on")
	f.StringVar(&q.Branch, "branch", "", "branch that it began at")
	f.StringVar(&q.Workspace, "workspace", "", "path that it works in")
	f.StringVar(&q.AgentType, "agent-type", "", "type of the agent, such as claude")
	f.StringVar(&q.Preset, "preset", "standard", "approvalPreset of the agent")
	f.StringVar(&q.Owner, "owner", "", "who made its thread")
	f.StringVar(&at, "at", "", "when it asks (default now)")
	return cmd
}

func (c *cli) policyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print the built-in policy, to start one's own from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := c.deps.Policy.Text()
			return c.showValue(map[string]any{"rego": text}, func(s *screen) { s.buf.WriteString(text) })
		},
	}
}
