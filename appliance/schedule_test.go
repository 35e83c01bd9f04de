package appliance_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// nightly asks for a schedule of a pattern that is not due while the test runs.
func nightly(name, pattern string) client.ScheduleSpec {
	return client.ScheduleSpec{
		ScheduleSpec: wire.ScheduleSpec{Name: name, ScheduleTiming: client.ScheduleTiming{Cron: "0 0 29 2 *", TimeZone: "Europe/Berlin"}},
		Target:       client.Target{Execution: &client.ExecutionTarget{Pattern: pattern, Input: []byte(`{"text":"x"}`)}},
	}
}

// What a schedule starts is an execution like any other, with the rights of whoever the schedule belongs to, for as long
// as they have them; an allow-list of the pattern is one of schedules as well.
func TestSchedulesEndToEnd(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo, Name: "echo"})
	s.wants(err, 0)
	_, err = admin.CreatePattern(ctx, client.PatternInput{Definition: strings.Replace(echo, "agents:", "security: {allowedUsers: [ann]}\nagents:", 1), Name: "guarded"})
	s.wants(err, 0)
	ann, ofAnn := s.key("ann", "execute")
	ben, _ := s.key("ben", "execute")
	reader, _ := s.key("reader", "read")

	_, err = reader.CreateSchedule(ctx, nightly("n", "echo"))
	s.wants(err, 403)
	_, err = ben.CreateSchedule(ctx, nightly("n", "guarded"))
	s.wants(err, 403)
	unknown := nightly("n", "nowhere")
	_, err = ben.CreateSchedule(ctx, unknown)
	s.wants(err, 400)
	if !strings.HasSuffix(err.Error(), "there is no pattern nowhere") {
		t.Error(err)
	}
	unknown.Target.Execution.Version = "9.x"
	_, err = ben.CreateSchedule(ctx, unknown)
	s.wants(err, 400)
	if !strings.HasSuffix(err.Error(), "there is no pattern nowhere of the version 9.x") {
		t.Error(err)
	}
	own, err := ann.CreateSchedule(ctx, nightly("guarded", "guarded"))
	s.wants(err, 0)
	if own.RunsAs != "ann" || own.Status != wire.ScheduleActive || own.NextAt == nil {
		t.Errorf("%+v", own)
	}
	// It is not there for those whom the pattern is not open to.
	_, err = ben.GetSchedule(ctx, own.ID)
	s.wants(err, 404)
	_, err = ben.RunSchedule(ctx, own.ID, "")
	s.wants(err, 404)
	s.wants(ben.DeleteSchedule(ctx, own.ID), 404)
	list, err := ben.ListSchedules(ctx, client.ScheduleFilter{})
	s.wants(err, 0)
	if len(list.Schedules) != 0 {
		t.Errorf("%+v", list.Schedules)
	}
	_, err = reader.PauseSchedule(ctx, own.ID, "")
	s.wants(err, 403)

	run, err := ann.RunSchedule(ctx, own.ID, "once")
	s.wants(err, 0)
	again, err := ann.RunSchedule(ctx, own.ID, "once")
	s.wants(err, 0)
	if again.ExecutionID != run.ExecutionID {
		t.Errorf("%+v, then %+v", run, again)
	}
	e, err := ann.GetExecution(ctx, run.ExecutionID)
	s.wants(err, 0)
	if e.CreatedBy != "ann" || e.Options.Metadata["scheduleId"] != own.ID || e.Pattern.Name != "guarded" {
		t.Errorf("%+v", e)
	}
	got, err := ann.GetSchedule(ctx, own.ID)
	s.wants(err, 0)
	if got.Counts.Started != 1 || len(got.Running) != 1 || len(got.Runs) != 1 {
		t.Errorf("%+v", got)
	}
	_, err = ann.CancelExecution(ctx, run.ExecutionID, "")
	s.wants(err, 0)
	if got, err = ann.GetSchedule(ctx, own.ID); err != nil || len(got.Running) != 0 {
		t.Errorf("%+v, %v", got, err)
	}

	// Without her key nothing of hers is started any more; the admin takes the schedule over by changing it.
	s.wants(admin.RevokeKey(ctx, ofAnn.ID), 0)
	_, err = admin.RunSchedule(ctx, own.ID, "")
	s.wants(err, 401)
	mine, err := admin.UpdateSchedule(ctx, own.ID, client.SchedulePatch{Cron: new("0 0 1 1 *")})
	s.wants(err, 0)
	if mine.RunsAs != "admin" || mine.CreatedBy != "ann" {
		t.Errorf("%+v", mine)
	}
	_, err = admin.RunSchedule(ctx, own.ID, "")
	s.wants(err, 0)
	ticks, err := admin.NextTicks(ctx, own.ID, 2)
	s.wants(err, 0)
	if len(ticks.Ticks) != 2 || !strings.HasSuffix(ticks.Ticks[0].Local, "01-01T00:00:00+01:00") {
		t.Errorf("%+v", ticks)
	}
	s.wants(admin.DeleteSchedule(ctx, own.ID), 0)
	_, err = admin.GetSchedule(ctx, own.ID)
	s.wants(err, 404)
}

// A tick of the real clock starts a thread, and says so in the metadata.
func TestScheduleSpawnsThreads(t *testing.T) {
	s := openSecured(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	spec := nightly("thread", "")
	spec.Target = client.Target{Thread: &client.ThreadSpec{AgentType: "claude", Objective: "x"}}
	spec.Target.Thread.Preparation.Env = map[string]string{"KEY": "canary"}
	made, err := admin.CreateSchedule(ctx, spec)
	s.wants(err, 0)
	if strings.Contains(string(made.Raw()), "canary") || made.Target.Thread.Preparation.EnvNames[0] != "KEY" {
		t.Errorf("%s", made.Raw())
	}
	_, err = admin.RunSchedule(ctx, made.ID, "") // nothing runs agents here
	s.wants(err, 503)
	if strings.Contains(s.log.String(), "canary") {
		t.Error("the environment is in the log")
	}
}
