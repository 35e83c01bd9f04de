package api_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// hiding is a rig with n executions of which every step-th may be read; the newest comes first, as numbers from n down.
func hiding(t *testing.T, n, step int, change ...func(*api.Options)) *rig {
	r := newRig(t, append(change, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			if number, err := strconv.Atoi(strings.TrimPrefix(a.ID, core.PrefixExecution)); err == nil && number%step != 0 {
				return core.NotFound("execution", a.ID)
			}
			return nil
		}
	})...)
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		from := f.Offset
		if f.Cursor != "" {
			var err error
			if from, err = strconv.Atoi(f.Cursor); err != nil {
				return nil, core.PageInfo{}, core.Invalid("cursor", "is not one that a list returned")
			}
		}
		var list []*core.Execution
		for i := from; i < n && len(list) < f.Limit; i++ {
			list = append(list, someExecution(fmt.Sprintf("exec_%026d", n-i), core.ExecutionCompleted))
		}
		info := core.PageInfo{Total: n, HasMore: from+len(list) < n}
		if info.HasMore {
			info.NextCursor = strconv.Itoa(from + len(list))
		}
		return list, info, nil
	}
	return r
}

// Rows that the caller may not read neither show nor count, on pages of every size, by cursor and by offset.
func TestHiddenRows(t *testing.T) {
	const n, step = 260, 3
	r := hiding(t, n, step)
	for _, limit := range []int{1, 2, 7, 86, 100} {
		for _, byCursor := range []bool{true, false} {
			seen, next := 0, ""
			for {
				query := fmt.Sprintf("?limit=%d&offset=%d", limit, seen)
				if byCursor && next != "" {
					query = fmt.Sprintf("?limit=%d&cursor=%s", limit, next)
				}
				p := r.do("GET", "/api/executions"+query, "")
				p.wants(t, 200, "")
				rows := p.at("executions").([]any)
				for _, row := range rows {
					seen++
					want := fmt.Sprintf("exec_%026d", (n/step+1-seen)*step)
					if id := row.(map[string]any)["executionId"]; id != want {
						t.Fatalf("limit %d: row %d is %v, want %s", limit, seen, id, want)
					}
				}
				more := p.at("hasMore") == true
				if p.at("total") != float64(n/step) || p.json["totalAtLeast"] != nil || more != (seen < n/step) || len(rows) > limit || more && len(rows) < limit {
					t.Fatalf("limit %d: %s", limit, p.text)
				}
				if !more {
					break
				}
				next, _ = p.json["nextCursor"].(string)
			}
			if seen != n/step {
				t.Errorf("limit %d: %d rows, want %d", limit, seen, n/step)
			}
		}
	}
	r.do("GET", "/api/executions?cursor=x", "").wants(t, 400, core.CodeValidation)
}

// A list that is too long to be looked through says so, and is gone through by its cursor all the same.
func TestHiddenRowsOfLongLists(t *testing.T) {
	const n, step = 9000, 4000
	r := hiding(t, n, step)
	seen, calls, next := 0, 0, ""
	for more := true; more; calls++ {
		p := r.do("GET", "/api/executions?limit=5&cursor="+next, "")
		if next == "" {
			p = r.do("GET", "/api/executions?limit=5", "")
		}
		p.wants(t, 200, "")
		seen += len(p.at("executions").([]any))
		if p.json["totalAtLeast"] != true || p.at("total").(float64) > 2 {
			t.Fatal(p.text)
		}
		if more = p.at("hasMore") == true; more {
			next = p.at("nextCursor").(string)
		}
		if calls > n {
			t.Fatal("it goes on for ever")
		}
	}
	if seen != n/step || calls > 6 {
		t.Errorf("%d rows in %d calls", seen, calls)
	}
	p := r.do("GET", "/api/overview", "")
	p.wants(t, 200, "")
	if p.at("partial") != true || p.at("executions").(map[string]any)["completed"] != 1.0 {
		t.Error(p.text)
	}
}

// Rows that an offset skips stay skipped where the list is looked through in several pages.
func TestHiddenRowsBehindOffset(t *testing.T) {
	const n, step, skip = 9000, 300, 20
	r := hiding(t, n, step)
	var seen []any
	query := fmt.Sprintf("?limit=5&offset=%d", skip)
	for more, calls := true, 0; more; calls++ {
		p := r.do("GET", "/api/executions"+query, "")
		p.wants(t, 200, "")
		for _, row := range p.at("executions").([]any) {
			seen = append(seen, row.(map[string]any)["executionId"])
		}
		if more = p.at("hasMore") == true; more {
			query = "?limit=5&cursor=" + p.at("nextCursor").(string)
		}
		if calls > n {
			t.Fatal("it goes on for ever")
		}
	}
	var want []any
	for number := n - skip*step; number > 0; number -= step {
		want = append(want, fmt.Sprintf("exec_%026d", number))
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("rows %v, want %v", seen, want)
	}
	for _, cursor := range []string{"x", "3~", "-1~1", "99999999999999999999~1", "0~1"} {
		r.do("GET", "/api/executions?cursor="+cursor, "").wants(t, 400, core.CodeValidation)
	}
}

