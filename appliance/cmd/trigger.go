package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) triggerCommand() *cobra.Command {
	return c.nounGroup(triggers, &cobra.Command{
		Use: "trigger", Aliases: []string{"triggers"}, Short: "Start executions and threads when signed requests come in",
	}, c.triggerCreate(), triggers.lists(c, &cobra.Command{Use: "list", Short: "List triggers, newest first"}), c.triggerGet(), c.triggerUpdate(),
		c.triggerRotate(), c.triggerTest(), c.triggerDelete())
}

var triggers = &resource[client.Trigger]{
	noun: "trigger", member: "triggers", prefix: core.PrefixTrigger, empty: "no triggers; `wardroom trigger create` makes one",
	columns: []column[client.Trigger]{
		{head: "TRIGGER", show: func(t *client.Trigger) any { return t.ID }, wide: true},
		{head: "NAME", show: func(t *client.Trigger) any { return t.Name }, cut: 30},
		{head: "SCHEME", show: func(t *client.Trigger) any { return string(t.Scheme) }},
		{head: "EVENTS", show: func(t *client.Trigger) any { return strings.Join(t.Events, ",") }, wide: true},
		{head: "TARGET", show: func(t *client.Trigger) any { return t.Target.Name() }, cut: 30},
		{head: "STATE", show: func(t *client.Trigger) any { return triggerState(&t.Trigger) }},
		{head: "STARTED", show: func(t *client.Trigger) any { return t.Counts.Started }},
		{head: "LAST", show: func(t *client.Trigger) any {
			if t.LastRun == nil {
				return ""
			}
			return t.LastRun.At
		}},
		{head: "RUNS AS", show: func(t *client.Trigger) any { return t.RunsAs }, wide: true},
		{head: "AGE", show: func(t *client.Trigger) any { return t.CreatedAt }},
	},
	id:      func(t *client.Trigger) string { return t.ID },
	name:    func(t *client.Trigger) string { return t.Name },
	status:  func(t *client.Trigger) string { return triggerState(&t.Trigger).text },
	filters: []filter{byCreator},
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListTriggers(ctx, client.TriggerFilter{CreatedBy: sel.text("created-by"), Page: sel.Page})
	},
}

func triggerState(t *wire.Trigger) cell {
	switch {
	case !t.Enabled:
		return cell{"disabled", styleFaint}
	case t.BlockedReason != "":
		return cell{"blocked", styleBad}
	}
	return cell{"enabled", styleGood}
}

// triggerFlags are the flags of trigger create and update.
type triggerFlags struct {
	name    string
	events  []string
	mapping []string
	rate    int
	target  targetFlags
}

func (f *triggerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the trigger")
	flags.StringSliceVar(&f.events, "on", nil, "only requests of these events, such as push; comma-separated or repeated (default all)")
	flags.StringArrayVar(&f.mapping, "map", nil, "FIELD=PATH: a field of the input and where its value is, such as repo=$.repository.full_name; may be repeated (default the whole body)")
	flags.IntVar(&f.rate, "rate", 0, "requests a minute that it takes (default 60)")
	f.target.register(cmd)
}

// pairs reads --map.
func (f *triggerFlags) pairs(cmd *cobra.Command) (map[string]string, error) {
	if len(f.mapping) == 0 {
		return nil, nil
	}
	return pairFlags(cmd, "map", f.mapping)
}

