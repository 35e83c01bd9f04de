package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const schedulesPath = "/api/schedules"

func schedulePath(id string) string { return schedulesPath + "/" + id }

// Numbers of ticks that are shown.
const (
	defaultTicks = 10
	maxTicks     = 100
)

// Schedules makes the operations of schedules.
func Schedules(service core.ScheduleService) Part {
	return Part{"schedules", resource{wire.AuditExecutions, true, core.PrefixSchedule}, schedulePart{service}.routes()}
}

type schedulePart struct{ service core.ScheduleService }

func (p schedulePart) routes() []Route {
	const one = schedulesPath + "/{scheduleId}"
	route := routesOf("schedules", core.ScopeExecutionsRead, core.ScopeExecutionsCreate)
	record := []Response{{Status: 200, Body: wire.Schedule{}, Doc: "The schedule."}}
	ticks := []Response{{Status: 200, Body: wire.ScheduleTicks{}, Doc: "Ticks to come."}}
	return []Route{
		route(http.MethodPost, "schedules.create", Route{
			Path: schedulesPath, OperationID: "createSchedule", Summary: "Start an execution or a thread by the clock.",
			Description: "Its runs have the rights of the caller, who has to have them at each tick. There are 1000 schedules at most.",
			Body:        &Body{JSON: new(createScheduleRequest)},
			Responses:   []Response{{Status: 201, Body: wire.Schedule{}, Location: true, Doc: "It is stored."}},
			Fails:       []int{403, 404, 409, 429}, Creates: true, Recover: recoverOne(p.service.FindSchedule, scheduleCreated), Handle: decoded(p.createSchedule),
		}),
		route(http.MethodPost, "schedules.read", Route{
			Path: schedulesPath + "/preview", OperationID: "previewSchedule", Summary: "Tell when a schedule would have its ticks, without storing it.",
			Body: &Body{JSON: new(previewScheduleRequest)}, Responses: ticks, Handle: decoded(p.previewSchedule),
		}),
		route(http.MethodGet, "schedules.read", Route{
			Path: schedulesPath, OperationID: "listSchedules", Summary: "List schedules, newest first.",
			Query:     append(pageParams(), Param{Name: "status", Type: ParamString, Enum: []string{"active", "paused", "blocked", "ended"}, Doc: "Only those in this state."}, creatorParam),
			Responses: []Response{{Status: 200, Body: scheduleList{}, Doc: "A page of schedules, without their histories."}},
			Handle:    p.listSchedules,
		}),
		route(http.MethodGet, "schedules.read", Route{
			Path: one, OperationID: "getSchedule", Summary: "Get one schedule with what became of its last ticks.",
			Responses: record, Fails: []int{404}, Handle: p.getSchedule,
		}),
		route(http.MethodPatch, "schedules.update", Route{
			Path: one, OperationID: "updateSchedule", Summary: "Change a schedule.",
			Description: "Fields that are absent stay; null resets startAt and endAt. From then on its runs have the rights of the caller. " +
				"A target replaces the one before as a whole. One with an environment that somebody else gave has to be given again.",
			Body: &Body{JSON: new(updateScheduleRequest)}, Responses: record, Edits: true, Fails: []int{403, 404, 409, 412}, Handle: decoded(p.updateSchedule),
		}),
		route(http.MethodDelete, "schedules.delete", Route{
			Path: one, OperationID: "deleteSchedule", Summary: "Remove a schedule. What it started goes on.",
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It is gone."}},
			Edits:     true, Fails: []int{404, 412}, Handle: edits(p.getSchedule, removeOne("scheduleId", p.service.DeleteSchedule)),
		}),
		route(http.MethodPost, "schedules.pause", Route{
			Path: one + "/pause", OperationID: "pauseSchedule", Summary: "Have no tick start anything until the schedule is resumed.",
			Body: &Body{JSON: new(wire.CancelRequest), Optional: true}, Responses: record, Edits: true, Fails: []int{404, 409, 412},
			Handle: edits(p.getSchedule, decoded(p.pauseSchedule)),
		}),
		route(http.MethodPost, "schedules.resume", Route{
			Path: one + "/resume", OperationID: "resumeSchedule", Summary: "Go on with a schedule that was paused. Ticks within the pause are not made up for.",
			Body: &Body{JSON: new(emptyRequest), Optional: true}, Responses: record, Edits: true, Fails: []int{404, 409, 412},
			Handle: edits(p.getSchedule, decoded(p.resumeSchedule)),
		}),
		route(http.MethodPost, "schedules.run", Route{
			Path: one + "/run", OperationID: "runSchedule", Summary: "Start the target of a schedule now, whatever else runs.",
			Description: "With the rights that the schedule's runs have. Its next tick stays where it is.",
			Body:        &Body{JSON: new(emptyRequest), Optional: true},
			Responses:   []Response{{Status: 202, Body: runBody{}, Location: true, Doc: "It is started."}},
			Fails:       []int{400, 403, 404, 409, 422, 429, 503}, Creates: true, Recover: p.recoverRun, Handle: decoded(p.runSchedule),
		}),
		route(http.MethodGet, "schedules.read", Route{
			Path: one + "/ticks", OperationID: "listScheduleTicks", Summary: "Tell when the next ticks of a schedule are.",
			Query:     []Param{{Name: "limit", Type: ParamInteger, Default: "10", Min: 1, Max: maxTicks, Doc: "How many."}},
			Responses: ticks, Fails: []int{404}, Handle: p.scheduleTicks,
		}),
	}
}

