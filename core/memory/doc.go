// Package memory keeps what threads leave for others: the decisions of an execution and the experiences of all.
//
// It owns what says the same, the full-text index of experiences, which of them matter to a thread that begins, the
// memory file that tells it so, and how long experiences are kept. The records lie in the store, and the index is
// derived from it: it is built anew when it is lost. It does not decide when something is worth keeping: core/threads,
// which calls KeepDecision, KeepExperience and Recall, does. core/api lists and takes decisions, and appliance opens and
// closes the service.
package memory
