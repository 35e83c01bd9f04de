package main

import (
	"fmt"
	"strings"
)

// Org charts of the workflow part. The agents of the roles are crews of this process: one that answers at once, and
// one that holds its answers.
const (
	crewWork = "bench-work"
	crewHold = "bench-hold"
)

// chainChart has n assigns, one after the other, to agents that answer at once.
func chainChart(name string, n int) string {
	b := chartHead(name, "worker: {capabilities: [%s]}", crewWork)
	for i := range n {
		fmt.Fprintf(b, "    - {type: assign, role: worker, task: do %d}\n", i)
	}
	return b.String()
}

// fanChart has one parallel step with n assigns to agents of a crew.
func fanChart(name, crew string, n int) string {
	b := chartHead(name, "worker: {capabilities: [%s]}", crew)
	b.WriteString("    - type: parallel\n      steps:\n")
	for i := range n {
		fmt.Fprintf(b, "        - {type: assign, role: worker, task: do %d, timeout: 600000}\n", i)
	}
	return b.String()
}

// teamChart is a workflow as people write them: a plan, work by several engineers at the same time, a review, a
// condition. The engineers hold their answers.
func teamChart(name string) string {
	b := chartHead(name, `lead: {capabilities: [%s], singleton: true}
    engineer: {capabilities: [%s], reportsTo: lead, minInstances: 1, maxInstances: 3}
  routing:
    - {from: engineer, to: lead, messageTypes: [question]}`, crewWork, crewHold)
	b.WriteString(`    - {type: assign, role: lead, task: "Plan this: ${input.text}", output: plan}
    - type: parallel
      steps:
`)
	for i := range teamEngineers {
		fmt.Fprintf(b, "        - {type: assign, role: engineer, task: \"Do part %d of: ${plan}\", timeout: 600000}\n", i)
	}
	b.WriteString(`    - {type: review, reviewer: lead, subject: step_1_result, output: verdict}
    - type: condition
      check: verdict.approved
      then: {type: assign, role: lead, task: "Publish ${step_1_result}"}
`)
	return b.String()
}

// teamEngineers is how many tasks of a team are at work at the same time.
const teamEngineers = 3

func chartHead(name, roles string, capabilities ...any) *strings.Builder {
	b := new(strings.Builder)
	fmt.Fprintf(b, "name: %s\nversion: 1.0.0\nstructure:\n  name: crew\n  roles:\n    ", name)
	fmt.Fprintf(b, roles, capabilities...)
	b.WriteString("\nworkflow:\n  name: bench\n  input:\n    text: {type: string, default: nothing}\n  steps:\n")
	return b
}