type createScheduleRequest struct {
	wire.ScheduleSpec
	Target targetRequest `json:"target" check:"required"`
}

type updateScheduleRequest struct {
	Name         *string             `json:"name" check:"min=1,max=100"`
	Cron         *string             `json:"cron" check:"min=1,max=256"`
	TimeZone     *string             `json:"timeZone" check:"min=1,max=64"`
	Jitter       *int64              `json:"jitter" check:"min=0,max=86400000" doc:"Milliseconds."`
	StartAt      *time.Time          `json:"startAt" doc:"null: none."`
	EndAt        *time.Time          `json:"endAt" doc:"null: none."`
	Overlap      *core.OverlapPolicy `json:"overlap" enum:"skip,queue,allow,cancel-previous"`
	CatchUp      *core.CatchUpPolicy `json:"catchUp" enum:"none,last,all"`
	CatchUpLimit *int                `json:"catchUpLimit" check:"min=1,max=100"`
	Target       *targetRequest      `json:"target"`
}

type previewScheduleRequest struct {
	wire.ScheduleTiming
	Count int `json:"count" check:"min=1,max=100" doc:"How many ticks. Default: 10."`
}

type scheduleList struct {
	Schedules []core.Schedule `json:"schedules"`
	wire.PageInfo
}

// scheduleSpec makes the service's spec of the times of a schedule.
func scheduleSpec(t *wire.ScheduleTiming) core.ScheduleSpec {
	return core.ScheduleSpec{Cron: t.Cron, TimeZone: t.TimeZone, Jitter: t.Jitter.Duration(), StartAt: t.StartAt, EndAt: t.EndAt}
}

func (p schedulePart) createSchedule(c *call, req createScheduleRequest) (answer, error) {
	spec := scheduleSpec(&req.ScheduleTiming)
	spec.Name, spec.Overlap, spec.CatchUp, spec.CatchUpLimit, spec.Paused = req.Name, req.Overlap, req.CatchUp, req.CatchUpLimit, req.Paused
	var err error
	if spec.Target, spec.Env, err = req.Target.target(c); err != nil {
		return answer{}, err
	}
	found, err := p.service.CreateSchedule(c.detached(), spec)
	if err != nil {
		return answer{}, err
	}
	return scheduleCreated(found), nil
}

func scheduleCreated(found *core.Schedule) answer { return created(schedulePath(found.ID), found) }

