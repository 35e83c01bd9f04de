package cmd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (c *cli) scheduleCommand() *cobra.Command {
	return c.nounGroup(schedules, &cobra.Command{
		Use: "schedule", Aliases: []string{"schedules"}, Short: "Start executions and threads by the clock",
	}, c.scheduleCreate(), schedules.lists(c, &cobra.Command{Use: "list", Short: "List schedules, newest first"}), c.scheduleGet(), c.scheduleUpdate(),
		c.scheduleDelete(), c.schedulePause(), c.scheduleResume(), c.scheduleRun(), c.scheduleNext(), c.schedulePreview())
}

var schedules = &resource[client.Schedule]{
	noun: "schedule", member: "schedules", prefix: core.PrefixSchedule, empty: "no schedules; `wardroom schedule create` makes one",
	columns: []column[client.Schedule]{
		{head: "SCHEDULE", show: func(s *client.Schedule) any { return s.ID }, wide: true},
		{head: "NAME", show: func(s *client.Schedule) any { return s.Name }, cut: 30},
		{head: "CRON", show: func(s *client.Schedule) any { return s.Cron }, cut: 30},
		{head: "ZONE", show: func(s *client.Schedule) any { return s.TimeZone }, cut: 20},
		{head: "TARGET", show: func(s *client.Schedule) any { return s.Target.Name() }, cut: 30},
		{head: "STATUS", show: func(s *client.Schedule) any { return scheduleState(&s.Schedule) }},
		{head: "NEXT", show: func(s *client.Schedule) any { return due{s.NextAt} }},
		{head: "LAST", show: func(s *client.Schedule) any {
			if s.LastRun == nil {
				return ""
			}
			return tickOutcome(s.LastRun)
		}},
		{head: "RUNS AS", show: func(s *client.Schedule) any { return s.RunsAs }, wide: true},
		{head: "AGE", show: func(s *client.Schedule) any { return s.CreatedAt }},
	},
	filters: []filter{oneOf("status", core.ScheduleStatuses), byCreator},
	id:      func(s *client.Schedule) string { return s.ID },
	name:    func(s *client.Schedule) string { return s.Name },
	status:  func(s *client.Schedule) string { return spaced(string(s.Status), s.Cron) },
	fetch: func(ctx context.Context, api *client.Client, sel selection) (answered, error) {
		return api.ListSchedules(ctx, client.ScheduleFilter{Status: sel.text("status"), CreatedBy: sel.text("created-by"), Page: sel.Page})
	},
}

func scheduleState(s *wire.Schedule) cell {
	how := styleGood
	switch s.Status {
	case wire.ScheduleBlocked:
		how = styleBad
	case wire.SchedulePaused, wire.ScheduleEnded:
		how = styleFaint
	}
	return cell{string(s.Status), how}
}

func tickOutcome(r *wire.ScheduleRun) cell {
	how := stylePlain
	switch r.Outcome {
	case wire.TickStarted:
		how = styleGood
	case wire.TickFailed, wire.TickBlocked:
		how = styleBad
	case wire.TickQueued:
		how = styleBusy
	}
	text := string(r.Outcome)
	if r.Count > 1 {
		text += fmt.Sprintf(" (%d)", r.Count)
	}
	return cell{text, how}
}

// scheduleFlags are the flags of schedule create, update and preview.
type scheduleFlags struct {
	cron    string
	zone    string
	jitter  time.Duration
	start   string
	end     string
	name    string
	overlap string
	catchUp string
	limit   int
	target  targetFlags
}

func (f *scheduleFlags) registerTiming(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.zone, "zone", "", "time zone of the times, such as Europe/Berlin (default UTC)")
	flags.DurationVar(&f.jitter, "jitter", 0, "put each start off by up to this long, so that not all come at once")
	flags.StringVar(&f.start, "start", "", "no tick before this time, such as 2026-12-01 or 2026-12-01T08:00:00Z")
	flags.StringVar(&f.end, "end", "", "no tick after this time")
}

