package api

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/core"
)

// maxServerLog is more than is kept.
const maxServerLog = 10_000

// serverLogRoutes are there when the service keeps its log.
func (s *Server) serverLogRoutes() []Route {
	if s.opts.ServerLog == nil {
		return nil
	}
	return []Route{{
		Method: http.MethodGet, Path: "/api/admin/log", OperationID: "getServerLog", Tag: "log",
		Action: "logs.read", Resource: "logs", Scope: core.ScopeAdmin,
		Summary: "Read the last lines of the server's own log, or follow them as server-sent events.",
		Description: "Lines are those that log.level lets through, as they were written, with masked values masked. The last 1 MiB of this process is kept in memory; " +
			"what a process before it wrote is where its standard error went.",
		Query: []Param{
			{Name: "level", Type: ParamString, Default: "trace", Enum: core.LogLevels, Doc: "At least so severe."},
			{Name: "text", Type: ParamString, MaxBytes: 256, Doc: "Lines that have this in them, whatever the case."},
			{Name: "since", Type: ParamTime, Doc: "Lines after this time."},
			{Name: "tail", Type: ParamInteger, Default: "200", Min: 1, Max: maxServerLog, Doc: "Only so many last lines."},
			{Name: "follow", Type: ParamBoolean, Default: "false",
				Doc: "Events log, one for each line, until the service ends. How many lines a slow reader missed is in lost."},
		},
		Responses: []Response{
			{Status: 200, Body: serverLogList{}, Doc: "Lines, oldest first."},
			{Status: 200, Body: "", ContentType: "text/event-stream", Doc: "With follow=true: events."},
		},
		Stream: s.serverLog,
	}}
}

type serverLogList struct {
	Logs []core.ServerLogLine `json:"logs"`
	Tail int                  `json:"tail"`
}

// serverLog answers with lines, or follows them.
func (s *Server) serverLog(c *call) error {
	f := core.ServerLogFilter{
		Level: c.query.text("level"), Text: c.query.text("text"), Since: c.query.time("since"), Tail: int(c.query.integer("tail")),
	}
	if !c.query.boolean("follow") {
		lines, err := s.opts.ServerLog.FindServerLog(c.ctx, f)
		if err != nil {
			return err
		}
		c.respond(ok(serverLogList{Logs: lines, Tail: f.Tail}))
		return nil
	}
	return followLines(s, c, func(ctx context.Context, visit func(core.ServerLogLine) error) error {
		return s.opts.ServerLog.FollowServerLog(ctx, f, visit)
	})
}
