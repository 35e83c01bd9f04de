package api_test

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const scheduleID = "sched_01JGFJJZ8N4Q1W0000000000AB"

// someSchedule is a schedule with every field.
func someSchedule(id string) *core.Schedule {
	tick, next := epoch.Add(time.Minute), epoch.Add(time.Hour)
	run := core.ScheduleRun{Tick: &tick, At: tick, Outcome: wire.TickStarted, Late: true, RunRef: core.RunRef{ExecutionID: execID}}
	return &core.Schedule{
		ID: id, Name: "nightly", Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Jitter: 1500, Overlap: wire.OverlapSkip, CatchUp: wire.CatchUpLast,
		CatchUpLimit: 10, StartAt: &tick, EndAt: &next, Status: wire.ScheduleActive, RunsAs: "mira", NextAt: &next,
		Target:  core.Target{Execution: &core.ExecutionTarget{Pattern: "classify", Input: []byte(`{"n":12345678901234567890}`)}},
		Running: []core.RunRef{{ExecutionID: execID, ThreadID: threadID}}, Queued: 1, LastRun: &run,
		Counts: wire.ScheduleCounts{Started: 1}, Runs: []core.ScheduleRun{run, {At: tick, Outcome: wire.TickFailed, Reason: "no", Code: core.CodeNotFound}},
		CreatedBy: "mira", CreatedAt: epoch, UpdatedAt: epoch,
	}
}

type fakeSchedules struct {
	spec   core.ScheduleSpec
	patch  core.SchedulePatch
	reason string
	now    func(*core.Schedule) // what became of it
	err    error
}

func (f *fakeSchedules) some(id string) (*core.Schedule, error) {
	if f.err != nil {
		return nil, f.err
	}
	if id != scheduleID {
		return nil, core.NotFound("schedule", id)
	}
	found := someSchedule(id)
	if f.now != nil {
		f.now(found)
	}
	return found, nil
}

func (f *fakeSchedules) CreateSchedule(_ context.Context, spec core.ScheduleSpec) (*core.Schedule, error) {
	f.spec = spec
	return f.some(scheduleID)
}

func (f *fakeSchedules) FindSchedules(context.Context, core.ScheduleFilter) ([]*core.Schedule, core.PageInfo, error) {
	s := someSchedule(scheduleID)
	s.Runs = nil
	return []*core.Schedule{s}, core.PageInfo{Total: 1}, f.err
}

func (f *fakeSchedules) FindSchedule(_ context.Context, id string) (*core.Schedule, error) {
	return f.some(id)
}

func (f *fakeSchedules) UpdateSchedule(_ context.Context, id string, patch core.SchedulePatch) (*core.Schedule, error) {
	f.patch = patch
	return f.some(id)
}

func (f *fakeSchedules) DeleteSchedule(_ context.Context, id string) error {
	_, err := f.some(id)
	return err
}

func (f *fakeSchedules) PauseSchedule(_ context.Context, id, reason string) (*core.Schedule, error) {
	f.reason = reason
	return f.some(id)
}

func (f *fakeSchedules) ResumeSchedule(_ context.Context, id string) (*core.Schedule, error) {
	return f.some(id)
}

func (f *fakeSchedules) RunSchedule(_ context.Context, id string) (core.RunRef, error) {
	_, err := f.some(id)
	return core.RunRef{ExecutionID: execID, ThreadID: threadID}, err
}

func (f *fakeSchedules) NextTicks(_ context.Context, id string, count int) (*core.ScheduleTicks, error) {
	_, err := f.some(id)
	return ticks(count), err
}

func (f *fakeSchedules) PreviewTicks(_ context.Context, spec core.ScheduleSpec, count int) (*core.ScheduleTicks, error) {
	f.spec = spec
	return ticks(count), f.err
}

func ticks(count int) *core.ScheduleTicks {
	out := &core.ScheduleTicks{TimeZone: "UTC", Ticks: []core.ScheduleTick{}}
	for range count {
		out.Ticks = append(out.Ticks, core.ScheduleTick{At: epoch, Local: epoch.Format(time.RFC3339), StartAt: epoch})
	}
	return out
}
