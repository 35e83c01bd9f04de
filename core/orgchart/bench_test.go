package orgchart_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strconv"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

func chain(n int) []*core.ChartStep {
	steps := make([]*core.ChartStep, n)
	for i := range steps {
		steps[i] = assign("a")
	}
	return steps
}

// walk runs a flow to its end, always finishing the step that was started last, and returns how many effects it had.
func walk(tb testing.TB, f *orgchart.Flow) int {
	total := 0
	var ready []string
	for {
		effects, err := f.Advance()
		if err != nil {
			tb.Fatal(err)
		}
		total += len(effects)
		for _, e := range effects {
			if e.Kind == orgchart.StepStarted && e.Step.Kind.AtAgent() {
				ready = append(ready, e.Step.Path)
			}
		}
		if len(ready) == 0 {
			return total
		}
		f.Finish(ready[len(ready)-1], json.RawMessage(`{"ok":true}`))
		ready = ready[:len(ready)-1]
	}
}

func deep(n int) *core.ChartStep {
	step := assign("a")
	for i := 0; i < n; i++ {
		switch i % 3 {
		case 0:
			step = sequential(step)
		case 1:
			step = parallel(step)
		default:
			step = condition(step, nil)
		}
	}
	return step
}

func TestFlowOfManySteps(t *testing.T) {
	wide := planOf(parallel(chain(20_000)...))
	if got := walk(t, newFlow(wide)); got != 2*20_001 {
		t.Errorf("wide: %d effects", got)
	}
	long := planOf(chain(20_000)...)
	if got := walk(t, newFlow(long)); got != 2*20_000 {
		t.Errorf("long: %d effects", got)
	}
	resumed := newFlow(long)
	for i := 0; i < 19_999; i++ {
		resumed.RestoreStart(strconv.Itoa(i), 0)
		resumed.Restore(strconv.Itoa(i), 0, json.RawMessage(`1`), "")
	}
	advance(t, resumed, "+19999")

	nested := planOf(deep(200))
	for step := nested.chart.Steps[0]; step.Kind.Composite(); step = step.Steps[0] {
		nested.checks[step.Path] = true
	}
	f := newFlow(nested)
	if got := walk(t, f); got != 2*201 {
		t.Errorf("deep: %d effects", got)
	}
	if output, err := f.Output(); err != nil || !json.Valid(output) {
		t.Errorf("deep: output %s, %v", output, err)
	}
}

// A flow keeps each byte of a result once, and little besides.
func TestFlowMemory(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	const flows = 500
	plan := planOf(assign("a"), parallel(chain(10)...), aggregate(), assign("b"), sequential(chain(5)...), assign("c"))
	kept := make([]*orgchart.Flow, flows)
	before := heap()
	for i := range kept {
		kept[i] = newFlow(plan)
		walk(t, kept[i])
	}
	each := int64(heap()-before) / flows
	t.Logf("a finished flow of 21 steps: %d bytes", each)
	if each > 8<<10 {
		t.Errorf("a finished flow of 21 steps takes %d bytes", each)
	}
	runtime.KeepAlive(kept)

	const size = 1 << 20
	nested := planOf(deep(200))
	for step := nested.chart.Steps[0]; step.Kind.Composite(); step = step.Steps[0] {
		nested.checks[step.Path] = true
	}
	f := newFlow(nested)
	if _, err := f.Advance(); err != nil {
		t.Fatal(err)
	}
	before = heap()
	f.Finish(f.Open()[0].Step.Path, bytes.Repeat([]byte("1"), size))
	if _, err := f.Advance(); err != nil {
		t.Fatal(err)
	}
	if grown := int64(heap() - before); grown > 2*size {
		t.Errorf("a result of %d bytes in 200 lists takes %d", size, grown)
	}
	runtime.KeepAlive(f)
}

func BenchmarkFlow(b *testing.B) {
	for _, bench := range []struct {
		name string
		plan *fakePlan
	}{
		{"sequence of 20", planOf(chain(20)...)},
		{"sequence of 10000", planOf(chain(10_000)...)},
		{"parallel of 200", planOf(parallel(chain(200)...))},
		{"parallel of 10000", planOf(parallel(chain(10_000)...))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			steps := 0
			for b.Loop() {
				steps += walk(b, newFlow(bench.plan)) / 2
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
		})
	}
}

func BenchmarkFlowRestore(b *testing.B) {
	plan := planOf(chain(10_000)...)
	paths := make([]string, 10_000)
	for i := range paths {
		paths[i] = strconv.Itoa(i)
	}
	result := json.RawMessage(`{"ok":true}`)
	for b.Loop() {
		f := newFlow(plan)
		for _, path := range paths[:9_999] {
			f.RestoreStart(path, 0)
			f.Restore(path, 0, result, "")
		}
		if _, err := f.Advance(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(paths)), "ns/step")
}
