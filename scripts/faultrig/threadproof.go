package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// threadEvent is a stored event of a thread.
type threadEvent struct {
	ThreadID string
	Sequence uint64
	Type     string
	Data     json.RawMessage
}

// countedEvents are the types that a thread counts, the terminal ones last.
var countedEvents = []string{
	"thread_started", "thread_ready", "thread_blocked", "thread_tool_running", "thread_turn_complete", "thread_idle",
	"thread_summary_updated", "thread_completed", "thread_failed", "thread_stopped",
}

// everyEvent is the filter that takes the others too.
var everyEvent = strings.Join(append(slices.Clip(countedEvents), "thread_output", "thread_status"), ",")

// lastEvents are the types of a thread's last event.
var lastEvents = countedEvents[len(countedEvents)-3:]

// prove judges a group. lossy tells that a host came back without its threads.
func (g *threadGroup) prove(ctx context.Context, c *caller, lossy bool) (problems []error) {
	status := "completed"
	var stored []threadFrame
	for _, t := range g.threads {
		record := g.records[t.id]
		if t.refused || record == nil {
			continue // of one that was not read, run has said why
		}
		if record.Status == "failed" {
			status = "failed"
		}
		events := g.events[t.id]
		for _, e := range events {
			stored = append(stored, threadFrame{sequence: e.Sequence, threadID: e.ThreadID})
		}
		ledger, err := readLedger(t.ledger) // one without a name is not there
		if err != nil {
			problems = append(problems, err)
		}
		own := t.judge(record, ledger, lossy, g.answers.tries)
		own = append(own, judgeEvents(record, events)...)
		own = append(own, t.judgeMemory(ctx, c, record)...)
		for _, err := range own {
			problems = append(problems, fmt.Errorf("thread %s (%s, to end by %s; %s %s): %w", t.id, t.kind, t.end, record.Status, record.StatusReason, err))
		}
	}
	if g.records == nil {
		return problems
	}
	seen, _, problem := g.stream.state()
	if problem != nil {
		problems = append(problems, problem)
	}
	problems = append(problems, judgeStream(stored, seen)...)
	var execution struct{ Status string }
	r, _, err := c.get(ctx, "/api/executions/"+g.stream.executionID, &execution)
	switch {
	case err != nil:
		problems = append(problems, err)
	case execution.Status != status:
		problems = append(problems, fmt.Errorf("the execution %s of threads that are over is to be %s, and is %.300s",
			g.stream.executionID, status, r.body))
	}
	return problems
}

// judge compares what the thread's agent got with what the sender was told, and its end with how it was to end.
// tries are the answers that may have been taken, by prompt.
func (t *thread) judge(r *threadRecord, ledger []string, lossy bool, tries map[string]int) (problems []error) {
	var texts []string
	came := map[string]int{} // answers that the host got, by prompt
	for _, line := range ledger {
		if t.kind != threadHosted {
			texts = append(texts, line)
			continue
		}
		switch kind, text, _ := strings.Cut(line, " "); kind {
		case doubled:
			if prompt, ok := strings.CutPrefix(text, answered+" "); ok {
				came[prompt]++
				continue
			}
			problems = append(problems, fmt.Errorf("doubled: %q was given to one and the same host twice", text))
		case answered:
			came[text]++
		default:
			texts = append(texts, text)
		}
	}
	for prompt, n := range came {
		if n > tries[prompt] {
			problems = append(problems, fmt.Errorf("doubled: the prompt %s was answered %d times, and its host got %d answers", prompt, tries[prompt], n))
		}
	}
	lost := r.Status == "failed" && r.StatusReason == "lost"
	if lost && (!lossy || t.kind != threadHosted) {
		problems = append(problems, fmt.Errorf("lost: its agent was never gone"))
	}
	want := map[threadEnd]string{endReport: "completed ", endExit: "failed crashed", endComplete: "completed ", endStop: "stopped requested"}[t.end]
	if got := r.Status + " " + r.StatusReason; got != want && !lost {
		problems = append(problems, fmt.Errorf("it ended as %s, want %s", got, want))
	}
	whole := !lost && (t.end == endReport || t.end == endExit)
	problems = append(problems, judgeWords(t.sent, texts, whole)...)
	if t.kind == threadRepo && r.Status == "completed" && (t.end == endReport || len(ledger) == 0) {
		commits := 0
		if t.end == endReport {
			commits = 1
		}
		never := t.end == endComplete && r.Completion != nil && r.Completion.Changes == nil // its checkout had not begun
		if !never && (r.Completion == nil || r.Completion.Changes == nil || r.Completion.Changes.CommitCount != commits || r.Completion.Changes.Uncommitted != 0) {
			problems = append(problems, fmt.Errorf("its finish was to make %d commits, and made %+v", commits, r.Completion))
		}
	}
	return problems
}

// judgeWords wants what the agent got to be the beginning of what was acknowledged, in order and once; with whole all
// of it.
func judgeWords(sent []message, ledger []string, whole bool) (problems []error) {
	sent = slices.Clone(sent)
	if !whole {
		// The thread ended before the rest. What follows a message that did not come must not have come either.
		missing := false
		for i, m := range sent {
			switch {
			case slices.Contains(ledger, m.text):
				if missing && m.fate == fateSent {
					problems = append(problems, fmt.Errorf("skipped: %q reached the agent, and one before it did not", m.text))
				}
			case m.fate == fateSent:
				missing, sent[i].fate = true, fateUnknown
			}
		}
	}
	return append(problems, judge(sent, ledger)...)
}

