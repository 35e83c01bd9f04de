package engine

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
)

var (
	_ body = (*flat)(nil)
	_ body = (*chartRun)(nil)
)

// body is the work of a run: a flat pattern or an org chart. It belongs to the run's goroutine and is never called
// twice at once. Methods that take a change fold what they do into it; send, line and ended act after it is durable.
type body interface {
	progress
	taskHolder
	timekeeper
	agentHolder

	// other takes messages of kinds that not every body knows.
	other(m message, c *change)
	// closing adds to the change what goes with the end of the execution, before the event of the end.
	closing(c *change)
}

// progress is how far the work got, and what comes next.
type progress interface {
	// restore takes in what the journal says, before anything else is called. An error means that the journal
	// makes no sense.
	restore(events []core.Event) error
	// resume takes up the run after a restart: it tells agents what they have, and goes on, or ends what is over time.
	resume(c *change)
	// advance goes as far as it can without news from outside.
	advance(c *change)
}

// taskHolder has the tasks that are at agents.
type taskHolder interface {
	// report takes an agent's answer or error, if it still counts.
	report(rep core.TaskReport, c *change)
	// lost takes the news that an agent is gone; task, if not empty, is the one that it was to do.
	lost(agent, task string, c *change)
	// stepOf returns the path of the step of a task that is out at an agent.
	stepOf(agent, task string) (string, bool)
	// recall takes back every task that is still out; status is what its agent is listed with.
	recall(c *change, reason, status string)
	// keepAll adds to the run's results what the agents at work came to, answers or not.
	keepAll()
	// drop forgets what keepAll would add.
	drop()
}

// timekeeper has the times by which things are to be done.
type timekeeper interface {
	// overdue ends what ran out of its own time.
	overdue(c *change)
	// timeout ends the execution at its deadline.
	timeout(c *change)
	// frozen reports whether the deadline stands still.
	frozen() bool
	// nextDue returns the next instant at which overdue has something to do; zero: none.
	nextDue() time.Time
}

// agentHolder has the agents that are reserved for the run, and what is given to them.
type agentHolder interface {
	// requireAgents returns NO_AGENTS when there are fewer agents than it takes to begin, busy ones counted.
	requireAgents(ctx context.Context) error
	// line stands in line at the scheduler for what is lacking, or leaves the line.
	line()
	// grant takes what the scheduler reserved.
	grant(m message, c *change)
	// send hands out the change's tasks.
	send(c *change, now time.Time)
	// undo gives back what a first change took that could not be stored.
	undo(c *change)
	// ended frees what the run has at the engine and at agents, after the end.
	ended()
}

// Statuses that an agent is listed with.
const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusTimeout   = "timeout"
	statusLost      = "lost"
	statusCancelled = "cancelled"
	statusLate      = "late" // of a report, for metrics only
)
