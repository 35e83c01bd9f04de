package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// narrowScreen is a terminal of so many columns; 0 is none.
func narrowScreen(width int) *screen {
	return &screen{
		paint: func(_ style, text string) string { return text }, width: width,
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local),
	}
}

// lines returns what was gathered, held to the width of the terminal.
func (s *screen) lines(t *testing.T) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s.buf.String(), "\n"), "\n")
	for _, line := range lines {
		if got := uniseg.StringWidth(line); s.width > 0 && got > s.width {
			t.Errorf("%d columns of %d: %q", got, s.width, line)
		}
	}
	return lines
}

func TestTablesFit(t *testing.T) {
	const (
		one   = "exec_01M8BZBNK6Q6410MF83YQMEBB7"
		other = "task_01M8BZBNK6Q6410MF83YQMEBB8"
		near  = "2026-03-01 10:11:12"
		far   = "2027-03-01 10:11:12"
	)
	long := strings.TrimSpace(strings.Repeat("message ", 15))
	for _, tt := range []struct {
		name string
		head []string
		cuts []int
		row  []string
		want []string // of the lines below the head
	}{
		{"Fits", []string{"ID", "NAME"}, nil, []string{one, "name"}, []string{one + "  name"}},
		{"Text", []string{"ID", "TEXT"}, nil, []string{one, long}, []string{one + "  message message message message message mess..."}},
		{
			"Times", []string{"SEQ", "TIME", "EXPIRES", "WHO"}, nil, []string{"1", near, far, strings.Repeat("w", 45)},
			[]string{"1    03-01 10:11  2027-03-01  " + strings.Repeat("w", 45)},
		},
		{
			"IDsLast", []string{"TASK", "EXECUTION", "STEP", "TOOK"}, nil, []string{other, one, "classification", "1.2 s"},
			[]string{other + "  exec_01M8BZBNK6Q6410MF83YQM...  class...  1.2 s"},
		},
		{
			"LastColumnsGo", []string{"A", "B", "C", "D"}, nil, []string{one, one, one, one},
			[]string{"exec_01M8BZBNK6Q6410MF8...  exec_01M8BZBNK6Q6410MF...  exec_01M8BZBNK6Q6410MF..."},
		},
		{
			"Below", []string{"CHECK", "STATUS", "MESSAGE", "NEXT"}, []int{0, 0, uncut, uncut}, []string{"git", "degraded", long, "install git"},
			[]string{
				"git    degraded", "  message message message message message message message message message", "  message message message message message message",
				"  install git",
			},
		},
		{
			"BelowFromWithin", []string{"TASK", "EXECUTION", "PATTERN", "STEP", "STATUS", "STARTED", "TOOK"}, []int{0, uncut, uncut, 0, 0, 0, 0},
			[]string{other, one, "enterprise-review@1.0.0", "implementation", "completed", near, "1.2 s"},
			[]string{other + "  implementation  completed  03-01 10:11  1.2 s", "  " + one, "  enterprise-review@1.0.0"},
		},
		{
			"BelowIfNeeded", []string{"CHECK", "STATUS", "MESSAGE", "NEXT"}, []int{0, 0, uncut, uncut},
			[]string{"git", "degraded", "git is not there: threads with a repository are refused", "install git 2.36 or newer"},
			[]string{"git    degraded  git is not there: threads with a repository are refused", "  install git 2.36 or newer"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := narrowScreen(80)
			s.grid(tt.head, tt.cuts, [][]cell{plain(tt.row...)})
			if got := s.lines(t)[1:]; strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			for _, s := range []*screen{narrowScreen(0), {paint: s.paint, width: 80, wide: true}} {
				s.grid(tt.head, tt.cuts, [][]cell{plain(tt.row...)})
				if got := s.buf.String(); strings.Join(strings.Fields(strings.Join(tt.row, " ")), " ") != strings.Join(strings.Fields(got)[len(tt.head):], " ") {
					t.Errorf("it is cut elsewhere as well: %s", got)
				}
			}
		})
	}
}

