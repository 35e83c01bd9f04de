package engine_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// TestChartInputResults looks at the earlier results that come with tasks: the newest, whole, and whether there are more.
func TestChartInputResults(t *testing.T) {
	for _, tt := range []struct {
		name        string
		steps, size int // of the workflow, and of each answer in bytes
		want        int // results with the last task
		cut         bool
	}{
		{"first", 1, 10, 0, false},
		{"all", 65, 10, 64, false},
		{"many", 66, 10, 64, true},
		{"large", 5, 10 << 10, 3, true},
		{"larger", 3, 40 << 10, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t).open()
			r.chart("line", crew("a"), many(tt.steps, "a")...)
			r.agents.add("x", 1)
			answer := func(step string) string {
				return fmt.Sprintf(`{"step": %q, "text": "<b>&%s"}`, step, strings.Repeat("x", tt.size))
			}
			var mu sync.Mutex // guards last
			var last json.RawMessage
			r.agents.mu.Lock()
			r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) {
				mu.Lock()
				defer mu.Unlock()
				last = task.Input
				return answer(task.Step), nil
			}
			r.agents.mu.Unlock()
			if got := r.wait(r.start("line").ID); got.Status != core.ExecutionCompleted {
				t.Fatal(got.Error)
			}
			mu.Lock()
			defer mu.Unlock()
			var in struct {
				Task, Role, Step string
				Results          map[string]json.RawMessage
				ResultsTruncated bool
			}
			if err := json.Unmarshal(last, &in); err != nil {
				t.Fatalf("%v: %.300s", err, last)
			}
			if step := strconv.Itoa(tt.steps - 1); in.Step != step || in.Role != "a" || in.Task != "do "+step {
				t.Errorf("step %q, role %q, task %q", in.Step, in.Role, in.Task)
			}
			if len(in.Results) != tt.want || in.ResultsTruncated != tt.cut {
				t.Errorf("%d results, truncated %t; want %d, %t", len(in.Results), in.ResultsTruncated, tt.want, tt.cut)
			}
			for i := tt.steps - 2; i > tt.steps-2-tt.want; i-- {
				step := strconv.Itoa(i)
				var got, want any
				mustUnmarshal([]byte(answer(step)), &want)
				if err := json.Unmarshal(in.Results[step], &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("the result of step %s is %.100s (%v)", step, in.Results[step], err)
				}
			}
		})
	}
}