func (c *cli) triggerCreate() *cobra.Command {
	var flags triggerFlags
	var scheme, secret, secretFile string
	var disabled bool
	cmd := &cobra.Command{
		Use:   "create --name NAME --pattern PATTERN",
		Args:  cobra.NoArgs,
		Short: "Start an execution or a thread when a signed request comes in",
		Long: "Start an execution of a pattern, or with --thread a thread, when a signed request comes in. What is started has\n" +
			"your rights, and you have to have them at each request. The secret is shown once.",
		Example: "  wardroom trigger create --name on-push --scheme github --on push --pattern review --map repo='$.repository.full_name'\n" +
			"  wardroom trigger create --name on-issue --scheme gitlab --thread @thread.json --map objective='$.object_attributes.description'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.name == "" {
				return usagef(cmd, "--name is missing")
			}
			if err := checkWord(cmd, ofScheme, scheme); err != nil {
				return err
			}
			target, err := c.target(cmd, &flags.target)
			if err != nil {
				return err
			}
			mapping, err := flags.pairs(cmd)
			if err != nil {
				return err
			}
			text, err := c.secretFlags(cmd, secret, secretFile)
			if err != nil {
				return err
			}
			spec := client.TriggerSpec{TriggerSpec: wire.TriggerSpec{
				Name: flags.name, Scheme: wire.SignatureScheme(scheme), Secret: text, Events: flags.events, Mapping: mapping, RatePerMinute: flags.rate, Disabled: disabled,
			}, Target: target, IdempotencyKey: client.NewIdempotencyKey()}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Trigger, error) {
				return api.CreateTrigger(ctx, spec)
			}, c.triggerScreen)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&scheme, "scheme", "", "how requests are signed: "+ofScheme.choice()+" (default wardroom)")
	_ = cmd.RegisterFlagCompletionFunc("scheme", cobra.FixedCompletions(ofScheme.words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	cmd.Flags().BoolVar(&disabled, "disabled", false, "make it disabled")
	registerSecret(cmd, &secret, &secretFile, "secret that requests are signed with (default one is made)")
	return cmd
}

// ofScheme is the flag of the signature schemes.
var ofScheme = oneOf("scheme", []wire.SignatureScheme{wire.SchemeWardroom, wire.SchemeGitHub, wire.SchemeGitLab})

// registerSecret adds the two ways to give a secret.
func registerSecret(cmd *cobra.Command, secret, file *string, usage string) {
	cmd.Flags().StringVar(secret, "secret", "", usage+"; prefer --secret-file, which other users of the machine cannot see")
	cmd.Flags().StringVar(file, "secret-file", "", "file with the secret; - is stdin")
	exclusive(cmd, "secret", "secret-file")
}

func (c *cli) triggerUpdate() *cobra.Command {
	var flags triggerFlags
	var enable, disable bool
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a trigger; from then on it has your rights",
		Long: "Change what is given. --on '' takes all events, --map '' has the whole body be the input. Flags of what is started\n" +
			"replace all of it. From then on what is started has your rights.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var p client.TriggerPatch
			given := func(name string) bool { return cmd.Flags().Changed(name) }
			if given("name") {
				p.Name = &flags.name
			}
			if given("rate") {
				p.RatePerMinute = &flags.rate
			}
			if given("on") {
				p.Events = append([]string{}, flags.events...)
			}
			if given("map") {
				p.Mapping = map[string]string{}
				if len(flags.mapping) != 1 || flags.mapping[0] != "" {
					var err error
					if p.Mapping, err = flags.pairs(cmd); err != nil {
						return err
					}
				}
			}
			if enable || disable {
				p.Enabled = new(enable)
			}
			if flags.target.given(cmd) {
				target, err := c.target(cmd, &flags.target)
				if err != nil {
					return err
				}
				p.Target = &target
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Trigger, error) {
				return api.UpdateTrigger(ctx, args[0], p)
			}, c.triggerScreen)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&enable, "enable", false, "take requests again")
	cmd.Flags().BoolVar(&disable, "disable", false, "refuse requests, with 409")
	exclusive(cmd, "enable", "disable")
	return cmd
}

func (c *cli) triggerGet() *cobra.Command {
	return shows(c, &cobra.Command{Use: "get ID", Aliases: []string{"show"}, Short: "Show a trigger and its last requests"},
		(*client.Client).GetTrigger, c.triggerScreen)
}

// hookMask is the text that the server shows in place of the secret of a trigger.
const hookMask = "trgsec_***"

func (c *cli) triggerScreen(s *screen, t *client.Trigger) {
	address := t.Path
	if server, _, _, err := c.address(); err == nil {
		address = strings.TrimSuffix(server, "/") + t.Path
	}
	fields := []any{"trigger", t.ID, "name", t.Name, "address", address, "scheme", string(t.Scheme), "secret", t.Secret, "former secret until", moment(t.SecretRotatesAt),
		"state", triggerState(&t.Trigger), "why", t.BlockedReason, "events", strings.Join(t.Events, ", "), "mapping", pairsText(t.Mapping),
		"requests a minute", strconv.Itoa(t.RatePerMinute), "runs as", t.RunsAs}
	fields = append(fields, targetFields(&t.Target)...)
	n := t.Counts
	s.fields(append(fields, "requests", fmt.Sprintf("%d started, %d failed, %d blocked", n.Started, n.Failed, n.Blocked), "created by", t.CreatedBy, "created", moment(&t.CreatedAt))...)
	if t.Secret != hookMask {
		s.line("")
		s.line("the secret is not shown again; senders sign with it")
	}
	if len(t.Runs) == 0 {
		return
	}
	s.line("")
	rows := make([][]cell, len(t.Runs))
	for i := range t.Runs {
		r := &t.Runs[i]
		how := styleGood
		if r.Outcome != wire.TriggerStarted {
			how = styleBad
		}
		rows[i] = []cell{{text: moment(&r.At)}, {string(r.Outcome), how}, {text: r.Event}, {text: r.Delivery}, {text: runText(r.RunRef)}, {text: r.Reason}}
	}
	s.grid([]string{"TIME", "OUTCOME", "EVENT", "DELIVERY", "STARTED", "WHY"}, []int{0, 0, 20, 40, 0, 60}, rows)
}

