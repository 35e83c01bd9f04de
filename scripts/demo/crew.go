package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/sdk/client"
)

// member is an agent that serves roles of org charts, by rules.
type member struct{ name, capabilities string }

var members = []member{
	{"ada", "architecture,planning,review"},
	{"tom", "coding,review"},
	{"eve", "coding"},
	{"kim", "coding"},
	{"quinn", "testing"},
}

// teamTask is what all teams are to do.
const teamTask = `{"task":"a command that counts the lines and words of a text and tells its longest line"}`

// namelessTask leaves open what only the customer knows.
const namelessTask = `{"task":"a command that counts words; the customer names it"}`

// The org charts. The last step of gated asks a person, over the kill; at that time split has finished a half of its
// parallel step. hasty is pair with less patience: a question that the navigator does not answer climbs to people.
const (
	gated = "enterprise-review"
	split = "startup-team"
	pair  = "pair-programming"
	hasty = "hasty-pair"
)

// answers are what people say, by the org chart that asks.
var answers = map[string]string{gated: "yes, our texts are short", hasty: "call it tally"}

// chart is an execution of a built-in org chart.
type chart struct {
	pattern, id string
	question    *client.Question // to people, or nil
	finished    map[string]bool  // steps that were finished before the kill
	exec        *client.Execution
	timeline    *client.Timeline // after the end
}

// teams runs the built-in org charts on agents that go by rules, through a kill -9 while some wait for people, one is in
// the middle of parallel work and one goes back and forth between two agents.
func (d *demo) teams(ctx context.Context) error {
	d.title("Teams: the built-in org charts, on five agents that go by rules instead of a model")
	if err := d.recruit(ctx); err != nil {
		return err
	}
	if err := d.hurry(ctx); err != nil {
		return err
	}
	if err := d.begin(ctx, gated, teamTask); err != nil {
		return err
	}
	if err := d.begin(ctx, hasty, namelessTask); err != nil {
		return err
	}
	for _, c := range d.charts {
		if err := d.openQuestion(ctx, c); err != nil {
			return err
		}
	}
	for _, pattern := range []string{pair, split} {
		if err := d.begin(ctx, pattern, teamTask); err != nil {
			return err
		}
	}
	if err := d.interrupt(ctx); err != nil {
		return err
	}
	if err := d.answer(ctx); err != nil {
		return err
	}
	for _, c := range d.charts {
		if err := d.finish(ctx, c); err != nil {
			return err
		}
	}
	d.say("")
	d.printCharts()
	d.say("")
	if err := d.wardroom(ctx, "execution", "timeline", d.charts[1].id); err != nil { // of hasty: there is most to see
		return err
	}
	return d.proveTeams()
}

// hurry stores a built-in org chart under another name, with a second of patience instead of two minutes.
func (d *demo) hurry(ctx context.Context) error {
	for _, source := range configs.Patterns() {
		if !strings.HasPrefix(source, "name: "+pair+"\n") {
			continue
		}
		changed := strings.NewReplacer("name: "+pair, "name: "+hasty, "timeoutMs: 120000", "timeoutMs: 1000").Replace(source)
		if err := os.WriteFile(d.path(hasty+".yaml"), []byte(changed), 0o644); err != nil {
			return err
		}
		return d.wardroom(ctx, "pattern", "put", d.path(hasty+".yaml"))
	}
	return fmt.Errorf("%s is not built in", pair)
}

// recruit starts the agents.
func (d *demo) recruit(ctx context.Context) error {
	for _, m := range members {
		if err := d.startAgent(m.name, "-method", "team", "-capability", m.capabilities, "-think", d.opts.teamThink.String()); err != nil {
			return err
		}
	}
	return d.waitAgents(ctx)
}