// moving has the rig list executions from 200 down to 1, by their numbers, until the first page was read; then move makes the list.
func (r *rig) moving(t *testing.T, move func(list []int) []int) {
	list, read := numbers(200, 1), 0
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		at, err := strconv.Atoi(cmp.Or(f.Cursor, "1000"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []*core.Execution
		info, last := core.PageInfo{Total: len(list)}, 0
		for _, n := range list {
			if n >= at {
				continue
			}
			if info.HasMore = len(rows) == f.Limit; info.HasMore {
				info.NextCursor = strconv.Itoa(last)
				break
			}
			rows = append(rows, someExecution(fmt.Sprintf("exec_%026d", n), core.ExecutionRunning))
			last = n
		}
		if read++; read == 1 {
			list = move(list)
		}
		return rows, info, nil
	}
}

// A page behind which all rows go while it is made is the last one: it has no cursor, and does not say that there is more.
func TestHiddenRowsThatEnd(t *testing.T) {
	for _, from := range []string{"", "201"} {
		r := hiding(t, 0, 3)
		r.moving(t, func([]int) []int { return numbers(200, 189) })
		p := r.do("GET", "/api/executions?limit=4&cursor="+from, "")
		p.wants(t, 200, "")
		if next, _ := p.json["nextCursor"].(string); len(p.at("executions").([]any)) != 4 || p.at("hasMore") == true || next != "" {
			t.Errorf("cursor %q: more %v, next %q", from, p.at("hasMore"), next)
		}
	}
}

// What agents wait for that the caller may not read is no number of the overview either, not even nought.
func TestHiddenWaits(t *testing.T) {
	for _, shown := range []bool{false, true} {
		r := newRig(t, func(o *api.Options) {
			o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
				if a.ID == magentID && !shown {
					return core.NotFound("managed agent", a.ID)
				}
				return nil
			}
		})
		r.overview.managed = map[string]int{"busy": 1, "blocked": 1}
		r.managed.findAll = func(core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
			return []*core.ManagedAgent{someManaged(magentID, core.ManagedBusy)}, core.PageInfo{Total: 1}, nil
		}
		p := r.do("GET", "/api/overview", "")
		p.wants(t, 200, "")
		want := map[string]any{"busy": 0.0}
		if shown {
			want = map[string]any{"busy": 1.0, "blocked": 1.0}
		}
		if !reflect.DeepEqual(p.at("managedAgents"), want) {
			t.Errorf("shown %v: %s", shown, p.text)
		}
	}
}

