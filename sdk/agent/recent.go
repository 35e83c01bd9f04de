package agent

// Bounds of what is remembered of settled tasks. A server asks again for a settled task only when it lost
// what it acknowledged or when frames crossed on a reconnect, so a short memory does.
const (
	recentTasks = 4096
	recentBytes = 4 << 20
)

// recentAnswers remembers the answers of the tasks that were acknowledged last. An id is known exactly as
// long as its answer is. Not safe for concurrent use.
type recentAnswers struct {
	byID  map[string]*answer
	order []*answer // ring, oldest at head
	head  int
	bytes int
}

// add remembers a, and forgets the oldest answers beyond the bounds.
func (r *recentAnswers) add(a *answer) {
	if r.byID == nil {
		r.byID = make(map[string]*answer)
	}
	if _, known := r.byID[a.taskID]; known {
		return // the first answer is the one the server has
	}
	r.byID[a.taskID] = a
	r.order = append(r.order, a)
	r.bytes += a.size()
	for len(r.order)-r.head > recentTasks || (r.bytes > recentBytes && len(r.order)-r.head > 1) {
		oldest := r.order[r.head]
		r.order[r.head] = nil
		r.head++
		r.bytes -= oldest.size()
		delete(r.byID, oldest.taskID)
	}
	if r.head > recentTasks { // move down once per recentTasks: constant cost per answer
		r.order = append(r.order[:0], r.order[r.head:]...)
		clear(r.order[len(r.order):cap(r.order)])
		r.head = 0
	}
}

// find returns the answer of a settled task, or nil.
func (r *recentAnswers) find(taskID string) *answer { return r.byID[taskID] }
