package api

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxServerLog is more than is kept.
const maxServerLog = 10_000

// ServerLog makes the operations of the log of the server. It is content: what plugins write is in it, too.
func ServerLog(service core.ServerLogService) Part {
	return Part{"logs", resource{wire.AuditAdmin, true, ""}, serverLogPart{service}.routes()}
}

type serverLogPart struct{ service core.ServerLogService }

func (p serverLogPart) routes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/api/admin/log", OperationID: "getServerLog", Tag: "log",
		Action: "logs.read", Scope: core.ScopeAdmin,
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
		Stream: p.serverLog,
	}}
}

type serverLogList struct {
	Logs []core.ServerLogLine `json:"logs"`
	Tail int                  `json:"tail"`
}

// serverLog answers with lines, or follows them.
func (p serverLogPart) serverLog(c *call) error {
	f := core.ServerLogFilter{
		Level: c.query.text("level"), Text: c.query.text("text"), Since: c.query.time("since"), Tail: int(c.query.integer("tail")),
	}
	if !c.query.boolean("follow") {
		lines, err := p.service.FindServerLog(c.ctx, f)
		if err != nil {
			return err
		}
		c.respond(ok(serverLogList{Logs: lines, Tail: f.Tail}))
		return nil
	}
	return followLines(c.s, c, func(ctx context.Context, visit func(core.ServerLogLine) error) error {
		return p.service.FollowServerLog(ctx, f, visit)
	})
}