func (f *scheduleFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the schedule")
	flags.StringVar(&f.cron, "cron", "", "minute, hour, day of the month, month, day of the week; or @daily, @every 90m and the like")
	f.registerTiming(cmd)
	flags.StringVar(&f.overlap, "overlap", "", "of a tick while the run before goes on: "+ofOverlap.choice())
	flags.StringVar(&f.catchUp, "catch-up", "", "of ticks while the server was away: "+ofCatchUp.choice())
	flags.IntVar(&f.limit, "catch-up-limit", 0, "with --catch-up all: the newest ones, as many at most (default 10)")
	for _, words := range []filter{ofOverlap, ofCatchUp} {
		_ = cmd.RegisterFlagCompletionFunc(words.flag, cobra.FixedCompletions(words.words, cobra.ShellCompDirectiveNoFileComp)) // flags are there
	}
	f.target.register(cmd)
}

// ofOverlap and ofCatchUp are the flags of the policies.
var (
	ofOverlap = oneOf("overlap", []wire.OverlapPolicy{wire.OverlapSkip, wire.OverlapQueue, wire.OverlapAllow, wire.OverlapCancel})
	ofCatchUp = oneOf("catch-up", []wire.CatchUpPolicy{wire.CatchUpNone, wire.CatchUpLast, wire.CatchUpAll})
)

// timing makes the times of the flags.
func (f *scheduleFlags) timing(cmd *cobra.Command) (t client.ScheduleTiming, err error) {
	t = client.ScheduleTiming{Cron: f.cron, TimeZone: f.zone, Jitter: wire.MillisOf(f.jitter)}
	if f.jitter < 0 {
		return t, usagef(cmd, "--jitter must not be negative")
	}
	zone := time.UTC
	if f.zone != "" {
		if zone, err = time.LoadLocation(f.zone); err != nil {
			zone, err = time.UTC, nil //nolint:nilerr // the server knows more zones, or says so
		}
	}
	for _, at := range []struct {
		flag, text string
		into       **time.Time
	}{{"start", f.start, &t.StartAt}, {"end", f.end, &t.EndAt}} {
		if at.text == "" {
			continue
		}
		found := time.Time{}
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
			if found, err = time.ParseInLocation(layout, at.text, zone); err == nil {
				break
			}
		}
		if err != nil {
			return t, usagef(cmd, "--%s must be a time such as 2026-12-01, 2026-12-01T08:00 or 2026-12-01T08:00:00Z, not %q", at.flag, shorten(at.text, 40))
		}
		*at.into = &found
	}
	return t, nil
}

func (f *scheduleFlags) check(cmd *cobra.Command) error {
	if err := checkWord(cmd, ofOverlap, f.overlap); err != nil {
		return err
	}
	return checkWord(cmd, ofCatchUp, f.catchUp)
}

func (c *cli) scheduleCreate() *cobra.Command {
	var flags scheduleFlags
	var paused, dry bool
	var count int
	cmd := &cobra.Command{
		Use:   "create --name NAME --cron CRON --pattern PATTERN",
		Args:  cobra.NoArgs,
		Short: "Start an execution or a thread by the clock",
		Long: "Start an execution of a pattern, or with --thread a thread, by the clock. What is started has your rights, and you\n" +
			"have to have them at each tick. --dry-run tells when the ticks would be, and stores nothing.",
		Example: "  wardroom schedule create --name nightly --cron '0 3 * * *' --zone Europe/Berlin --pattern report --input '{\"days\":1}'\n" +
			"  wardroom schedule create --name deps --cron '0 6 * * MON' --overlap queue --thread @thread.json --env ANTHROPIC_API_KEY\n" +
			"  wardroom schedule create --name often --cron '*/5 * * * *' --jitter 30s --pattern probe --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.cron == "" {
				return usagef(cmd, "--cron is missing")
			}
			timing, err := flags.timing(cmd)
			if err != nil {
				return err
			}
			if dry {
				return c.preview(cmd, timing, count)
			}
			if flags.name == "" {
				return usagef(cmd, "--name is missing")
			}
			if err := flags.check(cmd); err != nil {
				return err
			}
			target, err := c.target(cmd, &flags.target)
			if err != nil {
				return err
			}
			spec := client.ScheduleSpec{ScheduleSpec: wire.ScheduleSpec{
				Name: flags.name, ScheduleTiming: timing, Overlap: wire.OverlapPolicy(flags.overlap), CatchUp: wire.CatchUpPolicy(flags.catchUp),
				CatchUpLimit: flags.limit, Paused: paused,
			}, Target: target, IdempotencyKey: client.NewIdempotencyKey()}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Schedule, error) {
				return api.CreateSchedule(ctx, spec)
			}, scheduleScreen)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&paused, "paused", false, "make it paused")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell when its next ticks would be")
	cmd.Flags().IntVar(&count, "count", 0, "with --dry-run: how many ticks (default 10)")
	return cmd
}

