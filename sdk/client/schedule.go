package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of schedules, see package wire.
type (
	ScheduleRun     = wire.ScheduleRun
	ScheduleStatus  = wire.ScheduleStatus
	ScheduleTiming  = wire.ScheduleTiming
	ExecutionTarget = wire.ExecutionTarget
	RunRef          = wire.RunRef
)

// Target is what is to be started: one of the two is set. A thread needs no ExecutionID, and no workspace that was
// prepared.
type Target struct {
	Execution *ExecutionTarget `json:"execution,omitempty"`
	Thread    *ThreadSpec      `json:"thread,omitempty"`
}

// Schedule starts something again and again, by the clock.
type Schedule struct {
	Meta
	wire.Schedule
}

// ScheduleList is one page of schedules, newest first.
type ScheduleList struct {
	Meta
	PageInfo
	Schedules []Schedule `json:"schedules"`
}

func (l *ScheduleList) page() ([]Schedule, PageInfo) { return l.Schedules, l.PageInfo }

// ScheduleTicks are ticks to come.
type ScheduleTicks struct {
	Meta
	wire.ScheduleTicks
}

// Run is what was started by hand.
type Run struct {
	Meta
	RunRef
	StatusURL string `json:"statusUrl"`
}

// ScheduleSpec asks for a schedule. Name, Cron and Target are what it needs; zero values are the server's defaults.
type ScheduleSpec struct {
	wire.ScheduleSpec
	Target Target `json:"target"`
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey.
	IdempotencyKey string `json:"-"`
}

// SchedulePatch changes a schedule. Nil fields stay; those named in Reset go back to their defaults.
type SchedulePatch struct {
	Name         *string
	Cron         *string
	TimeZone     *string
	Jitter       *Millis
	StartAt      *time.Time
	EndAt        *time.Time
	Overlap      *wire.OverlapPolicy
	CatchUp      *wire.CatchUpPolicy
	CatchUpLimit *int
	Target       *Target
	// Reset names fields of the API: startAt, endAt.
	Reset []string
}

// MarshalJSON implements json.Marshaler.
func (p SchedulePatch) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, name := range p.Reset {
		fields[name] = nil
	}
	put(fields, "name", p.Name)
	put(fields, "cron", p.Cron)
	put(fields, "timeZone", p.TimeZone)
	put(fields, "jitter", p.Jitter)
	put(fields, "startAt", p.StartAt)
	put(fields, "endAt", p.EndAt)
	put(fields, "overlap", p.Overlap)
	put(fields, "catchUp", p.CatchUp)
	put(fields, "catchUpLimit", p.CatchUpLimit)
	put(fields, "target", p.Target)
	return json.Marshal(fields)
}

const schedulesPath = "/api/schedules"

func schedulePath(id string) string { return schedulesPath + "/" + segment(id) }

// CreateSchedule stores a schedule.
func (c *Client) CreateSchedule(ctx context.Context, spec ScheduleSpec) (*Schedule, error) {
	return ask[Schedule](ctx, c, request{method: http.MethodPost, path: schedulesPath, body: spec, key: spec.IdempotencyKey})
}

// PreviewSchedule returns up to count ticks that a schedule would have from now on; 0: ten. Nothing is stored.
func (c *Client) PreviewSchedule(ctx context.Context, timing ScheduleTiming, count int) (*ScheduleTicks, error) {
	body := struct {
		ScheduleTiming
		Count int `json:"count,omitempty"`
	}{timing, count}
	return ask[ScheduleTicks](ctx, c, request{method: http.MethodPost, path: schedulesPath + "/preview", body: body, harmless: true})
}

// ScheduleFilter selects schedules of a list. Zero values select all.
type ScheduleFilter struct {
	Status    string
	CreatedBy string
	Page
}

// ListSchedules returns one page of schedules, newest first.
func (c *Client) ListSchedules(ctx context.Context, filter ScheduleFilter) (*ScheduleList, error) {
	return listOf[ScheduleList](ctx, c, schedulesPath, filter.Page, "status", filter.Status, "createdBy", filter.CreatedBy)
}

// Schedules walks all pages of the list.
func (c *Client) Schedules(ctx context.Context, filter ScheduleFilter) iter.Seq2[Schedule, error] {
	return walkList(ctx, filter, c.ListSchedules)
}

// GetSchedule returns one schedule with what became of its last ticks.
func (c *Client) GetSchedule(ctx context.Context, id string) (*Schedule, error) {
	return get[Schedule](ctx, c, schedulePath(id))
}

// UpdateSchedule changes a schedule, whose runs have the caller's rights from then on.
func (c *Client) UpdateSchedule(ctx context.Context, id string, patch SchedulePatch) (*Schedule, error) {
	return ask[Schedule](ctx, c, request{method: http.MethodPatch, path: schedulePath(id), body: patch, harmless: true})
}

// DeleteSchedule removes a schedule. What it started goes on.
func (c *Client) DeleteSchedule(ctx context.Context, id string) error {
	return c.remove(ctx, schedulePath(id))
}

// PauseSchedule has no tick start anything until ResumeSchedule.
func (c *Client) PauseSchedule(ctx context.Context, id, reason string) (*Schedule, error) {
	r := request{method: http.MethodPost, path: schedulePath(id) + "/pause", body: wire.CancelRequest{Reason: reason}, harmless: true}
	return ask[Schedule](ctx, c, r)
}

// ResumeSchedule goes on with a schedule that was paused.
func (c *Client) ResumeSchedule(ctx context.Context, id string) (*Schedule, error) {
	return ask[Schedule](ctx, c, request{method: http.MethodPost, path: schedulePath(id) + "/resume", harmless: true})
}

// RunSchedule starts the target of a schedule now. key is an idempotency key, or empty.
func (c *Client) RunSchedule(ctx context.Context, id, key string) (*Run, error) {
	return ask[Run](ctx, c, request{method: http.MethodPost, path: schedulePath(id) + "/run", key: key})
}

// NextTicks returns up to count ticks of a schedule from now on; 0: ten.
func (c *Client) NextTicks(ctx context.Context, id string, count int) (*ScheduleTicks, error) {
	query := queryOf("limit", number(count))
	return ask[ScheduleTicks](ctx, c, request{method: http.MethodGet, path: schedulePath(id) + "/ticks", query: query})
}
