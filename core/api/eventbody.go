package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// eventList is a page of an execution's journal.
type eventList struct {
	Events    []eventRow `json:"events"`
	Limit     int        `json:"limit"`
	HasMore   bool       `json:"hasMore"`
	NextSince uint64     `json:"nextSince" doc:"since of the next page."`
}

type eventRow struct {
	ExecutionID string          `json:"executionId"`
	Sequence    uint64          `json:"sequence" doc:"Rises over all executions; the id of the event in streams."`
	Type        core.EventType  `json:"type" example:"task.completed"`
	Timestamp   timestamp       `json:"timestamp"`
	Data        json.RawMessage `json:"data" doc:"Depends on the type."`
}

func newEventList(id string, found []core.Event, limit int) eventList {
	list := eventList{Limit: limit, HasMore: len(found) > limit}
	found = found[:min(limit, len(found))]
	list.Events = make([]eventRow, len(found))
	for i, e := range found {
		list.Events[i] = eventRow{
			ExecutionID: id, Sequence: e.Seq, Type: e.Type, Timestamp: timestamp(e.Time),
			Data: rawOr(e.Data, "{}"),
		}
		list.NextSince = e.Seq
	}
	return list
}