func (c *cli) scheduleUpdate() *cobra.Command {
	var flags scheduleFlags
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a schedule; from then on it has your rights",
		Long: "Change what is given. --start '' and --end '' take the bounds away. Flags of what is started replace all of it.\n" +
			"From then on what is started has your rights.",
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := c.schedulePatch(cmd, &flags)
			if err != nil {
				return err
			}
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Schedule, error) {
				return api.UpdateSchedule(ctx, args[0], patch)
			}, scheduleScreen)
		},
	}
	flags.register(cmd)
	return cmd
}

func (c *cli) schedulePatch(cmd *cobra.Command, f *scheduleFlags) (p client.SchedulePatch, err error) {
	if err := f.check(cmd); err != nil {
		return p, err
	}
	timing, err := f.timing(cmd)
	if err != nil {
		return p, err
	}
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	for name, set := range map[string]func(){
		"name":           func() { p.Name = &f.name },
		"cron":           func() { p.Cron = &f.cron },
		"zone":           func() { p.TimeZone = &f.zone },
		"jitter":         func() { p.Jitter = &timing.Jitter },
		"overlap":        func() { p.Overlap = new(wire.OverlapPolicy(f.overlap)) },
		"catch-up":       func() { p.CatchUp = new(wire.CatchUpPolicy(f.catchUp)) },
		"catch-up-limit": func() { p.CatchUpLimit = &f.limit },
		"start": func() {
			if p.StartAt = timing.StartAt; p.StartAt == nil {
				p.Reset = append(p.Reset, "startAt")
			}
		},
		"end": func() {
			if p.EndAt = timing.EndAt; p.EndAt == nil {
				p.Reset = append(p.Reset, "endAt")
			}
		},
	} {
		if given(name) {
			set()
		}
	}
	if f.target.given(cmd) {
		target, err := c.target(cmd, &f.target)
		if err != nil {
			return p, err
		}
		p.Target = &target
	}
	return p, nil
}

func (c *cli) scheduleGet() *cobra.Command {
	return shows(c, &cobra.Command{Use: "get ID", Aliases: []string{"show"}, Short: "Show a schedule and what became of its last ticks"},
		(*client.Client).GetSchedule, scheduleScreen)
}

func scheduleScreen(s *screen, found *client.Schedule) {
	limit := ""
	if found.CatchUp == wire.CatchUpAll {
		limit = strconv.Itoa(found.CatchUpLimit)
	}
	fields := []any{"schedule", found.ID, "name", found.Name, "cron", found.Cron, "time zone", found.TimeZone, "jitter", span(found.Jitter.Duration()),
		"from", moment(found.StartAt), "until", moment(found.EndAt), "overlap", string(found.Overlap), "catch-up", spaced(string(found.CatchUp), limit),
		"status", scheduleState(&found.Schedule), "why", found.StatusReason, "next", moment(found.NextAt), "runs as", found.RunsAs}
	fields = append(fields, targetFields(&found.Target)...)
	n := found.Counts
	fields = append(fields, "ticks", fmt.Sprintf("%d started, %d skipped, %d missed, %d failed, %d blocked", n.Started, n.Skipped, n.Missed, n.Failed, n.Blocked))
	if found.Queued > 0 {
		fields = append(fields, "waiting", strconv.Itoa(found.Queued))
	}
	for _, ref := range found.Running {
		fields = append(fields, "running", runText(ref))
	}
	s.fields(append(fields, "created by", found.CreatedBy, "created", moment(&found.CreatedAt))...)
	if len(found.Runs) == 0 {
		return
	}
	s.line("")
	rows := make([][]cell, len(found.Runs))
	for i := range found.Runs {
		r := &found.Runs[i]
		tick := "by hand"
		if r.Tick != nil {
			tick = moment(r.Tick)
		}
		late := ""
		if r.Late {
			late = "made up for"
		}
		rows[i] = []cell{{text: tick}, tickOutcome(r), {text: runText(r.RunRef)}, {text: spaced(late, r.Reason)}}
	}
	s.grid([]string{"TICK", "OUTCOME", "STARTED", "WHY"}, []int{0, 0, 0, 60}, rows)
}

