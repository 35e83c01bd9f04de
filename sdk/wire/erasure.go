package wire

import "time"

// ErasureStatus is where an erasure is.
type ErasureStatus string

// States of an erasure.
const (
	ErasureRunning   ErasureStatus = "running"
	ErasureCompleted ErasureStatus = "completed"
)

// DataCounts are numbers of things, by kind.
type DataCounts map[string]int

// DataRemainder describes what an erasure leaves, and what can be done about it.
type DataRemainder struct {
	Kind  string `json:"kind"`
	Count int    `json:"count" doc:"0: it is not counted."`
	Note  string `json:"note" doc:"Why it stays, and what to do."`
}

// Erasure takes what is stored of a subject out of the store.
type Erasure struct {
	ID          string          `json:"id" doc:"Empty in a dry run."`
	Status      ErasureStatus   `json:"status,omitempty" enum:"running,completed"`
	Pseudonym   string          `json:"pseudonym,omitempty" doc:"Random; it stands in the place of the subject where records stay. Nothing leads from it to the subject."`
	Step        string          `json:"step,omitempty" doc:"What is being worked on."`
	Planned     DataCounts      `json:"planned" doc:"What there was of the subject at the start, by kind."`
	Active      DataCounts      `json:"active,omitempty" doc:"What ran at the start: it is cancelled if that was asked for, and refuses the erasure otherwise."`
	Done        DataCounts      `json:"done,omitempty" doc:"What was erased or changed so far, by kind."`
	Unreadable  DataCounts      `json:"unreadable,omitempty" doc:"Records that cannot be read, by kind: they stay as they are, and nothing tells whether they are of the subject. wardroom store check names them."`
	Remaining   []DataRemainder `json:"remaining,omitempty"`
	RequestedBy string          `json:"requestedBy,omitempty"`
	Waiting     string          `json:"waiting,omitempty" doc:"Why the present step does not get on; it is tried again."`
	CreatedAt   time.Time       `json:"createdAt,omitzero"`
	CompletedAt *time.Time      `json:"completedAt,omitempty"`
}

// ErasureRequest asks for an erasure.
type ErasureRequest struct {
	Subject string `json:"subject" check:"required,min=1,max=256" doc:"Id of who made the data, or the value of the metadata key subject."`
	DryRun  bool   `json:"dryRun,omitempty" doc:"Only tell what there is."`
	Confirm string `json:"confirm,omitempty" check:"max=256" doc:"The subject once more; required unless dryRun."`
	Cancel  bool   `json:"cancel,omitempty" doc:"Cancel what runs of the subject; otherwise that refuses the erasure."`
}

// DataExportRequest asks for what is stored of a subject.
type DataExportRequest struct {
	Subject string `json:"subject" check:"required,min=1,max=256" doc:"Id of who made the data, or the value of the metadata key subject."`
}
