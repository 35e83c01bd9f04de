package pattern_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// results are those of the steps that the tables below refer to.
var results = map[string]string{
	"0":     `{"text":"a \"quoted\" text","n":1.50,"big":9007199254740993,"list":["x",{"y":null}],"a key":true}`,
	"1":     `["one",{"two":2}]`,
	"1.0":   `"one"`,
	"1.1":   `{"two":2}`,
	"=made": `"named"`,
	"3":     `{"approved":true,"verdict":"approve","confidence":0.9,"feedback":"fine","reviewer":"lead","agentId":"agent_1"}`,
}

const someSteps = `
  steps:
    - {type: assign, role: worker, task: t}
    - type: parallel
      steps: [{type: assign, role: worker, task: t}, {type: assign, role: worker, task: t}]
    - {type: assign, role: worker, task: t, output: made}
    - {type: review, reviewer: lead, subject: input}
`

// taskOf parses a chart whose last step has the task, and renders it.
func taskOf(tb testing.TB, task string) (string, error) {
	tb.Helper()
	c := mustChart(tb, chart(someSteps+"    - {type: assign, role: worker, task: "+fmt.Sprintf("%q", task)+"}\n"))
	steps := c.Chart().Steps
	return c.Task(steps[len(steps)-1], scopeOf(`{"task":"do it","flag":false,"nothing":null}`, results))
}

func TestTask(t *testing.T) {
	for task, want := range map[string]string{
		"plain":                             "plain",
		"${input.task}":                     "do it",
		"a ${input.task}, b":                "a do it, b",
		"${ input.task }":                   "do it",
		"${input.flag} ${input.nothing}":    "false null",
		"${step_0_result.text}":             `a "quoted" text`,
		"${step_0_result.n}":                "1.50",
		"${step_0_result.big}":              "9007199254740993",
		"${step_0_result.list}":             `["x",{"y":null}]`,
		"${step_0_result.list[1].y}":        "null",
		`${step_0_result["a key"]}`:         "true",
		"${step_0_result['a key']}":         "true",
		"${step_1_result}":                  `["one",{"two":2}]`,
		"${step_1_result[0]}":               "one",
		"${step_1_result[1].two}":           "2",
		"${step_1_0_result}":                "one",
		"${step_1_1_result.two}":            "2",
		"${made}${made}":                    "namednamed",
		"${step_3_result.verdict}":          "approve",
		"costs $5, $HOME, $$, a$":           "costs $5, $HOME, $$, a$",
		"$${input.task}":                    "${input.task}",
		"$$${input.task}":                   "$${input.task}",
		"{input.task} ${input.task}}":       "{input.task} do it}",
		"${context.executionId}":            "exec_1",
		"${context.patternName}":            "team",
		"${context.patternVersion}":         "1.0.0",
		"${context.startedAt}":              "2026-01-02T03:04:05.678Z",
		"${context}":                        `{"executionId":"exec_1","patternName":"team","patternVersion":"1.0.0","startedAt":"2026-01-02T03:04:05.678Z"}`,
		"line one\n${input.task}\nline é\n": "line one\ndo it\nline é\n",
		"input.task and step_0_result":      "input.task and step_0_result",
	} {
		got, err := taskOf(t, task)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", task, got, err, want)
		}
	}
}

// TestSubject: a variable keeps its type, text with variables is text, and maps and lists keep their shape.
func TestSubject(t *testing.T) {
	for subject, want := range map[string]string{
		"input.task":                             `"do it"`,
		"${input.task}":                          `"do it"`,
		"' ${input.task} '":                      `" do it "`,
		"${step_0_result.n}":                     `1.50`,
		"step_1_result":                          `["one",{"two":2}]`,
		"made":                                   `"named"`,
		"'the ${made}'":                          `"the named"`,
		"{a: made, b: '${step_1_result[1]}'}":    `{"a":"named","b":{"two":2}}`,
		"{a: some words, b: 5, c: null, d: [1]}": `{"a":"some words","b":5,"c":null,"d":[1]}`,
		"{a: name, b: '$${x}', c: unknown.path}": `{"a":"name","b":"${x}","c":"unknown.path"}`,
		"[input.flag, '${input.flag}!']":         `[false,"false!"]`,
	} {
		c := mustChart(t, chart(someSteps+"    - type: approve\n      approver: lead\n      subject: "+subject+"\n"))
		steps := c.Chart().Steps
		got, err := c.Subject(steps[len(steps)-1], scopeOf(`{"task":"do it","flag":false}`, results))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", subject, got, err, want)
		}
	}
}

func TestChartOutput(t *testing.T) {
	for output, want := range map[string]string{
		"":                                    results["3"],
		"  output: made\n":                    `"named"`,
		"  output: ${step_0_result.n}\n":      `1.50`,
		"  output: input\n":                   `{"task":"do it"}`,
		"  output: {a: '${made}', b: done}\n": `{"a":"named","b":"done"}`,
		"  output: [step_1_0_result, 5]\n":    `["one",5]`,
		"  output: it is ${made}\n":           `"it is named"`,
	} {
		got, err := mustChart(t, chart(someSteps+output)).Output(scopeOf(`{"task":"do it"}`, results))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, want %s", output, got, err, want)
		}
	}
}