func (c *cli) scheduleDelete() *cobra.Command {
	return schedules.deletes(c, &cobra.Command{
		Use: "delete ID", Short: "Remove a schedule; what it started goes on",
	}, (*client.Client).DeleteSchedule)
}

func (c *cli) schedulePause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Have no tick start anything until resume",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Schedule, error) {
				return api.PauseSchedule(ctx, args[0], reason)
			}, scheduleScreen)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	return cmd
}

func (c *cli) scheduleResume() *cobra.Command {
	return shows(c, &cobra.Command{Use: "resume ID", Short: "Go on with a schedule that was paused; ticks within the pause are not made up for"},
		(*client.Client).ResumeSchedule, scheduleScreen)
}

func (c *cli) scheduleRun() *cobra.Command {
	return &cobra.Command{
		Use: "run ID", Short: "Start what a schedule starts now, whatever else runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.Run, error) {
				return api.RunSchedule(ctx, args[0], client.NewIdempotencyKey())
			}, runScreen)
		},
	}
}

// runScreen reports what was started by hand.
func runScreen(s *screen, run *client.Run) {
	if run.ThreadID != "" {
		s.line("thread %s of execution %s", clean(run.ThreadID), clean(run.ExecutionID))
		s.line("watch it with `wardroom thread watch %s`", clean(run.ThreadID))
		return
	}
	s.line("execution %s", clean(run.ExecutionID))
	s.line("follow it: wardroom execution watch %s", clean(run.ExecutionID))
}

func (c *cli) scheduleNext() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use: "next ID", Short: "Show when the next ticks of a schedule are",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd, func(ctx context.Context, api *client.Client) error {
				ticks, err := api.NextTicks(ctx, args[0], count)
				if err != nil {
					return err
				}
				// Who may see its ticks need not be one who may read it.
				s, err := api.GetSchedule(ctx, args[0])
				if err == nil && (s.Status == wire.SchedulePaused || s.Status == wire.ScheduleBlocked) {
					fmt.Fprintf(c.deps.Stderr, "the schedule is %s: none of these starts anything until that ends\n", clean(string(s.Status)))
				}
				return show(c, ticks, nil, ticksScreen)
			})
		},
	}
	cmd.Flags().IntVar(&count, "count", 0, "how many (default 10)")
	return cmd
}

func (c *cli) schedulePreview() *cobra.Command {
	var flags scheduleFlags
	var count int
	cmd := &cobra.Command{
		Use: "preview CRON", Short: "Show when a schedule would have its ticks; nothing is stored",
		Example: "  wardroom schedule preview '30 2 * * *' --zone Europe/Berlin",
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.cron = args[0]
			timing, err := flags.timing(cmd)
			if err != nil {
				return err
			}
			return c.preview(cmd, timing, count)
		},
	}
	flags.registerTiming(cmd)
	cmd.Flags().IntVar(&count, "count", 0, "how many (default 10)")
	return cmd
}

func (c *cli) preview(cmd *cobra.Command, timing client.ScheduleTiming, count int) error {
	return ask(c, cmd, func(ctx context.Context, api *client.Client) (*client.ScheduleTicks, error) {
		return api.PreviewSchedule(ctx, timing, count)
	}, ticksScreen)
}

func ticksScreen(s *screen, t *client.ScheduleTicks) {
	if len(t.Ticks) == 0 {
		s.line("no tick is left")
		return
	}
	rows := make([][]cell, len(t.Ticks))
	for i := range t.Ticks {
		tick := &t.Ticks[i]
		rows[i] = []cell{{text: tick.Local}, {text: tick.At.UTC().Format("2006-01-02 15:04:05")}, s.cell(due{&tick.At})}
		if off := tick.StartAt.Sub(tick.At); off > 0 {
			rows[i] = append(rows[i], cell{text: "+" + off.Round(time.Second).String()})
		} else {
			rows[i] = append(rows[i], cell{})
		}
	}
	s.grid([]string{"TICK (" + t.TimeZone + ")", "UTC", "IN", "PUT OFF BY"}, []int{0, 0, 0, 0}, rows)
}