func (c *cli) triggerRotate() *cobra.Command {
	var overlap, secret, secretFile string
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Give a trigger another secret; it is shown once",
		RunE: func(cmd *cobra.Command, args []string) error {
			both, err := config.ParseDuration(overlap)
			if err != nil || both < 0 {
				return usagef(cmd, "--overlap must be a time such as 24h or 7d, not %q", overlap)
			}
			text, err := c.secretFlags(cmd, secret, secretFile)
			if err != nil {
				return err
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Trigger, error) {
				return api.RotateTrigger(ctx, args[0], text, both)
			}, c.triggerScreen)
		},
	}
	cmd.Flags().StringVar(&overlap, "overlap", "0s", "how long the former secret is taken as well, up to 7d; 0 ends it at once")
	registerSecret(cmd, &secret, &secretFile, "the new secret (default one is made)")
	return cmd
}

func (c *cli) triggerTest() *cobra.Command {
	var body, event, secret, secretFile string
	cmd := &cobra.Command{
		Use:   "test ID --body JSON",
		Short: "Show what a body would become; with the secret, send it signed",
		Long: "Show what the input of a body would be, and whether it could be started; nothing is. With --secret or --secret-file\n" +
			"the body is signed as webhooks of Wardroom are and sent to the trigger's address, which starts what it starts.",
		Example: "  wardroom trigger test on-push --event push --body @push.json\n" +
			"  wardroom trigger test nightly-import --body '{\"day\":\"today\"}' --secret-file secret.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := c.objectFlag("--body", body)
			if err != nil {
				return err
			}
			text, err := c.secretFlags(cmd, secret, secretFile)
			if err != nil {
				return err
			}
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				if text == "" {
					trial, err := api.TestTrigger(ctx, args[0], event, raw)
					return show(c, trial, err, trialScreen)
				}
				receipt, err := api.SendHook(ctx, args[0], text, "test-"+strconv.FormatInt(c.now().UnixNano(), 36), event, raw)
				if client.CodeOf(err) == client.CodeUnauthorized { // of what the body was signed with, whatever credential the caller has
					return &outcomeError{
						code: exitAuth, message: err.Error(), cause: err,
						hint: "it takes the secret that making or rotating the trigger showed, where its scheme is wardroom; `wardroom trigger rotate` gives it another one",
					}
				}
				return show(c, receipt, err, receiptScreen)
			})
		},
	}
	cmd.Flags().StringVar(&body, "body", "{}", "what a sender would send: JSON, @FILE, or - for stdin")
	cmd.Flags().StringVar(&event, "event", "", "what happened, by the sender's name for it")
	registerSecret(cmd, &secret, &secretFile, "of a trigger of the scheme wardroom: sign the body with it, and send it")
	return cmd
}

func trialScreen(s *screen, t *client.TriggerTrial) {
	if t.Outcome == wire.TriggerIgnored {
		s.line("nothing: the trigger does not want this event")
		return
	}
	if t.Objective != "" {
		s.line("a thread with the objective:")
		s.line("%s", clean(t.Objective))
		return
	}
	s.line("an execution with the input:")
	pretty, err := json.MarshalIndent(t.Input, "", "  ")
	if err != nil {
		pretty = t.Input
	}
	for _, line := range strings.Split(string(pretty), "\n") {
		s.line("%s", clean(line))
	}
}

func receiptScreen(s *screen, r *client.TriggerReceipt) {
	s.fields("outcome", string(r.Outcome), "started", runText(r.RunRef))
}

func (c *cli) triggerDelete() *cobra.Command {
	return triggers.deletes(c, &cobra.Command{
		Use: "delete ID", Short: "Remove a trigger; what it started goes on",
	}, (*client.Client).DeleteTrigger)
}
