// Package journal keeps the events of a runtime: the newest of them, in order, across restarts, for readers
// that come and go.
//
// It owns the sequence, the file and what a slow reader gets. It does not know what an event means: the
// runtime of sdk/agentcli appends, its Events method reads.
//
// The file is JSON lines. A line with the key "event" holds one event, and with the
// key "mark" beside it how far its maker was; a line with the key "reserve" promises
// that no number up to its value is used again, whatever lines after it a crash of the machine swallowed, and has with the key
// "log" the id of the journal, which is another one once the file was lost. A torn last line is dropped.
package journal