// TestNoValue: what has no value at run time is named with its step and its line.
func TestNoValue(t *testing.T) {
	source := chart(`
  steps:
    - type: condition
      check: input.mode == 'long'
      then: {type: assign, role: worker, task: t, output: made}
    - type: sequential
      steps:
        - type: assign
          role: worker
          task: |
            one
            two ${input.gone} and ${made}
        - {type: review, reviewer: lead, subject: {a: "${step_0_0_result}", b: "${step_1_0_result.part[3]}"}}
        - {type: aggregate, method: best, from: step_0_result}
    - {type: aggregate, method: best}
  output: {x: "${made}"}
`)
	c := mustChart(t, source)
	scope := scopeOf(`{}`, map[string]string{"0": "null", "1": "null", "1.0": `{"part":[]}`})
	top := c.Chart().Steps
	inner := top[1].Steps
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"check": {second(c.Check(top[0], scope)), "workflow: step 0, check: ${input.mode} has no value (line 11 of the definition)"},
		"task":  {second(c.Task(inner[0], scope)), "workflow: step 1.0, task: ${input.gone} has no value (line 19 of the definition) (and 1 more)"},
		"subject": {second(c.Subject(inner[1], scope)),
			"workflow: step 1.1, subject.a: ${step_0_0_result} has no value: step 0.0 did not run (line 20 of the definition) (and 1 more)"},
		"from":   {third(c.Aggregate(inner[2], scope)), "workflow: step 1.2, from: must be a list, not null (line 21 of the definition)"},
		"before": {third(c.Aggregate(top[2], scope)), "workflow: step 2, from: must be a list, not null (line 22 of the definition)"},
		"output": {second(c.Output(scope)), "workflow: output.x: ${made} has no value: the step whose output it is did not run (line 23 of the definition)"},
		"no results": {second(c.Output(core.ChartScope{})),
			"workflow: output.x: ${made} has no value: the step whose output it is did not run (line 23 of the definition)"},
	} {
		e := core.AsError(tc.err)
		if e == nil || e.Code != core.CodeValidation || e.Message != tc.want {
			t.Errorf("%s: %v\nwant %s", name, tc.err, tc.want)
		}
	}
	_, err := c.Subject(inner[1], scope)
	if problems := core.AsError(err).Details["errors"].([]core.Problem); len(problems) != 2 || problems[1].Line != 20 ||
		!strings.Contains(problems[1].Reason, "the result has no such part") {
		t.Errorf("problems %v", problems)
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// TestTaskAllocates: a step of a long workflow costs its text and little else.
func TestTaskAllocates(t *testing.T) {
	c := mustChart(t, chart(someSteps+"    - {type: assign, role: worker, task: 'do ${input.task} with ${step_0_result.n}'}\n"))
	steps := c.Chart().Steps
	scope := scopeOf(`{"task":"do it"}`, results)
	n := testing.AllocsPerRun(100, func() {
		if _, err := c.Task(steps[len(steps)-1], scope); err != nil {
			t.Error(err)
		}
	})
	if n > 12 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTask: a task that is accepted renders, and what is put in by no variable stands in it as it is.
func FuzzTask(f *testing.F) {
	for _, seed := range []string{"", "a", "${input.a}", "$${", "$$${x}", "${", "${}", "${step_0_result[0][\"a}\"].b}", "${input['}']}", "\n${made}\n", "é${input.é}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, task string) {
		plan, problems := pattern.Parse(chart(someSteps + "    - {type: assign, role: worker, task: " + fmt.Sprintf("%q", task) + "}\n"))
		if plan == nil {
			if len(problems) == 0 {
				t.Fatal("neither plan nor problems")
			}
			return
		}
		c := plan.OrgChart()
		steps := c.Chart().Steps
		got, err := c.Task(steps[len(steps)-1], scopeOf(`{}`, results))
		wantValidation(t, err)
		if err == nil && !strings.Contains(task, "${") && utf8.ValidString(task) && got != task {
			t.Errorf("%q becomes %q", task, got)
		}
	})
}

// A problem in a text that an alias brings is in the line of the alias: that of the text is another step's.
func TestLineOfAnAlias(t *testing.T) {
	source := chart("  steps:\n    - type: assign\n      role: worker\n      task: &t |\n        a\n        ${step_0_result}\n" +
		"    - type: assign\n      role: worker\n      task: *t\n    - {type: assign, role: worker, task: t}\n")
	_, problems := pattern.Parse(source)
	if len(problems) != 1 || problems[0].Path != "workflow.steps[0].task" || problems[0].Line != 13 {
		t.Errorf("problems %v", problems)
	}
	_, problems = pattern.Parse(strings.ReplaceAll(source, "step_0_result", "step_2_result"))
	if len(problems) != 2 || problems[0].Line != 13 || problems[1].Path != "workflow.steps[1].task" || problems[1].Line != 16 {
		t.Errorf("problems %v", problems)
	}
}
