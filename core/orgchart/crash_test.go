package orgchart_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// randomSteps makes a workflow of some steps of every kind, nested.
func randomSteps(r *rand.Rand, depth int, budget *int) []*core.ChartStep {
	var steps []*core.ChartStep
	for n := 1 + r.Intn(4); n > 0 && *budget > 0; n-- {
		steps = append(steps, randomStep(r, depth, budget))
	}
	return steps
}

func randomStep(r *rand.Rand, depth int, budget *int) *core.ChartStep {
	*budget--
	kinds := 13
	if depth == 0 {
		kinds = 6
	}
	switch r.Intn(kinds) {
	case 0, 1, 2:
		return named(fmt.Sprintf("out%d", *budget), assign("a"))
	case 3:
		return aggregate()
	case 4:
		return approve(2 + r.Intn(4))
	case 5:
		return &core.ChartStep{Kind: core.KindReview, Role: "b"}
	case 6, 7:
		return parallel(randomSteps(r, depth-1, budget)...)
	case 8, 9:
		return sequential(randomSteps(r, depth-1, budget)...)
	case 10:
		return condition(randomStep(r, depth-1, budget), randomStep(r, depth-1, budget))
	case 11:
		// What an approve step has run again is most interesting when it holds such steps itself.
		return sequential(sequential(append(randomSteps(r, depth-1, budget), approve(3))...), approve(3))
	}
	return condition(randomStep(r, depth-1, budget), nil)
}

// record is an effect in the journal.
type record struct {
	kind   orgchart.EffectKind
	path   string
	round  int
	result string
	branch string
}

func (r record) String() string {
	if r.kind == orgchart.StepStarted {
		return fmt.Sprintf("+%s#%d", r.path, r.round)
	}
	return fmt.Sprintf("-%s#%d=%s%s", r.path, r.round, r.result, r.branch)
}

// journal drives a flow as the engine does, with crashes.
type journal struct {
	plan    *fakePlan
	seed    string
	records []record
	lossy   bool // neither the rounds that were refused nor the results of composite steps are kept
	spare   bool // steps that are not finished are not restored
	failed  string
}

// refused is the verdict of an approve step: a function of path and round, so that a step that is run again
// after a crash comes to the same.
func (j *journal) refused(path string, round int) bool {
	return hash(j.seed, path, fmt.Sprint(round))%3 == 0
}

func (j *journal) answer(leaf orgchart.Leaf) string {
	if leaf.Step.Kind == core.KindApprove && j.refused(leaf.Step.Path, leaf.Round) {
		return `{"approved":false}`
	}
	return fmt.Sprintf(`{"p":%q,"r":%d}`, leaf.Step.Path, leaf.Round)
}

// replay makes a flow of the journal.
func (j *journal) replay() *orgchart.Flow {
	f := newFlow(j.plan)
	for _, r := range j.records {
		if r.kind == orgchart.StepStarted {
			if !j.spare {
				f.RestoreStart(r.path, r.round)
			}
			continue
		}
		f.Restore(r.path, r.round, json.RawMessage(r.result), r.branch)
		if r.result == `{"approved":false}` && stepAt(j.plan.chart.Steps, r.path).Kind == core.KindApprove && !f.Again(r.path, json.RawMessage(`"why"`)) {
			j.failed = r.path
		}
	}
	return f
}