// TestOverviewFits has bars that stand for more where there is no room.
func TestOverviewFits(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ms := int64(123456)
	o := &client.Overview{}
	o.At = at
	for name, r := range ranges {
		sum := wire.OverviewRange{Range: name}
		sum.At, sum.P50, sum.P95 = at.Add(-r.long), &ms, &ms
		o.Ranges = append(o.Ranges, sum)
	}
	for _, width := range []int{80, 90, 200} {
		s := narrowScreen(width)
		overviewScreen(s, o)
		for _, line := range s.lines(t) {
			if width == 200 && strings.HasPrefix(line, "24 hours") && !strings.Contains(line, "|"+strings.Repeat(" ", 48)+"|") {
				t.Errorf("the bars are %q", line)
			}
		}
	}
}

// TestPartialOverview has no numbers of what the server left out.
func TestPartialOverview(t *testing.T) {
	o := &client.Overview{}
	o.Partial, o.Executions, o.Waiting.People = true, map[string]int{"running": 3}, 1
	s := narrowScreen(80)
	overviewScreen(s, o)
	got := strings.Join(s.lines(t), "\n")
	for _, want := range []string{"3 running", "1 for people", "what the credential may read"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, unknown := range []string{"deliveries", "STARTED"} {
		if strings.Contains(got, unknown) {
			t.Errorf("%q is in\n%s", unknown, got)
		}
	}
}

// TestListsFit has rows as long as they come on 80 columns.
func TestListsFit(t *testing.T) {
	const id = "01M8BZBNK6Q6410MF83YQMEBB7"
	s := narrowScreen(80)
	made, ends := s.now.Add(-30*time.Hour), s.now.Add(90*24*time.Hour)
	names := []string{"a-long-name-of-something", "and-another-one"}
	var key client.APIKey
	key.ID, key.Name, key.Owner, key.Scopes, key.Status, key.CreatedAt, key.ExpiresAt = "key_"+id, names[0], names[1], names, "active", made, &ends
	apiKeys.draw(s, []client.APIKey{key})
	var token client.AgentToken
	token.ID, token.Capabilities, token.Names, token.Uses, token.Status, token.CreatedAt, token.ExpiresAt = "atok_"+id, names, names, 10, "exhausted", made, &ends
	agentTokens.draw(s, []client.AgentToken{token})
	var d client.Delivery
	d.ID, d.Event, d.Status, d.StatusCode, d.Attempts, d.CreatedAt, d.NextAt, d.LastError = "dlv_"+id, "execution.completed", "pending", 500, 12, made, &ends, "connection refused"
	deliveries.draw(s, []client.Delivery{d})
	var e client.Erasure
	e.ID, e.Status, e.Step, e.Pseudonym, e.CreatedAt = "erasure_"+id, "running", "executions", "erased-0123456789abcdef", made
	e.Done = wire.DataCounts{"executions": 12345, "threads": 234}
	erasures.draw(s, []client.Erasure{e})
	auditRecords.draw(s, []wire.AuditRecord{{
		Sequence: 123456, Timestamp: made, Action: "agents.tokens.create", Outcome: "success", Actor: wire.AuditActor{ID: names[0], IP: "192.168.100.100"},
		Resource: wire.AuditResource{Type: "agents", ID: "magent_" + id},
	}})
	topTable(s, []*topRow{{
		ID: "magent_" + id, Name: names[0], Type: "opencode", Status: "ready", Turn: 12,
		measured: &client.ManagedAgentMetrics{ManagedAgentMetrics: wire.ManagedAgentMetrics{CPUPercent: 99.9, MemoryBytes: 1 << 28, MemoryLimitBytes: 1 << 32, UptimeSeconds: 12345, LastResponseMs: 1234}},
	}})
	for _, line := range s.lines(t) {
		t.Log(line)
	}
}
