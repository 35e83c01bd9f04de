package wire

import "time"

// ScheduleStatus is the state of a schedule.
type ScheduleStatus string

// States of a schedule.
const (
	ScheduleActive  ScheduleStatus = "active"
	SchedulePaused  ScheduleStatus = "paused"  // by a call: what falls into the pause is not made up for
	ScheduleBlocked ScheduleStatus = "blocked" // who it runs as lacks a right, and each tick asks again; or its times cannot be read
	ScheduleEnded   ScheduleStatus = "ended"   // no tick is left before endAt
)

// OverlapPolicy says what becomes of a tick while the run before goes on.
type OverlapPolicy string

// Overlap policies.
const (
	OverlapSkip   OverlapPolicy = "skip"            // the tick is left out
	OverlapQueue  OverlapPolicy = "queue"           // the tick waits for its turn
	OverlapAllow  OverlapPolicy = "allow"           // both run
	OverlapCancel OverlapPolicy = "cancel-previous" // the run before is cancelled
)

// CatchUpPolicy says which of the ticks are made up for that fell into a time without the server.
type CatchUpPolicy string

// Catch-up policies.
const (
	CatchUpNone CatchUpPolicy = "none"
	CatchUpLast CatchUpPolicy = "last" // the newest one
	CatchUpAll  CatchUpPolicy = "all"  // the newest ones, catchUpLimit at most
)

// ScheduleOutcome is what became of a tick.
type ScheduleOutcome string

// Outcomes of ticks.
const (
	TickStarted ScheduleOutcome = "started"
	TickQueued  ScheduleOutcome = "queued"  // waits until the run before is over
	TickSkipped ScheduleOutcome = "skipped" // the run before went on, or the queue was full
	TickMissed  ScheduleOutcome = "missed"  // the server did not run, and it is not made up for
	TickFailed  ScheduleOutcome = "failed"  // it could not be started
	TickBlocked ScheduleOutcome = "blocked" // a right was missing
)

// ScheduleRun is one entry of the history of a schedule.
type ScheduleRun struct {
	Tick    *time.Time      `json:"tick,omitempty" doc:"The time that it was due by the schedule; absent for one that was asked for by hand."`
	At      time.Time       `json:"at" doc:"When it came to this."`
	Outcome ScheduleOutcome `json:"outcome" enum:"started,queued,skipped,missed,failed,blocked"`
	Late    bool            `json:"late,omitempty" doc:"It was made up for."`
	Count   int             `json:"count,omitempty" doc:"Of missed: how many ticks, the one of tick being the last."`
	Reason  string          `json:"reason,omitempty" doc:"Why it was not started."`
	Code    Code            `json:"code,omitempty" doc:"Of the error that it failed with."`
	RunRef
}

// ScheduleTiming says when a schedule to be has its ticks.
type ScheduleTiming struct {
	Cron     string     `json:"cron" check:"required,min=1,max=256" doc:"Five fields: minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly, @every 90m." example:"0 3 * * MON-FRI"`
	TimeZone string     `json:"timeZone,omitempty" check:"max=64" doc:"IANA name. Default: UTC." example:"Europe/Berlin"`
	Jitter   Millis     `json:"jitter,omitempty" check:"min=0,max=86400000" doc:"Milliseconds by which a start is put off at most, so that not all start at once. It never reaches the next tick."`
	StartAt  *time.Time `json:"startAt,omitempty" doc:"No tick before it."`
	EndAt    *time.Time `json:"endAt,omitempty" doc:"No tick after it."`
}

// ScheduleSpec asks for a schedule, without what it is to start. Its bounds keep nonsense out; the service checks the
// rest.
type ScheduleSpec struct {
	Name string `json:"name" check:"required,min=1,max=100" doc:"Unique among schedules." example:"nightly-report"`
	ScheduleTiming
	Overlap      OverlapPolicy `json:"overlap,omitempty" enum:"skip,queue,allow,cancel-previous" doc:"What becomes of a tick while the run before goes on. Default: skip."`
	CatchUp      CatchUpPolicy `json:"catchUp,omitempty" enum:"none,last,all" doc:"Which ticks are made up for that fell into a time without the server. Default: last."`
	CatchUpLimit int           `json:"catchUpLimit,omitempty" check:"min=1,max=100" doc:"Of all: the newest ones, as many at most. Default: 10."`
	Paused       bool          `json:"paused,omitempty" doc:"Make it paused."`
}

// ScheduleCounts count the ticks of a schedule by what became of them.
type ScheduleCounts struct {
	Started int64 `json:"started"`
	Skipped int64 `json:"skipped"`
	Missed  int64 `json:"missed"`
	Failed  int64 `json:"failed"`
	Blocked int64 `json:"blocked"`
}

// Schedule starts something again and again, by the clock.
type Schedule struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Cron         string         `json:"cron"`
	TimeZone     string         `json:"timeZone" doc:"IANA name."`
	Jitter       Millis         `json:"jitter" doc:"Milliseconds by which a start is put off at most."`
	Overlap      OverlapPolicy  `json:"overlap" enum:"skip,queue,allow,cancel-previous"`
	CatchUp      CatchUpPolicy  `json:"catchUp" enum:"none,last,all"`
	CatchUpLimit int            `json:"catchUpLimit" doc:"Of all: how many ticks are made up for at most."`
	StartAt      *time.Time     `json:"startAt,omitempty" doc:"No tick before it."`
	EndAt        *time.Time     `json:"endAt,omitempty" doc:"No tick after it."`
	Target       Target         `json:"target"`
	Status       ScheduleStatus `json:"status" enum:"active,paused,blocked,ended"`
	StatusReason string         `json:"statusReason,omitempty"`
	RunsAs       string         `json:"runsAs" doc:"Whose rights its runs have: of who gave it its present content."`
	NextAt       *time.Time     `json:"nextAt,omitempty" doc:"The next tick, without jitter; absent while it is paused, and at its end."`
	Running      []RunRef       `json:"running" doc:"What it started and was not over when it was looked at last."`
	Queued       int            `json:"queued" doc:"Ticks that wait until the run before is over."`
	LastRun      *ScheduleRun   `json:"lastRun,omitempty"`
	Counts       ScheduleCounts `json:"counts"`
	Runs         []ScheduleRun  `json:"runs,omitzero" doc:"What became of its last ticks, newest first, 50 at most. Left out of lists."`
	CreatedBy    string         `json:"createdBy"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
}

// ScheduleTick is a tick to come.
type ScheduleTick struct {
	At      time.Time `json:"at"`
	Local   string    `json:"local" doc:"The same as the clocks of the time zone show it, with its offset." example:"2026-11-29T03:00:00+01:00"`
	StartAt time.Time `json:"startAt" doc:"With jitter."`
}

// ScheduleTicks are ticks to come.
type ScheduleTicks struct {
	TimeZone string         `json:"timeZone"`
	Ticks    []ScheduleTick `json:"ticks" doc:"In order; fewer than asked for where the schedule ends."`
}
