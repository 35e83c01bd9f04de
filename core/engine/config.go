package engine

import "time"

// Config holds the engine's limits. All of it may change while the engine runs.
type Config struct {
	MaxActive           int           // executions that run at once
	MaxActivePerPattern int           // of one pattern; 0: no limit but the pattern's own
	MaxActivePerOwner   int           // executions of one caller with a credential that wait or run; 0: no limit
	MaxQueued           int           // executions that wait for a slot or agents; more are refused
	MaxQueuedBytes      int64         // bytes of input that active executions hold in memory
	DefaultTimeout      time.Duration // of an execution whose request and pattern name none
	MaxTimeout          time.Duration // longest that options.timeout may ask for
	TaskTimeout         time.Duration // of a task whose pattern names none
	TaskRetries         int           // how often a task may be handed out again
	MaxBatchInputs      int
	PriorityAging       time.Duration // waiting this long counts as one priority level
	RoleBinding         RoleBinding   // which agents serve the roles of org charts; "" is BindAuto
	QuestionTimeout     time.Duration // how long people have to answer a question
	SanitizeHTML        bool          // tags are taken out of the texts of inputs
	RequireConsent      bool          // metadata must say that those whom the data is of agree
	SanitizeScripts     bool          // what could run is taken out of the texts of inputs
}

// DefaultConfig returns the limits that decisions of the product settle.
func DefaultConfig() Config {
	return Config{
		MaxActive:      1000,
		MaxQueued:      10000,
		MaxQueuedBytes: 512 << 20,
		DefaultTimeout: 5 * time.Minute,
		MaxTimeout:     24 * time.Hour,
		TaskTimeout:    30 * time.Second,
		TaskRetries:    2,
		MaxBatchInputs: 1000,
		PriorityAging:  30 * time.Second,
		RoleBinding:    BindAuto,

		QuestionTimeout: 7 * 24 * time.Hour,
	}
}
