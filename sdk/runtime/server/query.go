package server

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxWait bounds the waiting that a caller asks for.
const maxWait = 24 * time.Hour

// listQuery selects agents of a list.
type listQuery struct {
	filter        runtime.ListFilter
	status        []string
	kind          string
	limit, offset int // limit -1: all
}

func parseList(q url.Values) (listQuery, error) {
	l := listQuery{filter: runtime.ListFilter{Installation: q.Get("installation")}, kind: q.Get("type"), limit: -1}
	for _, label := range q["label"] {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return l, badQuery("label", "must be NAME=VALUE")
		}
		if l.filter.Labels == nil {
			l.filter.Labels = map[string]string{}
		}
		l.filter.Labels[name] = value
	}
	for _, status := range q["status"] {
		switch s := runtime.Status(status); s {
		case runtime.StatusStarting, runtime.StatusReady, runtime.StatusBusy, runtime.StatusBlocked, runtime.StatusUnreachable, runtime.StatusError,
			runtime.StatusStopped:
			l.status = append(l.status, status)
		default:
			return l, badQuery("status", "must be starting, ready, busy, blocked, unreachable, error or stopped")
		}
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return l, badQuery("limit", "must be a number from 1")
		}
		l.limit = n
	}
	if text := q.Get("offset"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return l, badQuery("offset", "must be a number from 0")
		}
		l.offset = n
	}
	return l, nil
}

func badQuery(field, text string) *runtime.Error {
	return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: field, Message: text}
}

// flag reads a parameter that is true or false.
func flag(q url.Values, name string) (bool, error) {
	text := q.Get(name)
	if text == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, badQuery(name, "must be true or false")
	}
	return value, nil
}

// milliseconds checks a time that a caller gives in milliseconds.
func milliseconds(field string, ms int64) (time.Duration, error) {
	if ms < 0 || ms > maxWait.Milliseconds() {
		return 0, badQuery(field, "must be a number of milliseconds, at most a day")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// sequence reads the position of an event.
func sequence(q url.Values, name string) (uint64, bool, error) {
	text := q.Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, badQuery(name, "must be the seq of an event, or 0")
	}
	return n, true, nil
}
