package cmd

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wardroom/wardroom/sdk/wire"
)

// eventPage is a page of events of a managed agent or a thread, or several of them as one. Rows are handed on as they
// came, so that scripts see the same whichever way they read the list.
type eventPage struct {
	Events []json.RawMessage `json:"events"`
	wire.EventPage
	NextBefore uint64 `json:"nextBefore,omitempty"`
}

var errPageAgain = errors.New("the server's list does not go on: a page leads to itself")

// allEvents reads all pages of what happened after a sequence.
func allEvents(since uint64, ask func(since uint64) (answered, error)) (eventPage, error) {
	all := eventPage{Events: []json.RawMessage{}, EventPage: wire.EventPage{HasMore: true, NextSince: since}}
	for all.HasMore {
		page, err := readEvents(ask(all.NextSince))
		if err == nil && page.HasMore && page.NextSince <= all.NextSince {
			err = errPageAgain
		}
		if err != nil {
			return all, err
		}
		all.Events = append(all.Events, page.Events...)
		all.EventPage = page.EventPage
	}
	return all, nil
}

// lastEvents reads the last n events, oldest first: a page of the newest ones, and those before it.
func lastEvents(n int, ask func(before uint64, limit int) (answered, error)) (eventPage, error) {
	last, err := readEvents(ask(0, min(n, allLimit)))
	for err == nil && last.HasMore && len(last.Events) < n {
		var older eventPage
		if older, err = readEvents(ask(last.NextBefore, min(n-len(last.Events), allLimit))); err != nil {
			break
		}
		if older.HasMore && older.NextBefore >= last.NextBefore {
			return last, errPageAgain
		}
		last.Events = append(older.Events, last.Events...)
		last.HasMore, last.NextBefore = older.HasMore, older.NextBefore
	}
	return last, err
}

func readEvents(answer answered, err error) (eventPage, error) {
	var page eventPage
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(answer.Raw(), &page); err != nil {
		return page, fmt.Errorf("the server's list is not what it should be: %w", err)
	}
	return page, nil
}

// into decodes the events as one answer of the API into list, and returns the answer.
func (p eventPage) into(list any) (json.RawMessage, error) {
	body, err := document(p)
	if err == nil {
		err = json.Unmarshal(body, list)
	}
	return body, err
}
