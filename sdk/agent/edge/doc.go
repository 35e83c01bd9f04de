// Package edge hosts managed threads at a site that the server cannot reach: it connects out to the server as an
// agent, and runs the threads with an agent runtime beside it.
//
// It owns the translation between the two: what the server asks of a thread becomes calls of the runtime, and what
// the runtime's agents do becomes events of the thread; and the directories that threads work in, with a clone of
// their repository. It does not own sessions, acknowledgements and what lasts over a restart (package agent does),
// nor how agents run (package runtime and its implementations do). The command `wardroom edge` is made of it.
//
// Agents outlive the process if the runtime keeps them: started anew with the same Options.Root, an Edge resumes its
// session, finds the agents again and goes on with the events after those it told. Directories of threads are never
// removed by it: they may hold work that was not pushed.
package edge
