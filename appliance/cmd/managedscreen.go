package cmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) agentScreen() *cobra.Command {
	return &cobra.Command{
		Use:   "screen ID",
		Short: "Print a managed agent's screen once, as text",
		Long: "Print what a managed agent's terminal shows now, as text, and end. The terminal is looked at read-only:\n" +
			"neither its size nor anything else of it changes. Of a stopped agent it is the last screen.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				agent, err := api.GetManagedAgent(ctx, args[0])
				if err != nil {
					return err
				}
				shown, err := c.readScreen(ctx, api, agent.ID)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					return attachError(clean(agent.ID), err)
				}
				return c.showValue(shown, func(s *screen) {
					for _, line := range shown.Lines {
						s.line("%s", clean(line))
					}
				})
			})
		},
	}
}

// readScreen attaches to an agent's terminal until it has shown the whole screen.
func (c *cli) readScreen(ctx context.Context, api *client.Client, id string) (*wire.ManagedAgentScreen, error) {
	address, header := api.TerminalRequest(id)
	remote, err := terminal.Dial(ctx, address, runtime.AttachOptions{ReadOnly: true}, terminal.DialOptions{Header: header, TLS: api.TLS(), Dial: c.dial})
	if err != nil {
		return nil, err
	}
	defer func() { _ = remote.Close() }()
	shown, err := terminal.ReadScreen(remote)
	if err != nil {
		return nil, err
	}
	shown.AgentID = id
	return &shown, nil
}

func (c *cli) agentInterrupt() *cobra.Command {
	return shows(c, &cobra.Command{
		Use:   "interrupt ID",
		Short: "Stop the turn that a managed agent is at",
		Long: "Stop the turn that a managed agent is at, as a person at its terminal would. The turn ends as interrupted;\n" +
			"the agent goes on, and takes the next message.",
	}, func(api *client.Client, ctx context.Context, id string) (*client.ManagedAgentReply, error) {
		return api.SendManagedAgent(ctx, id, client.ManagedAgentInput{Interrupt: true, IdempotencyKey: client.NewIdempotencyKey()})
	}, func(s *screen, _ *client.ManagedAgentReply) { s.line("sent") })
}

// inputLines shows the input of a tool to a person: texts as they are, several lines as lines, and the rest as JSON.
func inputLines(tool string, input map[string]any) []string {
	if len(input) == 0 {
		return []string{tool}
	}
	names := slices.Sorted(maps.Keys(input))
	if text, ok := input[names[0]].(string); ok && len(names) == 1 {
		return indented(tool+":", text)
	}
	shown := []string{tool + ":"}
	for _, name := range names {
		text, ok := input[name].(string)
		if !ok {
			text = string(asJSON(input[name]))
		}
		for _, line := range indented(name+":", text) {
			shown = append(shown, "  "+line)
		}
	}
	return shown
}

// inputText is the input of a tool in one line.
func inputText(input map[string]any) string {
	if len(input) == 0 {
		return ""
	}
	return compact(asJSON(input), 120)
}

// asJSON encodes what was decoded of JSON, which cannot fail.
func asJSON(v any) json.RawMessage {
	raw, err := document(v)
	if err != nil {
		return nil
	}
	return raw
}

// indented is a text beside its head, or below it when it has several lines.
func indented(head, text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 {
		return []string{head + " " + lines[0]}
	}
	shown := []string{head}
	for _, line := range lines {
		shown = append(shown, "  "+line)
	}
	return shown
}

// orderedKeys returns the keys of a JSON object in their order.
func orderedKeys(object json.RawMessage) []string {
	node, err := yamlNode(object)
	if err != nil {
		return nil
	}
	var keys []string
	for i := 0; i < len(node.Content); i += 2 {
		keys = append(keys, node.Content[i].Value)
	}
	return keys
}
