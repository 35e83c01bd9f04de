package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of agent top.
const (
	topAtOnce      = 8 // measurements under way
	topInterval    = 2 * time.Second
	minTopInterval = 250 * time.Millisecond
)

// topRow is one agent of agent top.
type topRow struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Type         string           `json:"type"`
	Status       string           `json:"status"`
	StatusReason string           `json:"statusReason,omitempty"`
	Turn         int              `json:"turn"`
	Metrics      *json.RawMessage `json:"metrics,omitempty"` // not there while it cannot be measured

	measured *client.ManagedAgentMetrics
}

func (c *cli) agentTop() *cobra.Command {
	var interval time.Duration
	var once bool
	var labels []string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the running managed agents use, again and again",
		Long: "Show the running managed agents with what they use, the busiest first. On a terminal the table is\n" +
			"refreshed until Ctrl-C; elsewhere, with -o json or yaml, and with --once it is printed once.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minTopInterval {
				return usagef(cmd, "--interval must be at least %s", minTopInterval)
			}
			filter := client.ManagedAgentFilter{}
			var err error
			if filter.Labels, err = keyValues[string](cmd, "label", labels); err != nil {
				return err
			}
			look := func(ctx context.Context, api *client.Client) (view, error) {
				rows, err := measure(ctx, api, filter)
				if err != nil {
					return view{}, err
				}
				body, err := document(map[string]any{"agents": rows})
				ids := make([]string, len(rows))
				for i, row := range rows {
					ids[i] = row.ID
				}
				return view{body, func(s *screen) { topTable(s, rows) }, ids}, err
			}
			if !once && c.drawsInPlace(c.deps.Stdout) {
				return c.refresh(cmd, interval, look)
			}
			return c.once(cmd, look)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&interval, "interval", topInterval, "time between two looks")
	f.BoolVar(&once, "once", false, "print the table once")
	f.StringArrayVar(&labels, "label", nil, "key=value: only agents with this label; may be repeated")
	return cmd
}

// measure returns the agents that run, with what they use.
func measure(ctx context.Context, api *client.Client, filter client.ManagedAgentFilter) ([]*topRow, error) {
	rows := []*topRow{}
	filter.Limit = allLimit
	for a, err := range api.ManagedAgents(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if a.StoppedAt == nil {
			rows = append(rows, &topRow{ID: a.ID, Name: a.Name, Type: a.Type, Status: string(a.Status), StatusReason: a.StatusReason, Turn: a.Turn})
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, topAtOnce)
	for _, row := range rows {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			m, err := api.ManagedAgentMetrics(ctx, row.ID)
			if err == nil { // else it has stopped meanwhile, or cannot be reached
				row.measured, row.Metrics = m, &m.Body
			}
		})
	}
	wg.Wait()
	slices.SortStableFunc(rows, func(a, b *topRow) int {
		cpu := func(r *topRow) float64 {
			if r.measured == nil {
				return -1
			}
			return r.measured.CPUPercent
		}
		switch x, y := cpu(a), cpu(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return rows, ctx.Err()
}

// topCuts are the most columns of the terminal that the columns of agent top take.
var topCuts = []int{0, 32, 0, 40, 0, 0, 0, 0, 0, 0}

func topTable(s *screen, rows []*topRow) {
	if len(rows) == 0 {
		s.line("no managed agent runs; `wardroom agent spawn TYPE` starts one")
		return
	}
	var cells [][]cell
	for _, r := range rows {
		row := []cell{
			{text: r.ID}, {text: r.Name}, {text: r.Type},
			managedStatus(&client.ManagedAgent{ManagedAgent: wire.ManagedAgent{Status: client.ManagedAgentStatus(r.Status), StatusReason: r.StatusReason}}), {text: fmt.Sprint(r.Turn)},
		}
		if m := r.measured; m != nil {
			row = append(row, plain(fmt.Sprintf("%.1f", m.CPUPercent), mebibytes(m.MemoryBytes, m.MemoryLimitBytes),
				span(time.Duration(m.UptimeSeconds*float64(time.Second))), fmt.Sprint(m.MessagesSent),
				span(time.Duration(m.LastResponseMs)*time.Millisecond))...)
		} else {
			row = append(row, plain("-", "-", "-", "-", "-")...)
		}
		cells = append(cells, row)
	}
	s.grid([]string{"AGENT", "NAME", "TYPE", "STATUS", "TURNS", "CPU %", "MEMORY", "UP", "SENT", "LAST TURN"}, topCuts, cells)
}

// mebibytes renders memory and its limit, if it has one.
func mebibytes(used, limit int64) string {
	text := fmt.Sprintf("%.1f MiB", float64(used)/(1<<20))
	if limit > 0 {
		text += fmt.Sprintf(" of %.0f", float64(limit)/(1<<20))
	}
	return text
}
