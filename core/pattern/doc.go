// Package pattern owns definitions: it parses and checks them, keeps their versions, validates inputs, folds
// the agents' answers into an outcome and evaluates output expressions.
//
// It does not run anything, knows no agents and does no HTTP. core/api calls the Service for the pattern
// endpoints; core/engine calls Service.Resolve and Service.Plan and then the Plan, whose methods are pure,
// so that a restarted execution comes to the same outcome from its journal. docs/patterns.md describes the
// language to the people who write definitions; what is said there is what is tested here.
package pattern
