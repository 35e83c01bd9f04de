package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// longFeed has a log whose pages each take their time.
type longFeed struct {
	fakeFeed
	page func() // called for each
}

func (f *longFeed) Log(_ context.Context, after uint64, _ int) ([]core.Event, bool, error) {
	f.page()
	return []core.Event{{Seq: after + 1, Type: core.EventPatternCreated, Subject: "patterns:a"}}, true, nil
}

// A reader of a long log that has nothing for it gets its heartbeats, and does not hold up the end of the server.
func TestFeedReplayOfALongLog(t *testing.T) {
	const heartbeat = 15 * time.Second
	pages := 0
	feed := &longFeed{}
	r := newRig(t, func(o *api.Options) { o.Feed, o.Config.Heartbeat = feed, heartbeat })
	r.journal.events = []core.Event{{Seq: 10}}

	feed.page = func() {
		pages++
		r.clock.Advance(heartbeat / 2)
	}
	text := r.do("GET", "/api/events?topics=executions&lastEventId=1", "").text
	if beats := strings.Count(text, ": heartbeat"); pages != 9 || beats < 3 || !strings.Contains(text, "event: replayed") {
		t.Errorf("%d heartbeats in %d pages: %q", beats, pages, text)
	}

	pages = 0
	feed.page = func() {
		if pages++; pages == 2 {
			r.server.Drain()
		}
	}
	text = r.do("GET", "/api/events?topics=executions&lastEventId=1", "").text
	if pages != 2 || !strings.Contains(text, "the server ends this stream") {
		t.Errorf("%d pages were read: %q", pages, text)
	}
}

// A replay that takes longer than streams get old goes on to its end: the reader has no id before that from which to go on.
func TestFeedReplayOlderThanAge(t *testing.T) {
	feed := &longFeed{}
	r := newRig(t, func(o *api.Options) { o.Feed, o.Config.StreamMaxAge = feed, time.Minute })
	r.journal.events = []core.Event{{Seq: 10}}
	feed.page = func() { r.clock.Advance(time.Minute / 4) }
	text := r.do("GET", "/api/events?topics=executions&lastEventId=1", "").text
	if !strings.Contains(text, "event: replayed") {
		t.Errorf("%q", text)
	}
}