func (p schedulePart) previewSchedule(c *call, req previewScheduleRequest) (answer, error) {
	req.Count = cmp.Or(req.Count, defaultTicks)
	return shown(p.service.PreviewTicks(c.ctx, scheduleSpec(&req.ScheduleTiming), req.Count))
}

func (p schedulePart) listSchedules(c *call) (answer, error) {
	filter := core.ScheduleFilter{Status: core.ScheduleStatus(c.query.text("status")), CreatedBy: c.query.text("createdBy")}
	schedules := listOf(c, func(s *core.Schedule) string { return s.ID }, func(page core.Page) ([]*core.Schedule, core.PageInfo, error) {
		filter.Page = page
		return p.service.FindSchedules(c.ctx, filter)
	})
	return listed(c, schedules.page, valueOf, func(rows []core.Schedule, info wire.PageInfo) any { return scheduleList{rows, info} })
}

func (p schedulePart) getSchedule(c *call) (answer, error) {
	return scheduleAnswer(p.service.FindSchedule(c.ctx, c.param("scheduleId")))
}

// scheduleAnswer renders what a service method returned.
func scheduleAnswer(found *core.Schedule, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a := ok(found)
	edited := *found
	edited.StatusReason, edited.NextAt, edited.Running, edited.Queued = "", nil, nil, 0
	edited.LastRun, edited.Counts, edited.Runs = nil, wire.ScheduleCounts{}, nil
	if edited.Status != wire.SchedulePaused { // the others come by themselves
		edited.Status = wire.ScheduleActive
	}
	a.edited = edited
	return a, nil
}

func (p schedulePart) updateSchedule(c *call, req updateScheduleRequest) (answer, error) {
	patch := core.SchedulePatch{
		Name: req.Name, Cron: req.Cron, TimeZone: req.TimeZone, Overlap: req.Overlap, CatchUp: req.CatchUp, CatchUpLimit: req.CatchUpLimit,
	}
	if req.Jitter != nil {
		patch.Jitter = new(time.Duration(*req.Jitter) * time.Millisecond)
	}
	null := nullFields(c.body)
	if req.StartAt != nil || null["startAt"] {
		patch.StartAt = &req.StartAt
	}
	if req.EndAt != nil || null["endAt"] {
		patch.EndAt = &req.EndAt
	}
	if req.Target != nil {
		target, env, err := req.Target.target(c)
		if err != nil {
			return answer{}, err
		}
		patch.Target, patch.Env = &target, env
	}
	done, err := c.unchanged(func() (answer, error) { return p.getSchedule(c) })
	if err != nil {
		return answer{}, err
	}
	defer done()
	return scheduleAnswer(p.service.UpdateSchedule(c.detached(), c.param("scheduleId"), patch))
}

func (p schedulePart) pauseSchedule(c *call, req wire.CancelRequest) (answer, error) {
	return scheduleAnswer(p.service.PauseSchedule(c.detached(), c.param("scheduleId"), req.Reason))
}

func (p schedulePart) resumeSchedule(c *call, _ emptyRequest) (answer, error) {
	return scheduleAnswer(p.service.ResumeSchedule(c.detached(), c.param("scheduleId")))
}

func (p schedulePart) runSchedule(c *call, _ emptyRequest) (answer, error) {
	ref, err := p.service.RunSchedule(c.detached(), c.param("scheduleId"))
	if err != nil {
		return answer{}, err
	}
	return runAccepted(ref), nil
}

// recoverRun answers a repeated run whose first answer was never given.
func (p schedulePart) recoverRun(c *call, id string) (answer, error) {
	if !core.ValidID(core.PrefixThread, id) {
		return runAccepted(core.RunRef{ExecutionID: id}), nil
	}
	t, err := c.s.opts.Threads.FindThread(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	return runAccepted(core.RunRef{ExecutionID: t.ExecutionID, ThreadID: id}), nil
}

func (p schedulePart) scheduleTicks(c *call) (answer, error) {
	return shown(p.service.NextTicks(c.ctx, c.param("scheduleId"), int(c.query.integer("limit"))))
}