// A page that is cut where the caller's rows are enough goes on right there, also when rows of it went, or others came, while it
// was made: none of those that stay is left out.
func TestHiddenRowsThatMove(t *testing.T) {
	const limit = 4
	for name, move := range map[string]func(list []int) []int{
		"LastWent": func(list []int) []int { return slices.DeleteFunc(list, func(n int) bool { return n == 189 }) },
		"AllWent":  func(list []int) []int { return slices.DeleteFunc(list, func(n int) bool { return n >= 189 }) },
		"SomeCame": func(list []int) []int { return slices.Concat([]int{205, 204, 203, 202, 201}, list) },
		"MoreCame": func(list []int) []int { return slices.Concat(numbers(230, 201), list) },
		"LastMoved": func(list []int) []int {
			return slices.Concat([]int{201}, slices.DeleteFunc(list, func(n int) bool { return n == 189 }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := hiding(t, 0, 3)
			r.moving(t, move)
			seen, next := map[string]bool{}, ""
			for range 200 {
				p := r.do("GET", fmt.Sprintf("/api/executions?limit=%d&cursor=%s", limit, next), "")
				p.wants(t, 200, "")
				for _, row := range p.at("executions").([]any) {
					seen[row.(map[string]any)["executionId"].(string)] = true
				}
				if p.at("hasMore") != true {
					break
				}
				next = p.at("nextCursor").(string)
			}
			for n := 186; n > 0; n -= 3 {
				if id := fmt.Sprintf("exec_%026d", n); !seen[id] {
					t.Errorf("%s is left out", id)
				}
			}
		})
	}
}

// Rows that are read by what they belong to, as experiences are by their execution, are identified on pages by their own ids.
func TestHiddenRowsOfOne(t *testing.T) {
	r := hiding(t, 0, 3)
	r.memory.experiences = func(f core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
		from, _ := strconv.Atoi(f.Cursor)
		var list []*core.Experience
		for i := from; i < 7 && len(list) < f.Limit; i++ {
			one := new(core.Experience)
			one.ID, one.ExecutionID, one.Outcome = fmt.Sprintf("exp_%026d", i), fmt.Sprintf("exec_%026d", 3), core.ExperiencePartial
			list = append(list, one)
		}
		info := core.PageInfo{Total: 7, HasMore: from+len(list) < 7}
		if info.HasMore {
			info.NextCursor = strconv.Itoa(from + len(list))
		}
		return list, info, nil
	}
	seen, next := 0, ""
	for more := true; more; {
		p := r.do("GET", threadsPath+"/experiences?limit=2&cursor="+next, "")
		p.wants(t, 200, "")
		for _, row := range p.at("experiences").([]any) {
			if id := row.(map[string]any)["id"]; id != fmt.Sprintf("exp_%026d", seen) {
				t.Fatalf("row %d is %v", seen, id)
			}
			seen++
		}
		if more = p.at("hasMore") == true; more {
			next = p.at("nextCursor").(string)
		}
	}
	if seen != 7 {
		t.Errorf("%d rows of 7", seen)
	}
}

// numbers are those from one down to another.
func numbers(from, to int) []int {
	var list []int
	for n := from; n >= to; n-- {
		list = append(list, n)
	}
	return list
}

// What is expired of others is neither shown nor removed by who cannot read it.
func TestPruneOfHiddenWorkspaces(t *testing.T) {
	r := hiding(t, 1, 1)
	r.workspaces.prune = func(p core.WorkspacePrune) ([]core.WorkspacePruned, error) {
		if len(p.IDs) == 0 || p.Mirrors {
			t.Errorf("pruned by %+v", p)
		}
		return nil, nil
	}
	for _, body := range []string{`{}`, `{"dryRun":true}`, `{"ids":["ws_1"],"mirrors":true}`} {
		r.do("POST", "/api/workspaces/prune", body).wants(t, 400, core.CodeValidation)
	}
	r.do("POST", "/api/workspaces/prune", `{"ids":["ws_1"]}`).wants(t, 200, "")
}

// A policy that takes as long as it may for each row holds up no list for minutes: what it decided by then is answered, with a cursor
// behind it, and where that is nothing, the reason.
func TestSlowDecisions(t *testing.T) {
	var r *rig
	asked, allowed := 0, true
	r = hiding(t, 40, 1, func(o *api.Options) {
		o.Decide = func(context.Context, core.Principal, api.Access) core.Ruling {
			asked++
			r.clock.Advance(2 * time.Second)
			return core.Ruling{Allowed: allowed}
		}
	})
	get := func(path string) reply {
		t.Helper()
		asked = 0
		p := r.do("GET", path, "")
		if asked > 6 {
			t.Errorf("%q: the policy was asked about %d rows", path, asked)
		}
		return p
	}
	for query, want := range map[string]int{"?limit=3": 3, "?limit=3&cursor=2": 3, "": 5, "?limit=6": 5} {
		p := get("/api/executions" + query)
		p.wants(t, 200, "")
		if got := len(p.at("executions").([]any)); got != want || p.at("totalAtLeast") != true || p.at("hasMore") != true {
			t.Errorf("%q: %s", query, p.text)
		}
	}
	var all []int
	for cursor := ""; len(all) < 40; {
		p := get("/api/executions?cursor=" + cursor)
		p.wants(t, 200, "")
		for _, row := range p.at("executions").([]any) {
			n, _ := strconv.Atoi(strings.TrimPrefix(row.(map[string]any)["id"].(string), core.PrefixExecution))
			all = append(all, n)
		}
		cursor, _ = p.at("nextCursor").(string)
		if cursor == "" {
			break
		}
	}
	if !slices.Equal(all, numbers(40, 1)) {
		t.Errorf("the pages have %v", all)
	}
	if p := get("/api/executions/histogram?since=2020-01-01T00:00:00Z&until=2031-01-01T00:00:00Z"); p.at("totalAtLeast") != true {
		t.Errorf("histogram: %s", p.text)
	}
	r.workspaces.findAll = func(core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
		return slices.Repeat([]*core.Workspace{someWorkspace(workspaceID, core.WorkspaceReady)}, 9), core.PageInfo{Total: 9}, nil
	}
	r.managed.findAll = func(core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
		return slices.Repeat([]*core.ManagedAgent{someManaged(magentID, core.ManagedReady)}, 9), core.PageInfo{Total: 9}, nil
	}
	r.managed.runtimes = []core.RuntimeInfo{{Name: "local"}}
	if p := get("/api/workspaces/usage"); p.at("count") != 5.0 || p.at("totalAtLeast") != true {
		t.Errorf("room of workspaces: %s", p.text)
	}
	if p := get("/api/runtimes"); p.text != `{"runtimes":[{"name":"local","priority":0,"ready":false,"types":[],"agents":5,"maxAgents":0,"agentsAtLeast":true}]}` {
		t.Errorf("runtimes: %s", p.text)
	}
	allowed = false
	p := get("/api/executions")
	p.wants(t, 503, core.CodeInternal)
	if reason := p.at("error", "details", "reason"); reason != "policy_slow" {
		t.Errorf("nothing to show: %s", p.text)
	}
}
