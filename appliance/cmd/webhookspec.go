package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

// webhookFlags are the flags of webhook create and webhook update.
type webhookFlags struct {
	url        string
	events     []string
	secret     string
	secretFile string
	headers    []string
	retries    int
	timeout    time.Duration
	patterns   []string
	metadata   []string
	ordered    bool
	cert       string
	key        string
	ca         string
}

func (f *webhookFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.events, "event", nil, "type of events, such as execution.completed; all of them are '*'; may be repeated")
	flags.StringVar(&f.secret, "secret", "", "secret to sign with; prefer --secret-file, which other users of the machine cannot see")
	flags.StringVar(&f.secretFile, "secret-file", "", "file with the secret; - is stdin")
	flags.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE sent with each delivery; may be repeated")
	flags.IntVar(&f.retries, "retries", 0, "attempts after the first, 0 to 4; a new endpoint has 3")
	flags.DurationVar(&f.timeout, "attempt-timeout", 0, "how long an attempt may take, up to 5m; of a new endpoint 30s")
	flags.StringSliceVar(&f.patterns, "pattern", nil, "of events that name a pattern only those of this one; may be repeated")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "k=v that executions must have in their metadata; may be repeated")
	flags.BoolVar(&f.ordered, "ordered", false, "keep the order of one execution's events: each waits for the end of the one before")
	flags.StringVar(&f.cert, "client-cert", "", "PEM file of a certificate to identify the server with")
	flags.StringVar(&f.key, "client-key", "", "PEM file of its key")
	flags.StringVar(&f.ca, "ca", "", "PEM file of the authorities that the endpoint's certificate must be from")
	exclusive(cmd, "secret", "secret-file")
}

// secretFlags returns the secret that is given, or "".
func (c *cli) secretFlags(cmd *cobra.Command, secret, file string) (string, error) {
	if file != "" {
		data, err := c.readFile(file)
		if err != nil {
			return "", err
		}
		if secret = strings.TrimRight(string(data), "\r\n"); secret == "" {
			return "", &usageError{message: "--secret-file: the file is empty"}
		}
		return secret, nil
	}
	if secret == "" && cmd.Flags().Changed("secret") {
		return "", usagef(cmd, "--secret is empty")
	}
	return secret, nil
}

// pairFlags reads NAME=VALUE pairs. Values may be secret and stay out of errors.
func pairFlags(cmd *cobra.Command, flag string, pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usagef(cmd, "--%s wants NAME=VALUE", flag)
		}
		out[name] = value
	}
	return out, nil
}

// webhookPatch makes the change of the flags that are given.
func (c *cli) webhookPatch(cmd *cobra.Command, f *webhookFlags) (client.WebhookPatch, error) {
	var p client.WebhookPatch
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	secret, err := c.secretFlags(cmd, f.secret, f.secretFile)
	if err != nil {
		return p, err
	}
	if secret != "" {
		p.Secret = &secret
	}
	if given("event") {
		p.Events = f.events
	}
	if given("header") {
		if p.Headers, err = pairFlags(cmd, "header", f.headers); err != nil {
			return p, err
		}
	}
	if given("pattern") || given("metadata") {
		p.Filters = &client.WebhookFilters{Pattern: f.patterns}
		if p.Filters.Metadata, err = pairFlags(cmd, "metadata", f.metadata); err != nil {
			return p, err
		}
	}
	if given("retries") {
		p.Retries = &f.retries
	}
	if given("attempt-timeout") {
		if f.timeout < time.Millisecond {
			return p, usagef(cmd, "--attempt-timeout must be at least 1ms")
		}
		p.Timeout = new(client.Millis(f.timeout.Milliseconds()))
	}
	if given("ordered") {
		p.Ordered = &f.ordered
	}
	for _, file := range []struct {
		path string
		into **string
	}{{f.cert, &p.ClientCertificate}, {f.key, &p.ClientKey}, {f.ca, &p.CA}} {
		if file.path == "" {
			continue
		}
		data, err := c.readFile(file.path)
		if err != nil {
			return p, err
		}
		pem := string(data)
		*file.into = &pem
	}
	return p, nil
}

