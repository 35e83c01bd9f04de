package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var schedules = &table[core.ScheduleRecord]{prefix: "sc/", kind: "schedule", idPrefix: core.PrefixSchedule}

// PutSchedule implements core.ScheduleTx.
func (t *tx) PutSchedule(s *core.ScheduleRecord) error { return schedules.save(t, s.ID, s) }

// FindScheduleRecord implements core.ScheduleTx.
func (t *tx) FindScheduleRecord(id string) (*core.ScheduleRecord, error) {
	return schedules.find(t, id)
}

// DeleteSchedule implements core.ScheduleTx.
func (t *tx) DeleteSchedule(id string) error { return schedules.drop(t, id) }

// AllSchedules implements core.ScheduleReader.
func (s *Store) AllSchedules(ctx context.Context) ([]*core.ScheduleRecord, error) {
	return schedules.all(ctx, s)
}
