package wire

import "time"

// Overview is what goes on in a server, in numbers.
type Overview struct {
	OverviewCounts
	Ranges  []OverviewRange `json:"ranges" doc:"Sums of the last hour, 24 hours, 7 days and 30 days."`
	Minutes []OverviewSpan  `json:"minutes" doc:"Of the last 24 hours, oldest first, without those in which nothing happened."`
	Hours   []OverviewSpan  `json:"hours" doc:"Of the last 30 days, likewise."`
}

// OverviewCounts counts what there is in a server by state.
type OverviewCounts struct {
	At         time.Time       `json:"at"`
	Partial    bool            `json:"partial,omitempty" doc:"The numbers are of what the caller may read, of the latest 2,000 of each at most; deliveries, ranges, minutes and hours are left out."`
	Executions map[string]int  `json:"executions" doc:"Stored ones by status."`
	Batches    map[string]int  `json:"batches" doc:"Stored ones by status."`
	Threads    map[string]int  `json:"threads" doc:"Stored ones by status."`
	Agents     OverviewAgents  `json:"agents" doc:"Connected agents."`
	Managed    map[string]int  `json:"managedAgents" doc:"Those that are known by status; blocked and login_required, which are no statuses, count besides."`
	Waiting    OverviewWaiting `json:"waiting"`
}

// OverviewAgents counts connected agents.
type OverviewAgents struct {
	Connected int `json:"connected"`
	Healthy   int `json:"healthy"`
}

// OverviewWaiting counts what waits.
type OverviewWaiting struct {
	People     int `json:"people" doc:"Open questions of executions, and blocked threads and managed agents that are not theirs: what the inbox has."`
	Deliveries int `json:"deliveries" doc:"Of webhooks, for their first or next attempt."`
	Queue      int `json:"queue" doc:"Executions that are pending."`
}

// OverviewRange sums up what happened to executions up to now.
type OverviewRange struct {
	Range string `json:"range" enum:"1h,24h,7d,30d"`
	OverviewSpan
}

// OverviewSpan counts what happened to executions in a minute or an hour.
type OverviewSpan struct {
	At        time.Time `json:"at" doc:"When it began."`
	Started   int       `json:"started"`
	Completed int       `json:"completed"`
	Failed    int       `json:"failed"`
	Cancelled int       `json:"cancelled"`
	P50       *int64    `json:"p50Ms,omitempty" doc:"The median duration of those that completed, in milliseconds, right to 6 %. Absent: none did. Ad-hoc executions do not count."`
	P95       *int64    `json:"p95Ms,omitempty" doc:"The 95th percentile, likewise."`
}
