// Package rules decides which prompts of agents are answered without people.
//
// It owns the checks of auto-answer rules, the order in which they count, and what each approval preset answers by
// itself. It does not answer: core/threads, which calls it, hands the decision to the agent. It is pure and keeps
// nothing but compiled rules, and looks at no file system: paths are compared as they are written.
package rules
