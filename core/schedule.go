package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixSchedule begins the ids of schedules.
const PrefixSchedule = "sched_"

// What is public of schedules, as it is stored.
type (
	Schedule        = wire.Schedule
	ScheduleStatus  = wire.ScheduleStatus
	ScheduleRun     = wire.ScheduleRun
	ScheduleOutcome = wire.ScheduleOutcome
	ScheduleTicks   = wire.ScheduleTicks
	ScheduleTick    = wire.ScheduleTick
	OverlapPolicy   = wire.OverlapPolicy
	CatchUpPolicy   = wire.CatchUpPolicy
)

// ScheduleStatuses lists every state of a schedule.
var ScheduleStatuses = []ScheduleStatus{wire.ScheduleActive, wire.SchedulePaused, wire.ScheduleBlocked, wire.ScheduleEnded}

// Event types of schedules. They belong to one schedule and stay inside.
const (
	EventScheduleCreated EventType = "schedule.created"
	EventScheduleUpdated EventType = "schedule.updated" // also paused and resumed
	EventScheduleDeleted EventType = "schedule.deleted"
	EventScheduleTick    EventType = "schedule.tick" // a ScheduleRun
)

// ScheduleRecord is a schedule as it is stored. Of the embedded Schedule, NextAt is not stored: it follows from the time.
// Values are snapshots.
type ScheduleRecord struct {
	Schedule
	// Revision counts the writes of the record.
	Revision  uint64          `json:"revision"`
	Principal PrincipalRecord `json:"principal"`
	// Anchor is what @every counts from.
	Anchor time.Time `json:"anchor"`
	// Cursor is up to which tick all were decided on. It goes back with the clock.
	Cursor time.Time `json:"cursor"`
	// CatchUntil is up to which tick those that are late are made up for.
	CatchUntil time.Time `json:"catchUntil,omitzero"`
	// Fired are the ticks that were decided on other than as missed: none of them is due again, whatever becomes of the
	// clock. In order, without overlap.
	Fired []TickSpan `json:"fired,omitempty"`
	// Queue are ticks that wait, in order.
	Queue []time.Time `json:"queue,omitempty"`
	// SealedEnv is the environment of a thread, encrypted.
	SealedEnv []byte `json:"sealedEnv,omitempty"`
}

// TickSpan is a run of ticks, from the first to the last.
type TickSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// ScheduleSpec describes a schedule to create. Zero values are defaults.
type ScheduleSpec struct {
	Name         string
	Cron         string
	TimeZone     string // "": UTC
	Jitter       time.Duration
	Overlap      OverlapPolicy // "": skip
	CatchUp      CatchUpPolicy // "": last
	CatchUpLimit int           // 0: DefaultCatchUpLimit
	StartAt      *time.Time
	EndAt        *time.Time
	Target       Target
	Env          map[string]string // of a thread
	Paused       bool
}

// DefaultCatchUpLimit is how many ticks the catch-up policy all makes up for, unless the schedule says.
const DefaultCatchUpLimit = 10

// SchedulePatch changes a schedule. Nil fields stay.
type SchedulePatch struct {
	Name         *string
	Cron         *string
	TimeZone     *string
	Jitter       *time.Duration
	Overlap      *OverlapPolicy
	CatchUp      *CatchUpPolicy
	CatchUpLimit *int
	StartAt      **time.Time
	EndAt        **time.Time
	Target       *Target
	Env          map[string]string // with Target
}

// ScheduleFilter selects schedules of a list. Zero values select all.
type ScheduleFilter struct {
	Status    ScheduleStatus
	CreatedBy string
	Page
}

// ScheduleService starts executions and threads by the clock. Methods are safe for concurrent use.
//
// It has many methods because they are the operations of the interface on one noun, with its ticks.
type ScheduleService interface {
	// CreateSchedule stores a schedule, whose runs have the rights of the principal of ctx. VALIDATION_ERROR; FORBIDDEN for
	// a target that the principal may not start; CONFLICT for a name that is taken; RATE_LIMITED when there are too many.
	CreateSchedule(ctx context.Context, spec ScheduleSpec) (*Schedule, error)
	// FindSchedules lists schedules, newest first, without Runs.
	FindSchedules(ctx context.Context, filter ScheduleFilter) ([]*Schedule, PageInfo, error)
	// FindSchedule returns one. NOT_FOUND.
	FindSchedule(ctx context.Context, id string) (*Schedule, error)
	// UpdateSchedule changes a schedule, whose runs have the rights of the principal of ctx from then on. Errors as of
	// CreateSchedule; NOT_FOUND.
	UpdateSchedule(ctx context.Context, id string, patch SchedulePatch) (*Schedule, error)
	// DeleteSchedule removes a schedule. What it started goes on. NOT_FOUND.
	DeleteSchedule(ctx context.Context, id string) error
	// PauseSchedule has no tick start anything until ResumeSchedule, which makes up for none. Doing it twice is no error.
	// NOT_FOUND.
	PauseSchedule(ctx context.Context, id, reason string) (*Schedule, error)
	ResumeSchedule(ctx context.Context, id string) (*Schedule, error)
	// RunSchedule starts the target now, whatever else runs, with the rights that the schedule's runs have. NOT_FOUND; the
	// errors of the target.
	RunSchedule(ctx context.Context, id string) (RunRef, error)
	// NextTicks returns up to count ticks from now on. NOT_FOUND.
	NextTicks(ctx context.Context, id string, count int) (*ScheduleTicks, error)
	// PreviewTicks returns up to count ticks of a schedule to be, of which Cron, TimeZone, Jitter, StartAt and EndAt count.
	// VALIDATION_ERROR.
	PreviewTicks(ctx context.Context, spec ScheduleSpec, count int) (*ScheduleTicks, error)
}

// ScheduleReader reads stored schedules.
type ScheduleReader interface {
	// AllSchedules returns every schedule, oldest first.
	AllSchedules(ctx context.Context) ([]*ScheduleRecord, error)
}

// ScheduleTx changes schedules.
type ScheduleTx interface {
	// PutSchedule inserts or replaces a schedule.
	PutSchedule(s *ScheduleRecord) error
	// FindScheduleRecord returns a schedule as this transaction sees it. NOT_FOUND.
	FindScheduleRecord(id string) (*ScheduleRecord, error)
	// DeleteSchedule removes a schedule. An unknown id is no error.
	DeleteSchedule(id string) error
}