// begin starts an execution of a pattern.
func (d *demo) begin(ctx context.Context, pattern, input string) error {
	if err := d.wardroom(ctx, "run", pattern, "--async", "--input", input); err != nil {
		return err
	}
	list, err := d.server.Client.ListExecutions(ctx, client.ExecutionFilter{Pattern: pattern, Page: client.Page{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Executions) == 0 {
		return fmt.Errorf("the execution of %s is not listed", pattern)
	}
	d.charts = append(d.charts, &chart{pattern: pattern, id: list.Executions[0].ExecutionID})
	return nil
}

// interrupt waits until one half of the parallel work is finished, kills the server and starts it again. What was
// asked before must be asked after.
func (d *demo) interrupt(ctx context.Context) error {
	done := 0
	err := d.until(ctx, "a half of the parallel work is finished", func(ctx context.Context) (bool, error) {
		done = 0
		for _, c := range d.charts {
			t, err := d.server.Client.GetTimeline(ctx, c.id)
			if err != nil {
				return false, err
			}
			c.finished = finishedSteps(t)
			done += len(c.finished)
			if c.pattern == split && !c.finished["1.0"] && !c.finished["1.1"] {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	pid, err := d.kill()
	if err != nil {
		return err
	}
	d.say("\n-- kill -9 %d: %d tasks done, others at work, and people are asked", pid, done)
	if err := d.startServer(ctx); err != nil {
		return err
	}
	if err := d.waitAgents(ctx); err != nil {
		return err
	}
	for _, c := range d.charts {
		before := c.question
		if before == nil {
			continue
		}
		if err := d.openQuestion(ctx, c); err != nil {
			return err
		}
		if c.question.ID != before.ID {
			return fmt.Errorf("question %s was open before the kill, and %s is after it", before.ID, c.question.ID)
		}
	}
	return nil
}

// openQuestion waits for a question of an execution to people.
func (d *demo) openQuestion(ctx context.Context, c *chart) error {
	return d.until(ctx, c.pattern+" asks people", func(ctx context.Context) (bool, error) {
		list, err := d.server.Client.ListQuestions(ctx, client.QuestionFilter{ExecutionID: c.id, Status: client.QuestionOpen})
		if err != nil || len(list.Questions) == 0 {
			return false, err
		}
		c.question = &list.Questions[0]
		return true, nil
	})
}

// answer answers the questions as a person does, and checks that a second answer is too late.
func (d *demo) answer(ctx context.Context) error {
	if err := d.wardroom(ctx, "question", "list"); err != nil {
		return err
	}
	for _, c := range d.charts {
		q := c.question
		if q == nil {
			continue
		}
		if err := d.wardroom(ctx, "question", "answer", q.ID, answers[c.pattern]); err != nil {
			return err
		}
		_, err := d.server.Client.AnswerQuestion(ctx, q.ExecutionID, q.ID, json.RawMessage(`"no"`))
		if err == nil {
			return fmt.Errorf("question %s took a second answer", q.ID)
		}
		if refused := new(client.Error); !errors.As(err, &refused) || refused.Code != "CONFLICT" {
			return fmt.Errorf("a second answer to question %s: %w", q.ID, err)
		}
	}
	return nil
}

// finishedSteps are the paths of the steps with an agent that are finished.
func finishedSteps(t *client.Timeline) map[string]bool {
	steps := make(map[string]bool)
	for _, e := range t.Entries {
		leaf := e.Type == "assign" || e.Type == "review" || e.Type == "approve"
		if e.Kind == client.TimelineStep && e.Status == "completed" && leaf {
			steps[e.ID] = true
		}
	}
	return steps
}

// finish waits for the end of an execution.
func (d *demo) finish(ctx context.Context, c *chart) error {
	err := d.until(ctx, c.pattern+" ends", func(ctx context.Context) (_ bool, err error) {
		if c.exec, err = d.server.Client.GetExecution(ctx, c.id); err != nil {
			return false, err
		}
		return client.Terminal(c.exec.Status), nil
	})
	if err != nil {
		return err
	}
	if c.exec.Status != client.StatusCompleted {
		return fmt.Errorf("%s is %s: %s", c.pattern, c.exec.Status, c.exec.Body)
	}
	c.timeline, err = d.server.Client.GetTimeline(ctx, c.id)
	return err
}

// printCharts shows what the teams came to.
func (d *demo) printCharts() {
	t := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ORG CHART\tTOOK\tTASKS\tBEFORE THE KILL\tAPPROVED\tVERDICTS")
	for _, c := range d.charts {
		var result struct{ Approved bool }
		_ = json.Unmarshal(c.exec.Result, &result) // not approved, then
		var verdicts []string
		for _, a := range c.exec.Agents {
			var v struct{ Verdict string }
			if json.Unmarshal(a.Result, &v) == nil && v.Verdict != "" {
				verdicts = append(verdicts, v.Verdict)
			}
		}
		fmt.Fprintf(t, "%s\t%.1f s\t%d\t%d\t%t\t%s\n", c.pattern, c.timeline.Duration.Duration().Seconds(),
			len(finishedSteps(c.timeline)), len(c.finished), result.Approved, strings.Join(verdicts, ", "))
	}
	_ = t.Flush() // the demo's own output: an error would show in no other way
}

// proveTeams compares the agents' own records with what the server tells.
func (d *demo) proveTeams() error {
	var entries []entry
	for _, m := range members {
		f, err := os.Open(d.path("tasks-" + m.name + ".jsonl"))
		if err != nil {
			return err
		}
		read, err := readTaskLog(m.name, f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("task log of %s: %w", m.name, err)
		}
		entries = append(entries, read...)
	}
	l := audit(entries)
	finished := 0
	for _, c := range d.charts {
		steps := finishedSteps(c.timeline)
		finished += len(steps)
		l.problems = append(l.problems, stepProblems(c.id, steps, entries)...)
		for step := range c.finished {
			if !steps[step] {
				l.problems = append(l.problems, fmt.Sprintf("step %s of %s was finished before the kill, and is not any more", step, c.id))
			}
		}
	}
	d.say("\nsteps with an agent %d, tasks finished by agents %d, finished tasks done again %d", finished, l.finished, l.again)
	return l.verdict()
}

// stepProblems finds steps that the agents did not finish exactly once.
func stepProblems(id string, steps map[string]bool, entries []entry) (problems []string) {
	times := make(map[string]int)
	for _, e := range entries {
		if e.Kind == "finished" && e.Execution == id {
			times[e.Step]++
		}
	}
	for step := range steps {
		if n := times[step]; n != 1 {
			problems = append(problems, fmt.Sprintf("step %s of %s was finished %d times by agents", step, id, n))
		}
	}
	return problems
}
