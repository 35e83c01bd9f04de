package store

import "time"

// clockStep is a step of the clock forward by which no time passed.
type clockStep struct {
	From time.Time     `json:"from"` // what the clock said before
	By   time.Duration `json:"by"`
}
