package orgchart_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

func newFlow(plan core.ChartPlan) *orgchart.Flow {
	return orgchart.NewFlow(plan, json.RawMessage(`{}`), core.ChartContext{ExecutionID: "exec_1"})
}

// tell renders effects: "+2.0" is a start, "-2.0=result" an end; #n a later round, /then a branch.
func tell(effects []orgchart.Effect) string {
	var words []string
	for _, e := range effects {
		word := "+" + e.Step.Path
		if e.Kind == orgchart.StepFinished {
			word = "-" + e.Step.Path + "=" + string(e.Result)
		}
		if e.Branch != "" {
			word += "/" + e.Branch
		}
		if e.Round > 0 {
			word += fmt.Sprintf("#%d", e.Round)
		}
		if e.Feedback != nil {
			word += "!" + string(e.Feedback)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func open(f *orgchart.Flow) string {
	var words []string
	for _, leaf := range f.Open() {
		word := leaf.Step.Path
		if leaf.Round > 0 {
			word += fmt.Sprintf("#%d", leaf.Round)
		}
		if leaf.Feedback != nil {
			word += "!" + string(leaf.Feedback)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func advance(t testing.TB, f *orgchart.Flow, want string) {
	t.Helper()
	effects, err := f.Advance()
	if err != nil {
		t.Fatalf("Advance: %v", err)
	}
	if got := tell(effects); got != want {
		t.Fatalf("effects\n got %s\nwant %s", got, want)
	}
	if again, err := f.Advance(); err != nil || len(again) > 0 {
		t.Fatalf("a second Advance did %s, %v", tell(again), err)
	}
}

func finish(t testing.TB, f *orgchart.Flow, path, result string) {
	t.Helper()
	if !f.Finish(path, json.RawMessage(result)) {
		t.Fatalf("Finish(%s) says that it is not open", path)
	}
}

func TestFlow(t *testing.T) {
	// do is a path that is finished with the quoted path as its result; want is what Advance then tells.
	type act struct{ do, want string }
	tests := []struct {
		name   string
		plan   *fakePlan
		begin  string
		acts   []act
		output string
	}{
		{
			name:   "one after the other",
			plan:   planOf(assign("a"), assign("b")),
			begin:  "+0",
			acts:   []act{{"0", `-0="0" +1`}, {"1", `-1="1"`}},
			output: `"1"`,
		},
		{
			name:  "all at once, in any order",
			plan:  planOf(parallel(assign("a"), assign("b"), assign("c"))),
			begin: "+0 +0.0 +0.1 +0.2",
			acts: []act{
				{"0.2", `-0.2="0.2"`}, {"0.0", `-0.0="0.0"`}, {"0.1", `-0.1="0.1" -0=["0.0","0.1","0.2"]`},
			},
			output: `["0.0","0.1","0.2"]`,
		},
		{
			name:  "sequences in a parallel",
			plan:  planOf(parallel(sequential(assign("a"), assign("b")), assign("c")), aggregate()),
			begin: "+0 +0.0 +0.0.0 +0.1",
			acts: []act{
				{"0.0.0", `-0.0.0="0.0.0" +0.0.1`},
				{"0.1", `-0.1="0.1"`},
				{"0.0.1", `-0.0.1="0.0.1" -0.0=["0.0.0","0.0.1"] -0=[["0.0.0","0.0.1"],"0.1"] +1 -1={"count":2}`},
			},
			output: `{"count":2}`,
		},
		{
			name:   "a condition that holds",
			plan:   checking(planOf(condition(assign("a"), assign("b")), assign("c")), "0", true),
			begin:  "+0/then +0.0",
			acts:   []act{{"0.0", `-0.0="0.0" -0="0.0"/then +1`}, {"1", `-1="1"`}},
			output: `"1"`,
		},
		{
			name:   "a condition that does not hold",
			plan:   checking(planOf(condition(assign("a"), assign("b"))), "0", false),
			begin:  "+0/else +0.1",
			acts:   []act{{"0.1", `-0.1="0.1" -0="0.1"/else`}},
			output: `"0.1"`,
		},
		{
			name:   "a condition without else",
			plan:   checking(planOf(condition(assign("a"), nil)), "0", false),
			begin:  "+0 -0=null",
			output: `null`,
		},
		{
			name:  "a condition around a composite step",
			plan:  checking(planOf(condition(parallel(assign("a"), condition(assign("b"), nil)), nil)), "0", true, "0.0.1", false),
			begin: "+0/then +0.0 +0.0.0 +0.0.1 -0.0.1=null",
			acts: []act{
				{"0.0.0", `-0.0.0="0.0.0" -0.0=["0.0.0",null] -0=["0.0.0",null]/then`},
			},
			output: `["0.0.0",null]`,
		},
		{
			name:   "nothing at an agent",
			plan:   planOf(aggregate(), sequential(aggregate(), aggregate())),
			begin:  `+0 -0={"hash":292984781} +1 +1.0 -1.0={"hash":292984781} +1.1 -1.1={"hash":3262222425} -1=[{"hash":292984781},{"hash":3262222425}]`,
			output: `[{"hash":292984781},{"hash":3262222425}]`,
		},
		{
			name:   "composite steps without steps",
			plan:   planOf(parallel(), sequential(), parallel(sequential())),
			begin:  "+0 -0=[] +1 -1=[] +2 +2.0 -2.0=[] -2=[[]]",
			output: `[[]]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlow(tt.plan)
			advance(t, f, tt.begin)
			for _, a := range tt.acts {
				if f.Done() {
					t.Fatalf("done before %s", a.do)
				}
				finish(t, f, a.do, `"`+a.do+`"`)
				advance(t, f, a.want)
			}
			if !f.Done() || len(f.Open()) > 0 {
				t.Fatalf("not done: open %s", open(f))
			}
			output, err := f.Output()
			if err != nil || string(output) != tt.output {
				t.Errorf("output %s, %v, want %s", output, err, tt.output)
			}
		})
	}
}

func checking(p *fakePlan, pairs ...any) *fakePlan {
	for i := 0; i < len(pairs); i += 2 {
		p.checks[pairs[i].(string)] = pairs[i+1].(bool)
	}
	return p
}

func TestFlowScope(t *testing.T) {
	f := newFlow(checking(planOf(
		named("plan", assign("a")),
		named("both", parallel(named("left", assign("b")), sequential(named("right", assign("c"))))),
		condition(assign("d"), named("other", assign("e"))),
	), "2", true))
	advance(t, f, "+0")
	scope := f.Scope()
	wants := func(when string, want map[string]string) {
		t.Helper()
		for name, value := range want {
			got, ok := scope.Result(name)
			if strings.Trim(name, "0123456789.") != "" {
				got, ok = scope.Named(name)
			}
			if ok != (value != "") || string(got) != value {
				t.Errorf("%s: %s is %s (%v), want %q", when, name, got, ok, value)
			}
		}
	}
	wants("before", map[string]string{"0": "", "plan": "", "1.0": "", "9": "", "": "", "0.0": "", "x": "", "-1": "", "00": "", "0.": "", ".0": "", "1..0": ""})
	finish(t, f, "0", `{"a":1}`)
	wants("before Advance", map[string]string{"0": `{"a":1}`, "plan": `{"a":1}`})
	advance(t, f, `-0={"a":1} +1 +1.0 +1.1 +1.1.0`)
	finish(t, f, "1.1.0", `3`)
	advance(t, f, `-1.1.0=3 -1.1=[3]`)
	wants("half", map[string]string{"1.1.0": "3", "1.1": "[3]", "right": "3", "1": "", "both": "", "left": ""})
	finish(t, f, "1.0", `2`)
	advance(t, f, `-1.0=2 -1=[2,[3]] +2/then +2.0`)
	wants("later", map[string]string{"1.1.0": "3", "1.1": "[3]", "right": "3", "1.0": "2", "1": "[2,[3]]", "both": "[2,[3]]", "left": "2"})
	finish(t, f, "2.0", ``)
	advance(t, f, `-2.0=null -2=null/then`)
	wants("end", map[string]string{"2.0": "null", "2.1": "", "2": "null", "other": ""})
}

func TestFlowRefusesLateResults(t *testing.T) {
	f := newFlow(planOf(assign("a"), parallel(assign("b"), assign("c"))))
	if f.Finish("0", nil) {
		t.Error("Finish before the start was taken")
	}
	advance(t, f, "+0")
	finish(t, f, "0", "1")
	for _, path := range []string{"0", "1", "1.0", "7", "", "a"} {
		if f.Finish(path, nil) {
			t.Errorf("Finish(%q) was taken", path)
		}
	}
	if _, ok := f.Leaf("0"); ok {
		t.Error("a finished step is a leaf")
	}
	advance(t, f, "-0=1 +1 +1.0 +1.1")
	if leaf, ok := f.Leaf("1.1"); !ok || leaf.Step.Role != "c" {
		t.Errorf("leaf %+v, %v", leaf, ok)
	}
	if f.Finish("1", nil) {
		t.Error("Finish of a composite step was taken")
	}
}

func TestFlowFails(t *testing.T) {
	boom := errors.New("boom")
	plan := planOf(assign("a"), condition(assign("b"), nil))
	plan.fails["1"] = boom
	f := newFlow(plan)
	advance(t, f, "+0")
	finish(t, f, "0", "1")
	effects, err := f.Advance()
	if !errors.Is(err, boom) || tell(effects) != "-0=1 +1" {
		t.Errorf("%s, %v", tell(effects), err)
	}
}

func TestFlowAgain(t *testing.T) {
	feedback := json.RawMessage(`"more"`)
	f := newFlow(planOf(assign("a"), named("work", parallel(named("x", assign("b")), assign("c"))), approve(2), assign("d")))
	advance(t, f, "+0")
	finish(t, f, "0", "0")
	advance(t, f, "-0=0 +1 +1.0 +1.1")
	if f.Again("2", feedback) {
		t.Fatal("an approve step that was not reached is run again")
	}
	finish(t, f, "1.0", "1")
	finish(t, f, "1.1", "2")
	advance(t, f, "-1.0=1 -1.1=2 -1=[1,2] +2")

	// Without Finish the refused round is no effect, with it it is.
	if !f.Again("2", feedback) {
		t.Fatal("the first time is refused")
	}
	if _, ok := f.Result("1"); ok {
		t.Error("the result of the earlier round is still there")
	}
	if _, ok := f.Scope().Named("x"); ok {
		t.Error("the named result of the earlier round is still there")
	}
	advance(t, f, `+1#1 +1.0#1!"more" +1.1#1!"more"`)
	if got := open(f); got != `1.0#1!"more" 1.1#1!"more"` {
		t.Errorf("open %s", got)
	}
	finish(t, f, "1.1", "4")
	finish(t, f, "1.0", "3")
	advance(t, f, "-1.1=4#1 -1.0=3#1 -1=[3,4]#1 +2#1")
	finish(t, f, "2", "false")
	if !f.Again("2", json.RawMessage(`"still"`)) {
		t.Fatal("the second time is refused")
	}
	advance(t, f, `-2=false#1 +1#2 +1.0#2!"still" +1.1#2!"still"`)
	finish(t, f, "1.0", "5")
	finish(t, f, "1.1", "6")
	advance(t, f, "-1.0=5#2 -1.1=6#2 -1=[5,6]#2 +2#2")
	if f.Again("2", feedback) {
		t.Fatal("a third time is taken")
	}
	finish(t, f, "2", "true")
	advance(t, f, "-2=true#2 +3")
	if f.Again("2", feedback) || f.Again("3", feedback) || f.Again("1", feedback) || f.Again("0", feedback) || f.Again("9", feedback) {
		t.Fatal("a step that is past, or that does not approve, is run again")
	}
}

func TestFlowAgainWithoutSibling(t *testing.T) {
	for name, plan := range map[string]*fakePlan{
		"first of the workflow": planOf(approve(2)),
		"first of a sequence":   planOf(sequential(approve(2))),
		"of a parallel":         planOf(parallel(aggregate(), approve(2))),
		"of a condition":        checking(planOf(condition(aggregate(), approve(2))), "0", false),
		"no retries":            planOf(aggregate(), approve(0)),
	} {
		f := newFlow(plan)
		if _, err := f.Advance(); err != nil {
			t.Fatal(err)
		}
		leaves := f.Open()
		if len(leaves) != 1 || f.Again(leaves[0].Step.Path, nil) {
			t.Errorf("%s: open %s, or run again", name, open(f))
		}
	}
}

// A retry within a retry: the inner approve step has its retries anew each time that the outer one asks.
func TestFlowAgainNested(t *testing.T) {
	inner, outer := json.RawMessage(`"in"`), json.RawMessage(`"out"`)
	f := newFlow(planOf(sequential(assign("a"), approve(1)), approve(1)))
	advance(t, f, "+0 +0.0")
	finish(t, f, "0.0", "1")
	advance(t, f, "-0.0=1 +0.1")
	finish(t, f, "0.1", "false")
	if !f.Again("0.1", inner) {
		t.Fatal("inner")
	}
	advance(t, f, `-0.1=false +0.0#1!"in"`)
	finish(t, f, "0.0", "2")
	advance(t, f, "-0.0=2#1 +0.1#1")
	if f.Again("0.1", inner) {
		t.Fatal("inner, used up")
	}
	finish(t, f, "0.1", "true")
	advance(t, f, "-0.1=true#1 -0=[2,true] +1")
	finish(t, f, "1", "false")
	if !f.Again("1", outer) {
		t.Fatal("outer")
	}
	advance(t, f, `-1=false +0#1 +0.0#2!"out"`)
	finish(t, f, "0.0", "3")
	advance(t, f, `-0.0=3#2 +0.1#2!"out"`)
	if !f.Again("0.1", inner) {
		t.Fatal("inner, in the second round of the outer")
	}
	advance(t, f, `+0.0#3!"in"`)
	finish(t, f, "0.0", "4")
	advance(t, f, `-0.0=4#3 +0.1#3!"out"`)
	finish(t, f, "0.1", "true")
	advance(t, f, "-0.1=true#3 -0=[4,true]#1 +1#1")
	if f.Again("1", outer) {
		t.Fatal("outer, used up")
	}
}
