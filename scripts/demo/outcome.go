package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/client"
)

const (
	shownRows    = 15
	shownText    = 44 // runes of a message in the table
	shownDispute = 8  // disputed messages that are listed in full
)

// outcome is the result of the batch.
type outcome struct {
	batchID string
	rows    []row // in the order of the corpus
}

// row is one message with the agents' votes and what the vote made of them.
type row struct {
	item        classifier.Example
	executionID string
	votes       map[string]classifier.Verdict // by method
	result      classifier.Category           // "" when no category had a majority
	confidence  float64
}

// newRow reads an execution of the batch. methods names the agents by id.
func newRow(items []classifier.Example, index int, exec *client.Execution, methods map[string]string) (row, error) {
	if index < 0 || index >= len(items) {
		return row{}, fmt.Errorf("the batch has no such item")
	}
	r := row{item: items[index], executionID: exec.ExecutionID, votes: make(map[string]classifier.Verdict)}
	var input struct{ ID string }
	if err := json.Unmarshal(exec.Input, &input); err != nil || input.ID != r.item.ID {
		return r, fmt.Errorf("execution %s has input %s, want that of %s", exec.ExecutionID, exec.Input, r.item.ID)
	}
	if exec.Status != client.StatusCompleted {
		return r, fmt.Errorf("execution %s is %s", exec.ExecutionID, exec.Status)
	}
	for _, a := range exec.Agents {
		var v classifier.Verdict
		if err := json.Unmarshal(a.Result, &v); err != nil {
			return r, fmt.Errorf("execution %s: result of agent %s: %w", exec.ExecutionID, a.ID, err)
		}
		method := methods[a.ID]
		if _, twice := r.votes[method]; twice || method == "" {
			return r, fmt.Errorf("execution %s has an answer of %q (%s) that was not expected", exec.ExecutionID, method, a.ID)
		}
		r.votes[method] = v
	}
	if len(r.votes) != len(classifier.Methods) {
		return r, fmt.Errorf("execution %s has %d answers, want %d", exec.ExecutionID, len(r.votes), len(classifier.Methods))
	}
	var result struct {
		Category   *classifier.Category
		Confidence float64
	}
	if err := json.Unmarshal(exec.Result, &result); err != nil {
		return r, fmt.Errorf("execution %s: result: %w", exec.ExecutionID, err)
	}
	if result.Category != nil {
		r.result = *result.Category
	}
	r.confidence = result.Confidence
	return r, nil
}

// unanimous reports whether all agents voted alike.
func (r row) unanimous() bool {
	for _, v := range r.votes {
		if v.Category != r.votes[classifier.Methods[0]].Category {
			return false
		}
	}
	return true
}

// mark tells at a glance how the vote stands to the gold label.
func (r row) mark() string {
	switch r.result {
	case "":
		return "undecided"
	case r.item.Gold:
		return "right"
	}
	return "wrong"
}

// print shows the first rows, what was disputed, and how often each agent and the vote were right.
func (o *outcome) print(w io.Writer) {
	o.table(w, o.rows[:min(len(o.rows), shownRows)])
	fmt.Fprintf(w, "... and %d more\n", len(o.rows)-min(len(o.rows), shownRows))
	o.disputes(w)
	o.accuracy(w)
}

func (o *outcome) table(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "ITEM\tMESSAGE")
	for _, m := range classifier.Methods {
		fmt.Fprintf(t, "\t%s", m)
	}
	fmt.Fprint(t, "\tVOTE\tCONFIDENCE\tGOLD\t\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s", r.item.ID, excerpt(r.item.Text, shownText))
		for _, m := range classifier.Methods {
			fmt.Fprintf(t, "\t%s %.2f", r.votes[m].Category, r.votes[m].Confidence)
		}
		result := string(r.result)
		if result == "" {
			result = "-"
		}
		fmt.Fprintf(t, "\t%s\t%.2f\t%s\t%s\n", result, r.confidence, r.item.Gold, r.mark())
	}
	_ = t.Flush() // the demo's own output: an error would show in no other way
}

// disputes sums up the messages on which the agents did not agree.
func (o *outcome) disputes(w io.Writer) {
	var split, rescued, undecided int
	var examples []row
	for _, r := range o.rows {
		if r.unanimous() {
			continue
		}
		split++
		switch r.mark() {
		case "undecided":
			undecided++
		case "right":
			rescued++
			if len(examples) < shownDispute {
				examples = append(examples, r)
			}
		}
	}
	fmt.Fprintf(w, "\n%d of %d messages were disputed: two against one was right on %d and wrong on %d, %d had no majority\n",
		split, len(o.rows), rescued, split-rescued-undecided, undecided)
	if len(examples) > 0 {
		fmt.Fprintln(w, "an agent outvoted for the better, for example:")
	}
	for _, r := range examples {
		for _, m := range classifier.Methods {
			if v := r.votes[m]; v.Category != r.result {
				fmt.Fprintf(w, "  %s  %q\n        %s says %s (%s)\n", r.item.ID, excerpt(r.item.Text, 90), m, v.Category, v.Reasoning)
			}
		}
	}
}

// accuracy compares each agent and the vote with the gold labels.
func (o *outcome) accuracy(w io.Writer) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tright\twrong\tundecided\taccuracy\tof the decided\t\n")
	line := func(name string, verdict func(row) classifier.Category) {
		var right, undecided int
		for _, r := range o.rows {
			switch verdict(r) {
			case r.item.Gold:
				right++
			case "":
				undecided++
			}
		}
		decided := len(o.rows) - undecided
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t\n", name, right, decided-right, undecided,
			percent(right, len(o.rows)), percent(right, decided))
	}
	for _, m := range classifier.Methods {
		line(m, func(r row) classifier.Category { return r.votes[m].Category })
	}
	line("vote", func(r row) classifier.Category { return r.result })
	line("unanimous votes only", func(r row) classifier.Category {
		if !r.unanimous() {
			return ""
		}
		return r.result
	})
	_ = t.Flush() // as above
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// excerpt cuts a text to n runes.
func excerpt(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-3]) + "..."
}
