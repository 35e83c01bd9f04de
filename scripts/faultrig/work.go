package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// taskInput is what every pattern of the rig takes and hands to its agents.
type taskInput struct {
	Text  string `json:"text"`
	Delay int    `json:"delay"` // milliseconds an agent takes
	Flaky bool   `json:"flaky"` // the first attempt of each task fails
}

func (in taskInput) raw() json.RawMessage {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err) // a struct of plain fields marshals
	}
	return raw
}

// digest is what every agent answers to an input: the same for the same input, whoever it is.
func digest(input json.RawMessage) string {
	sum := sha256.Sum256([]byte(proof.Canonical(input)))
	return hex.EncodeToString(sum[:12])
}

// answer is an agent's whole answer.
func answer(input json.RawMessage, name string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"digest":%q,"by":%q,"confidence":0.9}`, digest(input), name))
}

// workload is a pattern of the rig, with the result that its agents' answers must come to.
type workload struct {
	name   string
	source string
	flaky  bool // its inputs may ask for errors at the first attempt
	expect func(in taskInput) any
}

const declaredInput = `
input:
  text: {type: string, required: true}
  delay: {type: integer, required: true}
  flaky: {type: boolean, required: true}
`

// stepsPattern has several steps; an execution of it can be run again from the last one, "sign".
const stepsPattern = "rig-steps"

// allWorkloads are the patterns that every run begins with.
func allWorkloads() []workload {
	return append(slices.Clip(workloads), workload{name: chartPattern, source: chartSource, flaky: true, expect: expectChart})
}

// workloads are those that are flat.
var workloads = []workload{
	{
		name: "rig-vote", flaky: true,
		source: "name: rig-vote\nversion: 1.0.0" + declaredInput + `
agents: {capabilities: [work], min: 3, taskTimeout: 60000}
aggregation: {strategy: voting, method: majority, field: digest}
output: {digest: $vote.result}
`,
		expect: func(in taskInput) any { return map[string]any{"digest": digest(in.raw())} },
	},
	{
		name: "rig-race",
		source: "name: rig-race\nversion: 1.0.0" + declaredInput + `
agents: {capabilities: [work], min: 1, max: 3, taskTimeout: 60000}
execution: {strategy: race}
aggregation: {strategy: first}
output: {digest: $first.digest}
`,
		expect: func(in taskInput) any { return map[string]any{"digest": digest(in.raw())} },
	},
	{
		name: stepsPattern, flaky: true,
		source: "name: rig-steps\nversion: 1.0.0" + declaredInput + `
steps:
  - id: draft
    agents: {capabilities: [work], min: 2, taskTimeout: 60000}
    aggregation: {strategy: voting, field: digest}
  - id: review
    agents: {capabilities: [review], min: 1, taskTimeout: 60000}
    input: {text: $steps.draft.result, delay: $input.delay, flaky: $input.flaky}
    aggregation: {strategy: first}
  - id: sign
    agents: {capabilities: [work], min: 2, taskTimeout: 60000}
    execution: {strategy: sequential}
    input: {text: $steps.review.result.digest, delay: $input.delay, flaky: false}
    aggregation: {strategy: voting, field: digest}
output: {draft: $steps.draft.result, digest: $steps.sign.result}
`,
		expect: func(in taskInput) any {
			draft, signed := steps(in)
			return map[string]any{"draft": draft, "digest": signed}
		},
	},
	{
		name: "rig-composed",
		source: "name: rig-composed\nversion: 1.0.0" + declaredInput + `
steps:
  - id: inner
    pattern: rig-steps@^1.0
    input: {text: $input.text, delay: $input.delay, flaky: $input.flaky}
  - id: outer
    agents: {capabilities: [work], min: 2, max: 3, taskTimeout: 60000}
    execution: {minResults: 2}
    input: {text: $steps.inner.result.digest, delay: $input.delay, flaky: $input.flaky}
    aggregation: {strategy: voting, field: digest}
output: {digest: $steps.outer.result}
`,
		expect: func(in taskInput) any {
			_, signed := steps(in)
			return map[string]any{"digest": digest(taskInput{signed, in.Delay, in.Flaky}.raw())}
		},
	},
}

// steps computes what the steps of rig-steps come to.
func steps(in taskInput) (draft, signed string) {
	draft = digest(in.raw())
	review := digest(taskInput{draft, in.Delay, in.Flaky}.raw())
	return draft, digest(taskInput{review, in.Delay, false}.raw())
}

// madePrefix begins the names of the patterns that are made under load. They all work as rig-vote does.
const madePrefix = "rig-made-"

func madeSource(name string) string {
	return "name: " + name + "\nversion: 1.0.0" + declaredInput + `
agents: {capabilities: [work], min: 1, taskTimeout: 60000}
aggregation: {strategy: first}
output: {digest: $first.digest}
`
}

// expect is proof.Evidence.Expect.
func expect(pattern string, input json.RawMessage) json.RawMessage {
	var in taskInput
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	result := any(map[string]any{"digest": digest(in.raw())})
	for _, w := range allWorkloads() {
		if w.name == pattern {
			result = w.expect(in)
		}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil
	}
	return raw
}
