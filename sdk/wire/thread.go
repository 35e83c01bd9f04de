package wire

// ThreadDiff is what the files of a thread differ in from the commit that it began at.
type ThreadDiff struct {
	ThreadID string `json:"threadId"`
	WorkspaceDiff
}
