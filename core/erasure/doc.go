// Package erasure exports and erases what is stored of a subject: the person or program that made it, or whom the metadata
// key subject names.
//
// It owns the order in which things go, the record of an erasure, by which it goes on after a crash, and the form of
// exports. It does not own how one thing is removed, which is the matter of its service or of core/store, nor the form of
// audit records, which core/audit redacts. core/api asks it, and appliance opens and closes it.
//
// What is to go is marked in the store before it goes, so that what refers to it (events, deliveries, answers to
// requests, audit records) is found afterwards, over restarts too. Each step finds what is left by itself, so that doing it
// again does no harm.
package erasure