// run drives the flow to its end, or to a refusal that fails it. crash says after how many of n effects the process
// ends; n or more is no crash.
func (j *journal) run(t *testing.T, r *rand.Rand, crash func(n int) int) (output string) {
	t.Helper()
	f := j.replay()
	for turn := 0; ; turn++ {
		if turn > 10_000 {
			t.Fatal("the flow does not end")
		}
		if j.failed != "" {
			return "failed at " + j.failed
		}
		effects, err := f.Advance()
		if err != nil {
			t.Fatal(err)
		}
		at := crash(len(effects))
		for i, e := range effects {
			if i == at {
				break
			}
			rec := record{e.Kind, e.Step.Path, e.Round, string(e.Result), e.Branch}
			if j.lossy && e.Step.Kind.Composite() {
				rec.result = ""
			}
			j.records = append(j.records, rec)
		}
		if at < len(effects) {
			f = j.replay()
			continue
		}
		if f.Done() {
			out, err := f.Output()
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		leaves := f.Open()
		if len(leaves) == 0 {
			t.Fatalf("neither done nor open: %v", j.records)
		}
		for n := 1 + r.Intn(2); n > 0; n-- {
			leaf := leaves[r.Intn(len(leaves))]
			result := j.answer(leaf)
			refused := result == `{"approved":false}`
			if !refused || !j.lossy {
				f.Finish(leaf.Step.Path, json.RawMessage(result))
			}
			if refused {
				// A second one in this turn is not there any more once a step around it is run again.
				if f.Again(leaf.Step.Path, json.RawMessage(`"why"`)) {
					break
				}
				j.failed = leaf.Step.Path
				break
			}
		}
	}
}

// finished lists what the journal has as finished, in order of path and round.
func (j *journal) finished(t *testing.T) string {
	t.Helper()
	seen := map[string]bool{}
	var lines []string
	for _, r := range j.records {
		key := fmt.Sprint(r.kind, r.path, "#", r.round)
		if seen[key] && (r.kind == orgchart.StepFinished || !j.spare) {
			t.Errorf("%s is in the journal twice: %v", key, j.records)
		}
		seen[key] = true
		if r.kind == orgchart.StepFinished {
			lines = append(lines, r.String())
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func TestFlowSurvivesCrashes(t *testing.T) {
	completed, again := 0, 0
	for seed := int64(0); seed < 4000 && !t.Failed(); seed++ {
		r := rand.New(rand.NewSource(seed))
		budget := 25
		plan := planOf(randomSteps(r, 4, &budget)...)
		mode := journal{plan: plan, seed: fmt.Sprint(seed), lossy: seed%4 == 1, spare: seed%4 == 2}

		calm := mode
		want := calm.run(t, rand.New(rand.NewSource(1)), func(n int) int { return n })
		if strings.HasPrefix(want, "failed") {
			// Which of several refusals comes first depends on the order of finishing: no set to compare.
			continue
		}
		completed++
		for _, rec := range calm.records {
			if rec.round > 0 {
				again++
				break
			}
		}

		for run := 0; run < 3; run++ {
			stormy := mode
			left := 30
			got := stormy.run(t, r, func(n int) int {
				if left--; left > 0 && n > 0 && r.Intn(3) == 0 {
					return r.Intn(n)
				}
				return n
			})
			if got != want {
				t.Errorf("seed %d: output %s, without crashes %s", seed, got, want)
			}
			if a, b := stormy.finished(t), calm.finished(t); a != b {
				t.Errorf("seed %d:\n%s\nwithout crashes\n%s\njournal %v", seed, a, b, stormy.records)
			}
		}
	}
	if completed < 1000 || again < 200 {
		t.Errorf("only %d workflows completed, %d of them with steps that were run again", completed, again)
	}
}

// Every prefix of a journal resumes to the same end, whatever the journal holds back.
func TestFlowResumesAtEveryPrefix(t *testing.T) {
	plan := planOf(
		assign("a"),
		parallel(assign("b"), sequential(assign("c"), approve(5), aggregate()), condition(assign("d"), assign("e"))),
		approve(5),
		condition(sequential(assign("f"), approve(5)), nil),
		approve(5),
	)
	for seed := 0; seed < 40; seed++ {
		whole := journal{plan: plan, seed: fmt.Sprint(seed)}
		want := whole.run(t, rand.New(rand.NewSource(1)), func(n int) int { return n })
		if strings.HasPrefix(want, "failed") {
			continue
		}
		for cut := range whole.records {
			part := journal{plan: plan, seed: whole.seed, records: append([]record(nil), whole.records[:cut]...)}
			got := part.run(t, rand.New(rand.NewSource(int64(cut))), func(n int) int { return n })
			if got != want || part.finished(t) != whole.finished(t) {
				t.Fatalf("seed %d cut at %d: %s, want %s\n%v\n%v", seed, cut, got, want, part.records, whole.records)
			}
		}
	}
}

// A journal may hold a composite step without its steps: a rerun takes over results of the top level.
func TestFlowRestoresListWithoutItsSteps(t *testing.T) {
	f := newFlow(planOf(parallel(named("x", assign("a")), sequential(assign("b"), condition(assign("c"), nil))), condition(nil, named("y", assign("d"))), assign("e")))
	if !f.Restore("0", 0, json.RawMessage(`[1, [2, null]]`), "") || !f.Restore("1", 0, json.RawMessage(`{"a":3}`), orgchart.BranchElse) {
		t.Fatal("refused")
	}
	advance(t, f, "+2")
	for path, want := range map[string]string{"0": "[1, [2, null]]", "0.0": "1", "0.1": "[2, null]", "0.1.0": "2", "1.1": `{"a":3}`, "1": `{"a":3}`} {
		if got, ok := f.Result(path); !ok || string(got) != want {
			t.Errorf("%s is %s, %v", path, got, ok)
		}
	}
	for name, want := range map[string]string{"x": "1", "y": `{"a":3}`} {
		if got, ok := f.Scope().Named(name); !ok || string(got) != want {
			t.Errorf("%s is %s, %v", name, got, ok)
		}
	}
	if f.Restore("2", 0, nil, "") || f.RestoreStart("2", 0) {
		t.Error("restored after the first Advance")
	}
}

func TestFlowRestoreIgnoresWhatIsNotThere(t *testing.T) {
	f := newFlow(checking(planOf(assign("a"), condition(assign("b"), nil)), "1", true))
	for _, path := range []string{"", "2", "0.0", "1.1", "1.2", "x", "99999999999999999999", "1."} {
		if f.Restore(path, 0, nil, "") || f.RestoreStart(path, 0) {
			t.Errorf("restored %q", path)
		}
	}
	if f.Restore("0", -1, nil, "") {
		t.Error("restored a negative round")
	}
	// An earlier round after a later one changes nothing.
	f.Restore("0", 3, json.RawMessage("3"), "")
	f.Restore("0", 1, json.RawMessage("1"), "")
	advance(t, f, "+1/then +1.0")
	if got, _ := f.Result("0"); string(got) != "3" {
		t.Errorf("result %s", got)
	}
}

// FuzzFlowRestore feeds journals that no engine wrote: nothing may panic, and the flow still comes to an end.
func FuzzFlowRestore(f *testing.F) {
	f.Add(int64(1), []byte("0\x001\x010.1\x02"))
	f.Add(int64(7), []byte("0.0.0 0.0 0 1 1.0 1.1 2"))
	f.Fuzz(func(t *testing.T, seed int64, data []byte) {
		r := rand.New(rand.NewSource(seed))
		budget := 15
		plan := planOf(randomSteps(r, 3, &budget)...)
		flow := newFlow(plan)
		for i := 0; i+3 < len(data); i += 4 {
			path := fmt.Sprintf("%d.%d.%d", data[i]%4, data[i+1]%4, data[i+1]/4%4)
			path = path[:1+2*int(data[i+2]%3)]
			round, result := int(data[i+2]/16), json.RawMessage(`[1,2]`)
			switch data[i+3] % 4 {
			case 0:
				flow.RestoreStart(path, round)
			case 1:
				flow.Again(path, result)
			case 2:
				flow.Restore(path, round, nil, orgchart.BranchThen)
			default:
				flow.Restore(path, round, result, orgchart.BranchElse)
			}
		}
		for turn := 0; ; turn++ {
			if _, err := flow.Advance(); err != nil {
				t.Fatal(err)
			}
			leaves := flow.Open()
			if len(leaves) == 0 {
				break
			}
			if turn > 10_000 {
				t.Fatal("the flow does not end")
			}
			flow.Finish(leaves[r.Intn(len(leaves))].Step.Path, json.RawMessage(`1`))
		}
		if !flow.Done() {
			t.Fatal("neither done nor open")
		}
		for i := range plan.chart.Steps {
			if got, ok := flow.Result(fmt.Sprint(i)); !ok || !json.Valid(got) {
				t.Fatalf("result %d: %s, %v", i, got, ok)
			}
		}
	})
}