// judgeEvents wants the events of a thread that is over to be in sequence, each turn once, and nothing after the end.
func judgeEvents(r *threadRecord, events []threadEvent) (problems []error) {
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	last, counted, started, turns, failed := uint64(0), 0, 0, 0, 0
	said, asked := map[string]int{}, map[string]int{}
	for i, e := range events {
		if e.Sequence <= last || e.ThreadID != r.ID {
			fail("event %d of %s comes after event %d", e.Sequence, e.ThreadID, last)
		}
		last = e.Sequence
		if slices.Contains(countedEvents, e.Type) {
			counted++
		}
		if slices.Contains(lastEvents, e.Type) != (i == len(events)-1) {
			fail("event %d of %d is %s", i+1, len(events), e.Type)
		}
		var data struct {
			Turn   int
			Text   string
			Error  json.RawMessage
			Prompt struct{ ID string }
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			fail("event %d has the data %s: %w", e.Sequence, e.Data, err)
		}
		switch e.Type {
		case "thread_started":
			started++
		case "thread_blocked":
			if asked[data.Prompt.ID]++; asked[data.Prompt.ID] > 1 {
				fail("it was asked %q %d times", data.Prompt.ID, asked[data.Prompt.ID])
			}
		case "thread_turn_complete":
			if turns++; data.Turn != turns {
				fail("the turn %d is followed by %d", turns-1, data.Turn)
			}
			if data.Error != nil {
				failed++ // by the crash of its agent: it is no turn that was answered
			}
		case "thread_output":
			if said[data.Text]++; said[data.Text] > 1 {
				fail("%q was said %d times", data.Text, said[data.Text])
			}
		}
	}
	if counted != r.EventCount || turns-failed != r.TurnCount {
		fail("it counts %d events and %d turns, and has %d and %d", r.EventCount, r.TurnCount, counted, turns-failed)
	}
	if started > 1+r.Restarts || started == 0 && turns > 0 {
		fail("it was started %d times", started)
	}
	if len(events) == 0 || events[len(events)-1].Type != "thread_"+r.Status {
		fail("it is %s, and its last event does not say so", r.Status)
	}
	if r.QueuedInputs > 0 && r.Status != "failed" { // what a failed thread was asked stays with it
		fail("%d messages wait in a thread that is over", r.QueuedInputs)
	}
	return problems
}

// judgeStream wants the stream to have shown every stored event once, in order, and nothing else.
func judgeStream(stored, seen []threadFrame) (problems []error) {
	slices.SortFunc(stored, func(a, b threadFrame) int { return cmp.Compare(a.sequence, b.sequence) })
	if slices.Equal(stored, seen) {
		return nil
	}
	for i, f := range seen {
		if i > 0 && f.sequence <= seen[i-1].sequence {
			problems = append(problems, fmt.Errorf("stream: event %d came after %d", f.sequence, seen[i-1].sequence))
		}
		if !slices.Contains(stored, f) {
			problems = append(problems, fmt.Errorf("stream: event %d of %s is not stored", f.sequence, f.threadID))
		}
	}
	for _, f := range stored {
		if !slices.Contains(seen, f) {
			problems = append(problems, fmt.Errorf("stream: event %d of %s was not shown", f.sequence, f.threadID))
		}
	}
	return problems
}

// judgeMemory wants one decision and, but of a thread that was stopped before it did anything, one experience of the
// end. The experience must be found by its words.
func (t *thread) judgeMemory(ctx context.Context, c *caller, r *threadRecord) (problems []error) {
	type known struct {
		ThreadID string
		Count    int
	}
	var memory struct {
		Experiences []known
		Decisions   []known
	}
	want := 1
	if r.Status == "stopped" && r.TurnCount == 0 {
		want = 0
	}
	of := func(list []known) (times int) {
		for _, k := range list {
			if k.ThreadID == t.id {
				times += k.Count
			}
		}
		return times
	}
	for _, path := range []string{
		managedThreads + "/experiences?limit=100&executionId=" + t.executionID,
		managedThreads + "/" + t.id + "/shared-decisions?category=completion_outcome&limit=100",
	} {
		reply, found, err := c.get(ctx, path, &memory)
		if err == nil && !found {
			err = &unexpectedError{"GET " + path, reply}
		}
		if err != nil {
			return []error{err}
		}
	}
	if n := of(memory.Experiences); n != want {
		problems = append(problems, fmt.Errorf("%d experiences of it were kept, want %d", n, want))
	}
	if n := of(memory.Decisions); n != want {
		problems = append(problems, fmt.Errorf("%d decisions tell its outcome, want %d", n, want))
	}
	if want == 0 {
		return problems
	}
	path := managedThreads + "/experiences?limit=100&executionId=" + t.executionID + "&q=" + url.QueryEscape("word "+t.name)
	reply, _, err := c.get(ctx, path, &memory)
	if err != nil {
		return append(problems, err)
	}
	if of(memory.Experiences) != 1 {
		problems = append(problems, &unexpectedError{"GET " + path, reply})
	}
	return problems
}
