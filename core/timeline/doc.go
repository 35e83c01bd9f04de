// Package timeline tells what happened in an execution: its timeline, and what became of a task.
//
// It is a read model: it folds the events of an execution, which are in the log, and the threads of it, anew for each
// question. It writes nothing and decides nothing, and whoever runs executions does not know it: what the engine journals
// is all that both share. core/api calls it, and appliance makes it.
package timeline
