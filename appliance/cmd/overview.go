package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) overviewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "overview",
		Short: "Show in numbers what there is, what waits, and how much was done",
		Long: "Show in numbers what there is, what waits, and how many executions started, completed and failed over the last hour,\n" +
			"24 hours, 7 days and 30 days. A bar stands for two minutes, half an hour, six hours and a day, and for a multiple of\n" +
			"it on a narrow terminal. Durations are right to 6 %.",
	}
	cmd.Flags().Bool("watch", false, "show it again and again until Ctrl-C")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		look := func(ctx context.Context, api *client.Client) (view, error) {
			o, err := api.GetOverview(ctx)
			if err != nil {
				return view{}, err
			}
			return view{body: o.Body, draw: func(s *screen) { overviewScreen(s, o) }}, nil
		}
		if isSet(cmd, "watch") {
			return c.refresh(cmd, watchInterval, look)
		}
		return c.once(cmd, look)
	}
	return cmd
}

// ranges are the spans of time that the overview shows, each with as many bars.
var ranges = map[string]struct {
	name string
	long time.Duration
	bars int
}{
	"1h": {"hour", time.Hour, 30}, "24h": {"24 hours", 24 * time.Hour, 48}, "7d": {"7 days", 7 * 24 * time.Hour, 28},
	"30d": {"30 days", 30 * 24 * time.Hour, 30},
}

func overviewScreen(s *screen, o *client.Overview) {
	words := func(counts map[string]int, names []string) string {
		var list []string
		for _, name := range names {
			if n := counts[name]; n > 0 {
				list = append(list, fmt.Sprintf("%d %s", n, strings.ReplaceAll(name, "_", " ")))
			}
		}
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	waiting := fmt.Sprintf("%d for people", o.Waiting.People)
	if !o.Partial {
		waiting += fmt.Sprintf(", %d deliveries", o.Waiting.Deliveries)
	}
	s.fields(
		"executions", words(o.Executions, names(core.ExecutionStatuses)), "batches", words(o.Batches, names(core.BatchStatuses)),
		"threads", words(o.Threads, names(core.ThreadStatuses)),
		"agents", fmt.Sprintf("%d connected, %d healthy", o.Agents.Connected, o.Agents.Healthy),
		"managed agents", words(o.Managed, append(names([]core.ManagedAgentStatus{
			core.ManagedStarting, core.ManagedReady, core.ManagedBusy, core.ManagedUnreachable, core.ManagedError, core.ManagedStopped,
		}), core.ReasonBlocked, core.ReasonLogin)),
		"waiting", waiting,
	)
	s.line("")
	if o.Partial { // deliveries and what happened over time are not there
		s.line("Only what the credential may read is counted: the latest 2,000 of each at most.")
		return
	}
	head := []string{"LAST", "STARTED", "COMPLETED", "FAILED", "P50", "P95"}
	var rows [][]cell
	var known []wire.OverviewRange
	for _, sum := range o.Ranges {
		r, ok := ranges[sum.Range]
		if !ok {
			continue // of a newer server
		}
		known = append(known, sum)
		rows = append(rows, plain(r.name, fmt.Sprint(sum.Started), fmt.Sprint(sum.Completed), fmt.Sprint(sum.Failed), millisText(sum.P50), millisText(sum.P95)))
	}
	room := s.width - total(widthsOf(append([][]cell{plain(head...)}, rows...))) - len("  ||")
	for i, sum := range known {
		r := ranges[sum.Range]
		bars := r.bars
		for n := 2; s.width > 0 && !s.wide && bars > room && n <= r.bars; n++ {
			if r.bars%n == 0 {
				bars = r.bars / n
			}
		}
		spans := o.Minutes
		if r.long > 24*time.Hour {
			spans = o.Hours
		}
		rows[i] = append(rows[i], cell{text: sparkline(startedOver(sum.At, o.At, bars, spans))})
	}
	s.table(append(head, "STARTED OVER TIME"), rows)
}

func names[W ~string](words []W) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// startedOver counts what started from one time to another in so many parts.
func startedOver(from, to time.Time, parts int, spans []wire.OverviewSpan) []int {
	counts := make([]int, parts)
	for _, span := range spans {
		if at := span.At.Sub(from); at >= 0 && to.After(from) {
			counts[min(int(int64(at)/max(int64(to.Sub(from))/int64(parts), 1)), parts-1)] += span.Started
		}
	}
	return counts
}

func millisText(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return span(time.Duration(*ms) * time.Millisecond)
}

// sparkline draws numbers as bars of one line.
func sparkline(heights []int) string {
	const levels = "▁▂▃▄▅▆▇█"
	bars := []rune(levels)
	most := 0
	for _, n := range heights {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range heights {
		switch {
		case n == 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(bars[(n*len(bars)-1)/max(most, 1)])
		}
	}
	return "|" + b.String() + "|"
}
