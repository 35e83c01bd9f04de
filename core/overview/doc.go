// Package overview reads what people look at first: the inbox, which is everything that waits for a person in one list, and
// the numbers of what goes on. It owns neither of what it shows nor any state: questions, threads, agents and counters are
// those of the store and of the other services, and answers are given to them. The API calls it; it is safe for
// concurrent use and starts nothing. A Counter computes the numbers for all who follow them, as they change.
package overview
