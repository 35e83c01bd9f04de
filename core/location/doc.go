// Package location finds what something lies in by its id alone: the execution of a task or a message, the thread of an input, the
// endpoint of a delivery, the subject of an event.
//
// It is a read model: it goes by the times that ids tell, the records and the log, and keeps nothing. core/api calls it, and
// appliance makes it.
package location
