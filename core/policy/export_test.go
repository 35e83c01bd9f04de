package policy

// TurnsOfOne is how many decisions of one caller are made at once.
var TurnsOfOne = turnsOfOne

// Turns returns how many decisions are being made of a policy that an operator wrote.
func (e *Engine) Turns() int {
	e.turns.mu.Lock()
	defer e.turns.mu.Unlock()
	return len(e.turns.all)
}

// Callers returns of how many callers something is kept.
func (e *Engine) Callers() int {
	e.turns.mu.Lock()
	defer e.turns.mu.Unlock()
	return len(e.turns.of)
}
