package api

import (
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	histogramSpan    = 30 * 24 * time.Hour // without since
	maxHistogramSpan = 100 * 365 * 24 * time.Hour
	maxSteps         = 120
)

// executionFilterParams are what a list of executions selects by.
func executionFilterParams() []Param {
	return []Param{
		{Name: "pattern", Type: ParamString, Selects: []string{"pattern", "pattern.name"}, Doc: "Name of the pattern."},
		{Name: "status", Type: ParamList, Enum: words(core.ExecutionStatuses), Doc: "Comma-separated statuses, any of them: pending, running, completed, failed, cancelled."},
		{Name: "batchId", Type: ParamString, Doc: "Only items of this batch."},
		{Name: "errorCode", Type: ParamString, Doc: "Only those that failed with this code, such as TIMEOUT."},
		creatorParam,
		{Name: "metadata", Type: ParamKeys, Doc: "metadata.KEY=VALUE: only those with this metadata; several times: with all of them. Texts, numbers and booleans of up to 256 bytes are found."},
		{Name: "since", Type: ParamTime, Doc: "Made at this time or later."},
		{Name: "until", Type: ParamTime, Doc: "Made before this time."},
		{Name: "endedSince", Type: ParamTime, Doc: "Over, and ended at this time or later. A time in which more than 200,000 ended is refused."},
		{Name: "endedUntil", Type: ParamTime, Doc: "Over, and ended before this time."},
	}
}

// executionFilter reads what a list of executions selects by.
func (c *call) executionFilter() core.ExecutionFilter {
	return core.ExecutionFilter{
		Pattern: c.query.text("pattern"), Statuses: statusesOf(c.query.list("status")), BatchID: c.query.text("batchId"),
		ErrorCode: core.Code(c.query.text("errorCode")), CreatedBy: c.query.text("createdBy"), Metadata: c.query.keys["metadata"],
		Since: c.query.time("since"), Until: c.query.time("until"), EndedSince: c.query.time("endedSince"), EndedUntil: c.query.time("endedUntil"),
	}
}

// executionHistogram counts executions by when they were made, those that failed besides. Every count is one over keys
// of an index, so that all of them read each key once.
func (s *Server) executionHistogram(c *call) (answer, error) {
	filter := c.executionFilter()
	filter.Page = core.Page{Limit: 1}
	// Ids know their time to the millisecond: bounds between two would count what was made in theirs on both sides.
	until := filter.Until.Add(time.Millisecond - 1)
	if filter.Until.IsZero() {
		until = s.opts.Clock.Now()
	}
	until = until.Truncate(time.Millisecond)
	since := filter.Since.Truncate(time.Millisecond)
	if since.IsZero() {
		since = until.Add(-histogramSpan)
	}
	if !since.Before(until) {
		return answer{}, core.Invalid("since", "must be before until")
	}
	if until.Sub(since) > maxHistogramSpan { // a time.Duration holds no more than 292 years, and steps would not end
		return answer{}, core.Invalid("since", "must be at most 100 years before until")
	}
	steps := c.query.integer("steps")
	step := max((until.Sub(since)/time.Duration(steps) + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond)
	out := wire.ExecutionHistogram{Since: since.UTC(), Until: until.UTC(), StepMs: step.Milliseconds(), Steps: []wire.HistogramStep{}}
	filter.Since, filter.Until = since, until
	if readable := s.executions(c, filter); !readable.all {
		err := histogramOf(&out, readable, step)
		return ok(out), err
	}
	count := func(f core.ExecutionFilter) (int, error) {
		_, info, err := s.opts.Executions.FindExecutions(c.ctx, f)
		out.AtLeast = out.AtLeast || info.AtLeast
		return info.Total, err
	}
	all, err := count(filter)
	if err != nil {
		return answer{}, err
	}
	failed := filter
	failed.Statuses = []core.ExecutionStatus{core.ExecutionFailed}
	for at, left := since, all; at.Before(until) && left > 0; at = at.Add(step) {
		one := wire.HistogramStep{At: at.UTC()}
		filter.Since, filter.Until = at, at.Add(step)
		if filter.Until.After(until) {
			filter.Until = until
		}
		if one.Count, err = count(filter); err != nil {
			return answer{}, err
		}
		if one.Count == 0 {
			continue
		}
		if len(filter.Statuses) == 0 || slices.Contains(filter.Statuses, core.ExecutionFailed) {
			failed.Since, failed.Until = filter.Since, filter.Until
			if one.Failed, err = count(failed); err != nil {
				return answer{}, err
			}
		}
		out.Total += one.Count
		out.Steps = append(out.Steps, one)
		if !out.AtLeast {
			left -= one.Count // what is made meanwhile belongs to the last steps, and is left out
		}
	}
	return ok(out), nil
}

// histogramOf counts the executions that the caller may read.
func histogramOf(out *wire.ExecutionHistogram, readable *rows[*core.Execution], step time.Duration) error {
	counts := map[int64]*wire.HistogramStep{}
	cut, err := readable.walk("", func(e *core.Execution, _ place) bool {
		n := int64(e.CreatedAt.Sub(out.Since) / step)
		one := counts[n]
		if one == nil {
			one = &wire.HistogramStep{At: out.Since.Add(time.Duration(n) * step)}
			counts[n] = one
		}
		out.Total++
		one.Count++
		if e.Status == core.ExecutionFailed {
			one.Failed++
		}
		return true
	})
	out.AtLeast = cut != nil
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		out.Steps = append(out.Steps, *counts[n])
	}
	return err
}
