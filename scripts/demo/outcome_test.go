package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

var methodNames = map[string]string{"a1": "lexicon", "a2": "rules", "a3": "bayes"}

// execution is an execution as the API returns it, with a vote of each agent.
func execution(id string, votes [3]classifier.Category, result string) *client.Execution {
	e := &client.Execution{Execution: wire.Execution{
		ExecutionID: "exec_" + id, Status: "completed",
		Input:  json.RawMessage(fmt.Sprintf(`{"id":%q,"text":"x"}`, id)),
		Result: json.RawMessage(result),
	}}
	for i, v := range votes {
		e.Agents = append(e.Agents, client.AgentResult{
			ID:     fmt.Sprint("a", i+1),
			Result: json.RawMessage(fmt.Sprintf(`{"category":%q,"confidence":0.5,"reasoning":"cues: y"}`, v)),
		})
	}
	return e
}

func TestNewRow(t *testing.T) {
	items := []classifier.Example{{ID: "c1", Text: "x", Gold: classifier.Billing}}
	good := func() *client.Execution {
		return execution("c1", [3]classifier.Category{"billing", "billing", "account"}, `{"category":"billing","confidence":0.4}`)
	}
	r, err := newRow(items, 0, good(), methodNames)
	if err != nil {
		t.Fatal(err)
	}
	if r.result != "billing" || r.confidence != 0.4 || r.unanimous() || r.mark() != "right" || r.votes["bayes"].Category != "account" {
		t.Errorf("got %+v", r)
	}
	undecided, err := newRow(items, 0, execution("c1", [3]classifier.Category{"billing", "shipping", "account"},
		`{"category":null,"confidence":0}`), methodNames)
	if err != nil || undecided.mark() != "undecided" {
		t.Errorf("got %+v, %v", undecided, err)
	}
	for name, change := range map[string]func(*client.Execution) int{
		"noSuchItem":   func(*client.Execution) int { return 1 },
		"otherInput":   func(e *client.Execution) int { e.Input = json.RawMessage(`{"id":"c2"}`); return 0 },
		"notCompleted": func(e *client.Execution) int { e.Status = "running"; return 0 },
		"twoAnswers":   func(e *client.Execution) int { e.Agents = e.Agents[:2]; return 0 },
		"sameAgent":    func(e *client.Execution) int { e.Agents[1].ID = "a1"; return 0 },
		"unknownAgent": func(e *client.Execution) int { e.Agents[1].ID = "a9"; return 0 },
		"noVerdict":    func(e *client.Execution) int { e.Agents[1].Result = json.RawMessage(`[]`); return 0 },
		"noResult":     func(e *client.Execution) int { e.Result = nil; return 0 },
	} {
		e := good()
		index := change(e)
		if _, err := newRow(items, index, e, methodNames); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOutcome_Print(t *testing.T) {
	o := &outcome{}
	for i, votes := range [][3]classifier.Category{
		{"billing", "billing", "billing"},
		{"billing", "billing", "account"},
		{"shipping", "shipping", "billing"},
		{"account", "billing", "shipping"},
	} {
		id := fmt.Sprint("c", i+1)
		result := fmt.Sprintf(`{"category":%q,"confidence":0.5}`, votes[0])
		if i == 3 {
			result = `{"category":null,"confidence":0}`
		}
		item := classifier.Example{ID: id, Text: strings.Repeat("é", 60), Gold: classifier.Billing}
		items := make([]classifier.Example, i+1)
		items[i] = item
		r, err := newRow(items, i, execution(id, votes, result), methodNames)
		if err != nil {
			t.Fatal(err)
		}
		o.rows = append(o.rows, r)
	}
	var out strings.Builder
	o.print(&out)
	fields := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"c1 " + strings.Repeat("é", 41) + "... billing 0.50 billing 0.50 billing 0.50 billing 0.50 billing right",
		"c3 " + strings.Repeat("é", 41) + "... shipping 0.50 shipping 0.50 billing 0.50 shipping 0.50 billing wrong",
		"- 0.00 billing undecided",
		"3 of 4 messages were disputed: two against one was right on 1 and wrong on 1, 1 had no majority",
		"bayes says account (cues: y)",
		"lexicon 2 2 0 50.0 % 50.0 %",
		"vote 2 1 1 50.0 % 66.7 %",
		"unanimous votes only 1 0 3 25.0 % 100.0 %",
	} {
		if !strings.Contains(fields, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "exactly 10": "exactly 10", "eleven long": "eleven ..."} {
		if got := excerpt(text, 10); got != want {
			t.Errorf("excerpt(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestBatchInputs(t *testing.T) {
	data, err := batchInputs([]classifier.Example{{ID: "c1", Text: "a <b> & \"c\"", Gold: classifier.Billing}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"id":"c1","text":"a <b> & \"c\""}`+"\n"; got != want {
		t.Errorf("got %s, want %s: the agents must not see the gold label", got, want)
	}
}