func (c *cli) webhookCreate() *cobra.Command {
	var flags webhookFlags
	var disabled bool
	var key string
	cmd := &cobra.Command{
		Use:   "create URL --event TYPE",
		Short: "Have events delivered to an endpoint, from now on",
		Long: "Have events delivered to an endpoint, from now on. Each delivery is signed; without --secret the server makes\n" +
			"a secret, which is shown this once.",
		Example: "  wardroom webhook create https://hooks.example.com/wardroom --event execution.completed,execution.failed\n" +
			"  wardroom webhook create https://hooks.example.com/all --event '*' --secret-file secret.txt --pattern triage",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(flags.events) == 0 {
				return usagef(cmd, "--event is missing; all events are --event '*'")
			}
			p, err := c.webhookPatch(cmd, &flags)
			if err != nil {
				return err
			}
			spec := client.WebhookSpec{
				URL: args[0], Events: p.Events, Secret: orEmpty(p.Secret), Headers: p.Headers, Retries: p.Retries, Filters: p.Filters,
				Ordered: flags.ordered, ClientCertificate: orEmpty(p.ClientCertificate), ClientKey: orEmpty(p.ClientKey), CA: orEmpty(p.CA),
				IdempotencyKey: key,
			}
			if p.Timeout != nil {
				spec.Timeout = *p.Timeout
			}
			if disabled {
				spec.Enabled = new(false)
			}
			if spec.IdempotencyKey == "" {
				spec.IdempotencyKey = client.NewIdempotencyKey()
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Webhook, error) {
				return api.CreateWebhook(ctx, spec)
			}, func(s *screen, w *client.Webhook) {
				webhookScreen(s, w)
				s.line("try it with `wardroom webhook test %s`", clean(w.ID))
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&disabled, "disabled", false, "store it and deliver nothing yet")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key makes one endpoint only (default a fresh one)")
	return cmd
}

// orEmpty is the text of a flag that may not be given.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// resetFields are the fields that webhook update --reset takes.
var resetFields = []string{"headers", "filters", "retries", "timeout", "ordered", "clientCertificate", "ca"}

func (c *cli) webhookUpdate() *cobra.Command {
	var flags webhookFlags
	var enable, disable, rotate bool
	var overlap time.Duration
	var reset []string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change an endpoint, enable it, or give it a new secret",
		Long: "Change an endpoint. What is not named stays; headers are replaced together, and so are --pattern and\n" +
			"--metadata. A new secret ends the former one at once; with --overlap deliveries are signed with both for that time.",
		Example: "  wardroom webhook update wh_... --enable\n" +
			"  wardroom webhook update wh_... --rotate-secret --overlap 48h\n" +
			"  wardroom webhook update wh_... --event '*' --reset filters,headers",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.webhookPatch(cmd, &flags)
			if err != nil {
				return err
			}
			for _, field := range reset {
				if !slices.Contains(resetFields, field) {
					return usagef(cmd, "--reset does not take %q; it takes %s", field, strings.Join(resetFields, ", "))
				}
			}
			p.RotateSecret, p.Reset = rotate, reset
			if cmd.Flags().Changed("url") {
				p.URL = &flags.url
			}
			if enable || disable {
				p.Enabled = &enable
			}
			if cmd.Flags().Changed("overlap") {
				if overlap < 0 {
					return usagef(cmd, "--overlap must not be negative")
				}
				if !rotate && p.Secret == nil {
					return usagef(cmd, "--overlap goes with --rotate-secret, --secret or --secret-file")
				}
				p.Overlap = new(client.Millis(overlap.Milliseconds()))
			}
			if cmd.Flags().NFlag() == globalFlags(cmd) {
				return usagef(cmd, "say what to change")
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Webhook, error) {
				return api.UpdateWebhook(ctx, args[0], p)
			}, webhookScreen)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.url, "url", "", "where deliveries go from now on")
	cmd.Flags().BoolVar(&enable, "enable", false, "deliver again; what waited is due at once")
	cmd.Flags().BoolVar(&disable, "disable", false, "deliver nothing until it is enabled")
	cmd.Flags().BoolVar(&rotate, "rotate-secret", false, "give it a new secret, which is shown this once")
	cmd.Flags().DurationVar(&overlap, "overlap", 0, "how long the former secret signs as well, up to 168h; 0 ends all former ones (default the server's, which is 0)")
	cmd.Flags().StringSliceVar(&reset, "reset", nil, "fields to set to their defaults: "+strings.Join(resetFields, ", "))
	exclusive(cmd, "enable", "disable")
	exclusive(cmd, "rotate-secret", "secret", "secret-file")
	return cmd
}

// globalFlags counts the given flags that every command has.
func globalFlags(cmd *cobra.Command) int {
	n := 0
	for _, name := range []string{"server", "token", "output", "no-color", "timeout"} {
		if cmd.Flags().Changed(name) {
			n++
		}
	}
	return n
}
