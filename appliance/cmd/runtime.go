package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
)

var runtimes = &resource[client.Runtime]{
	noun: "runtime", member: "runtimes", unpaged: true, empty: "no runtimes; `runtimes` in the configuration declares them",
	columns: []column[client.Runtime]{
		{head: "RUNTIME", show: func(r *client.Runtime) any { return r.Name }},
		{head: "PRIORITY", show: func(r *client.Runtime) any { return r.Priority }},
		{head: "STATE", show: func(r *client.Runtime) any { return runtimeState(r) }},
		{head: "AGENTS", show: func(r *client.Runtime) any {
			running := strconv.Itoa(r.Agents)
			if r.AtLeast {
				running = "at least " + running
			}
			if r.MaxAgents > 0 {
				return fmt.Sprintf("%s of %d", running, r.MaxAgents)
			}
			return running
		}},
		{head: "TYPES", show: func(r *client.Runtime) any { return typesText(r) }, cut: 80},
		{head: "ISOLATION", show: func(r *client.Runtime) any { return isolationText(r.Isolation) }, wide: true},
		{head: "REASON", show: func(r *client.Runtime) any { return r.Reason }, cut: 100},
	},
	id:     func(r *client.Runtime) string { return r.Name },
	status: func(r *client.Runtime) string { return runtimeState(r).text },
	fetch: func(ctx context.Context, api *client.Client, _ selection) (answered, error) {
		return api.ListRuntimes(ctx)
	},
}

func (c *cli) runtimeCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "runtime", Aliases: []string{"runtimes"}, Short: "Look at the runtimes of managed agents"})
	cmd.AddCommand(runtimes.lists(c, &cobra.Command{Use: "list", Short: "List the runtimes, in the order in which they are tried"}))
	return cmd
}

// typesText is the types of a runtime, those whose command is there first.
func typesText(r *client.Runtime) string {
	found := slices.DeleteFunc(slices.Clone(r.Types), func(kind string) bool { return slices.Contains(r.MissingTypes, kind) })
	if len(r.MissingTypes) == 0 {
		return strings.Join(found, ",")
	}
	return strings.TrimSpace(strings.Join(found, ",") + " (not found: " + strings.Join(r.MissingTypes, ",") + ")")
}

// isolationText is what keeps agents of a runtime from its machine, in one line.
func isolationText(i *client.RuntimeIsolation) string {
	if i == nil {
		return ""
	}
	parts := []string{"own user " + i.User}
	if i.User == "" {
		parts[0] = "the runtime's user"
	}
	if i.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock %d", i.Landlock))
	} else {
		parts = append(parts, "no landlock")
	}
	if i.NoNewPrivs {
		parts = append(parts, "no_new_privs")
	}
	return strings.Join(parts, ", ")
}

func runtimeState(r *client.Runtime) cell {
	if r.Ready {
		return cell{"ready", styleGood}
	}
	return cell{"not ready", styleBad}
}
