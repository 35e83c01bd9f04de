package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// eventList is a page of an execution's journal.
type eventList struct {
	Events []wire.Event `json:"events"`
	wire.EventPage
}

func newEventList(id string, found []core.Event, page wire.EventPage) eventList {
	list := eventList{Events: make([]wire.Event, 0, len(found)), EventPage: page}
	for _, e := range found {
		list.Events = append(list.Events, wire.Event{
			ExecutionID: id, Sequence: e.Seq, Type: string(e.Type), Timestamp: e.Time, Data: rawOr(e.Data, "{}"), Principal: e.By,
		})
		list.NextSince = e.Seq
	}
	return list
}
