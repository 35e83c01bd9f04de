// Package engine runs executions and batches.
//
// It owns the life of an execution: admission, hand-out of tasks, answers, retries of tasks, deadlines,
// cancellation, the outcome, and the journal from which all of it is resumed after a restart. It does not
// know how tasks travel (core.TaskDispatcher), what definitions mean (core.Plan), or how bytes are stored
// (core.Store). core/api calls it through core.ExecutionService and core.BatchService; core/agents reports
// to it through core.TaskSink, core/roles through core.RoleSink; appliance opens and closes it.
//
// # How an execution moves
//
// Each active execution is a run: one goroutine that takes messages from its inbox (answers, lost agents,
// agents that became free, timers, cancel), folds all that wait into one change, writes that change in one
// store transaction, and only then acts on it: acknowledges answers, hands out tasks, wakes waiters. What
// the outside sees is therefore always durable, and a burst of answers costs one transaction.
//
// What a run is made of is its body: a flat pattern (flat), one step after the other at several agents each, or an
// org chart (chartRun). The run itself knows admission, the deadline, the change, and the end.
//
// # Org charts
//
// core/orgchart says which step comes next; chartRun journals what it says, binds agents to roles before the first
// step, all roles or none, and hands each step at an agent (a leaf) to an idle instance of its role. An instance is
// one slot of a connected agent, or an agent that core.RoleSpawner spawned; it is held until the execution ends.
// Messages between roles and questions to people go through the same inbox and the same change.
//
// # Journal
//
// The journal of an execution is its events in the store's log. task.assigned, task.completed, task.failed
// and step.completed are enough to rebuild a run: outcomes are pure functions of the answers in their
// order. A step journaled as finished is not run again, an answer journaled is not asked for again. An org chart
// has step.started, role.bound and role.released besides, and the events of messages and questions.
//
// # Fencing
//
// Each hand-out of a task to another agent raises its attempt. A report counts when it comes from the
// agent that holds the task, with the attempt it was given; any other is journaled as task.late, settled
// and ignored.
package engine
