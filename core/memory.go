package core

import "context"

// MemoryQuery describes the work of a thread that the memory is searched for.
type MemoryQuery struct {
	ExecutionID string
	Repo        string
	Role        string
	Objective   string
	Mask        Masker // masks fields of records, which are not found by masked fields either; nil: nothing is masked
}

// MemoryContext holds the decisions and experiences that a thread gets, within its bounds.
type MemoryContext struct {
	MemoryQuery
	Decisions   []*Decision
	Experiences []*Experience
	// File is the memory file for the workspace, ThreadMemoryPath.
	File ContextFile
}

// ThreadMemoryPath is where a workspace holds its thread's memory.
const ThreadMemoryPath = ".wardroom/thread-memory.md"

// MemoryService keeps decisions and experiences and finds those that matter. Methods are safe for concurrent use.
//
// It has many methods because what is kept in a transaction of others has to be reported after it, beside what people ask for.
type MemoryService interface {
	// AddDecision writes a decision by hand and returns it, or the one that said the same before, with a higher
	// Count. NOT_FOUND (execution, thread), VALIDATION_ERROR.
	AddDecision(ctx context.Context, d Decision) (*Decision, error)
	// FindDecisions lists decisions, newest first. NOT_FOUND for an unknown execution or thread.
	FindDecisions(ctx context.Context, filter DecisionFilter) ([]*Decision, PageInfo, error)
	// FindExperiences lists experiences, newest first; with a query the most relevant first, without a cursor.
	FindExperiences(ctx context.Context, filter ExperienceFilter) ([]*Experience, PageInfo, error)
	// FindExperience returns one. NOT_FOUND.
	FindExperience(ctx context.Context, id string) (*Experience, error)
	// Recall returns what a thread should know, ranked and bounded.
	Recall(ctx context.Context, q MemoryQuery) (*MemoryContext, error)
	// KeepDecision and KeepExperience write within the caller's transaction, which takes what says the same only
	// once. They give an empty ID its value; an experience of which nothing is kept has none afterwards.
	KeepDecision(tx Tx, d *Decision) error
	KeepExperience(tx Tx, e *Experience) error
	// Kept is called after a transaction with KeepExperience was committed: the experiences can be found from now
	// on. One that a crash kept from being told is found after the restart.
	Kept(list ...*Experience)
}

// MemoryReader reads stored decisions and experiences.
type MemoryReader interface {
	// FindDecisions lists decisions, newest first.
	FindDecisions(ctx context.Context, filter DecisionFilter) ([]*Decision, PageInfo, error)
	// FindDecision returns one. NOT_FOUND.
	FindDecision(ctx context.Context, id string) (*Decision, error)
	// FindExperiences lists experiences, newest first; the filter's Query is not looked at.
	FindExperiences(ctx context.Context, filter ExperienceFilter) ([]*Experience, PageInfo, error)
	// FindExperience returns one. NOT_FOUND.
	FindExperience(ctx context.Context, id string) (*Experience, error)
	// WalkExperiences calls fn with each experience whose id is > after, oldest first, until fn returns an error.
	WalkExperiences(ctx context.Context, after string, fn func(*Experience) error) error
}
