package policy

import (
	"context"
	"runtime"
	"sync"
)

// Decisions of rules that operators wrote that are made at once, of one caller and of all. A decision may build large values, and more of
// them than there are processors come to an end no sooner.
var (
	turnsOfOne = max(4, runtime.GOMAXPROCS(0))
	turnsOfAll = 4 * turnsOfOne
)

// turns bounds how many decisions are made at once. Those of one caller wait for each other, so that others get theirs meanwhile. It keeps
// nothing of callers that neither have a turn nor wait for one. The zero value is ready. It is safe for concurrent use.
type turns struct {
	mu  sync.Mutex // guards of, and all until it is made
	of  map[string]*callerTurns
	all chan struct{} // holds one for each turn that is taken; enter makes it
}

// callerTurns are those of one caller.
type callerTurns struct {
	taken chan struct{} // holds one for each
	users int           // that have a turn or wait for one; the mutex of turns guards it
}

// take waits for a turn of a caller, and returns what gives it back, which is called once; the error of ctx if that ends before.
func (t *turns) take(ctx context.Context, caller string) (release func(), err error) {
	own := t.enter(caller)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		t.leave(caller, own)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-own.taken
		t.leave(caller, own)
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-own.taken
		t.leave(caller, own)
	}, nil
}

func (t *turns) enter(caller string) *callerTurns {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of, t.all = map[string]*callerTurns{}, make(chan struct{}, turnsOfAll)
	}
	own := t.of[caller]
	if own == nil {
		own = &callerTurns{taken: make(chan struct{}, turnsOfOne)}
		t.of[caller] = own
	}
	own.users++
	return own
}

func (t *turns) leave(caller string, own *callerTurns) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, caller)
	}
}
