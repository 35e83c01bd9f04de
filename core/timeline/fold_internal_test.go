package timeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

var timelineStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// journalOf makes a journal of lines "type {data}", a second apart.
func journalOf(tb testing.TB, lines ...string) []core.Event {
	tb.Helper()
	var list []core.Event
	for i, line := range lines {
		kind, data, _ := strings.Cut(line, " ")
		if data == "" {
			data = "{}"
		}
		if !json.Valid([]byte(data)) {
			tb.Fatalf("%s", line)
		}
		list = append(list, core.Event{
			Seq: uint64(i + 1), Type: core.EventType(kind), Time: timelineStart.Add(time.Duration(i) * time.Second), Data: json.RawMessage(data),
		})
	}
	return list
}

// outline writes entries as one line each: kind, id, status, from and to in seconds, and what else is set.
func outline(entries []core.TimelineEntry) string {
	var b strings.Builder
	for _, e := range entries {
		end := "-"
		if e.EndedAt != nil {
			end = fmt.Sprint(e.EndedAt.Sub(timelineStart).Seconds())
		}
		fmt.Fprintf(&b, "%s %s %s %v..%s", e.Kind, e.ID, e.Status, e.StartedAt.Sub(timelineStart).Seconds(), end)
		for _, part := range []struct{ name, value string }{
			{"in", e.Step}, {"type", e.Type}, {"name", e.Name}, {"role", e.Role}, {"to", e.To}, {"agent", e.AgentID},
		} {
			if part.value != "" {
				fmt.Fprintf(&b, " %s=%s", part.name, part.value)
			}
		}
		if e.Attempt != 0 {
			fmt.Fprintf(&b, " #%d", e.Attempt)
		}
		if e.Detail != "" {
			fmt.Fprintf(&b, " (%s)", e.Detail)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTimelineFold(t *testing.T) {
	for _, test := range []struct {
		name    string
		journal []string
		want    string
	}{
		{"Empty", []string{`execution.queued`}, ""},
		{"Flat", []string{
			`execution.started {"input":[1,2]}`,
			`task.assigned {"tasks":[{"taskId":"t1","agentId":"a1","attempt":1},{"taskId":"t2","agentId":"a2","attempt":1}]}`,
			`task.failed {"taskId":"t2","agentId":"a2","attempt":1,"status":"lost","retry":true,"error":{"code":"AGENT_ERROR","message":"gone"}}`,
			`task.assigned {"tasks":[{"taskId":"t2","agentId":"a3","attempt":2}]}`,
			`task.completed {"taskId":"t1","agentId":"a1","attempt":1,"result":{"x":[1]}}`,
			`execution.completed {"agents":[]}`,
		}, `task t1 completed 1..4 agent=a1 #1
task t2 lost 1..2 agent=a2 #1 (gone)
task t2 cancelled 3..5 agent=a3 #2
`},
		{"FlatSteps", []string{
			`task.assigned {"step":"a","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}]}`,
			`task.completed {"taskId":"t1","step":"a","agentId":"a1","attempt":1}`,
			`task.assigned {"step":"a","round":1,"tasks":[{"taskId":"t2","agentId":"a1","attempt":1},{"taskId":"t3","agentId":"a2","attempt":1}]}`,
			`task.completed {"taskId":"t2","step":"a","round":1,"agentId":"a1","attempt":1}`,
			`step.completed {"step":"a","result":1,"confidence":1}`,
			`task.assigned {"step":"b/x","tasks":[{"taskId":"t4","agentId":"a1","attempt":1}]}`,
		}, `step a failed 0..2
task t1 completed 0..1 in=a agent=a1 #1
step a completed 2..4 #2
task t2 completed 2..3 in=a agent=a1 #1
task t3 cancelled 2..4 in=a agent=a2 #1
step b running 5..-
step b/x running 5..- in=b
task t4 running 5..- in=b/x agent=a1 #1
`},
		{"Rerun", []string{
			`task.completed {"taskId":"t1","step":"a","agentId":"a1","attempt":1}`,
			`step.completed {"step":"a","result":1}`,
		}, `step a completed 0..1
task t1 completed 0..0 in=a agent=a1 #1
`},
		{"AnswerOfGivenUpAttempt", []string{
			`task.assigned {"tasks":[{"taskId":"t1","agentId":"a1","attempt":1}]}`,
			`task.failed {"taskId":"t1","agentId":"a1","attempt":1,"status":"timeout","retry":true,"error":{"message":"late"}}`,
			`task.completed {"taskId":"t1","agentId":"a1","attempt":1}`,
		}, `task t1 completed 0..2 agent=a1 #1
`},
		{"Chart", []string{
			`role.bound {"role":"dev","instance":0,"agentId":"a1","agentName":"ann"}`,
			`role.bound {"role":"lead","instance":0,"agentId":"m1","agentType":"claude","managed":true}`,
			`step.started {"step":"0","type":"parallel"}`,
			`step.started {"step":"0.0","type":"assign","name":"build","role":"dev"}`,
			`task.assigned {"step":"0.0","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}]}`,
			`task.completed {"taskId":"t1","step":"0.0","agentId":"a1","attempt":1}`,
			`step.completed {"step":"0.0","result":1,"kind":"assign"}`,
			`step.completed {"step":"0","result":[1],"kind":"parallel"}`,
			`step.started {"step":"1","type":"condition"}`,
			`step.completed {"step":"1","result":null,"kind":"condition","branch":"then"}`,
			`step.started {"step":"0.0","type":"assign","role":"dev","round":1}`,
			`role.released {"role":"dev","agentId":"a1","reason":"the agent was lost"}`,
			`execution.failed {"error":{"code":"AGENT_ERROR","message":"no"}}`,
		}, `role a1 lost 0..11 name=ann role=dev agent=a1 (the agent was lost)
role m1 completed 1..12 type=claude role=lead agent=m1
step 0 completed 2..7 type=parallel
step 0.0 completed 3..6 in=0 type=assign name=build role=dev
task t1 completed 4..5 in=0.0 role=dev agent=a1 #1
step 1 completed 8..9 type=condition (then)
step 0.0 failed 10..12 in=0 type=assign role=dev #2
`},
		{"Deadline", []string{
			`step.started {"step":"0","type":"assign","role":"dev"}`,
			`task.assigned {"step":"0","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}]}`,
			`execution.failed {"error":{"code":"TIMEOUT","message":"no"}}`,
		}, `step 0 timeout 0..2 type=assign role=dev
task t1 timeout 1..2 in=0 role=dev agent=a1 #1
`},
		{"Talk", []string{
			`message.sent {"messageId":"m1","step":"0","role":"dev","agentId":"a1","messageType":"question","topic":"db","to":"lead","wantsReply":true}`,
			`message.sent {"messageId":"m2","step":"0","role":"dev","agentId":"a1","messageType":"feedback","to":"lead"}`,
			`message.escalated {"messageId":"m1","to":"cto","toAgentId":"a3","depth":1,"reason":"no reply within 30000 ms"}`,
			`message.escalated {"messageId":"m1","depth":2,"reason":"nobody is above"}`,
			`question.asked {"question":{"id":"q1","messageId":"m1","role":"dev","step":"0","agentId":"a1","messageType":"question","text":"which?"}}`,
			`system.alert {"severity":"warning"}`,
			`question.answered {"questionId":"q1","messageId":"m1","answer":"this","by":"ann"}`,
			`message.replied {"messageId":"m1","from":"user","content":"this"}`,
			`message.sent {"messageId":"m3","step":"0","role":"dev","agentId":"a1","kind":"approval","messageType":"question","wantsReply":true}`,
			`question.asked {"question":{"id":"q2","kind":"approval","messageId":"m3","role":"dev"}}`,
			`message.closed {"messageId":"m3","questionId":"q2","reason":"withdrawn"}`,
			`question.asked {"question":{"id":"q3","kind":"login","role":"dev"}}`,
			`question.expired {"questionId":"q3"}`,
		}, `message m1 answered 0..7 in=0 type=question role=dev to=lead agent=a1 (db)
message m2 completed 1..1 in=0 type=feedback role=dev to=lead agent=a1
escalation m1 timeout 2..3 in=0 type=question role=dev to=cto agent=a3 #1 (no reply within 30000 ms)
escalation m1 answered 3..7 in=0 type=question role=dev to=user #2 (nobody is above)
question q1 answered 4..6 in=0 type=question role=dev agent=a1 (which?)
message m3 cancelled 8..10 in=0 type=question role=dev to=user agent=a1
question q2 cancelled 9..10 type=approval role=dev
question q3 expired 11..12 type=login role=dev
`},
		{"Cancelled", []string{
			`message.sent {"messageId":"m1","role":"dev","wantsReply":true}`,
			`question.asked {"question":{"id":"q1"}}`,
			`execution.cancelled {"reason":"enough"}`,
		}, `message m1 cancelled 0..2 role=dev
question q1 cancelled 1..2
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			journal := journalOf(t, test.journal...)
			fold := newFold()
			if err := fold.add(journal); err != nil {
				t.Fatal(err)
			}
			got := fold.result(timelineStart.Add(time.Hour))
			if text := outline(got); text != test.want {
				t.Errorf("got:\n%swant:\n%s", text, test.want)
			}
			if fold.lastSeq != uint64(len(journal)) {
				t.Errorf("last sequence %d, want %d", fold.lastSeq, len(journal))
			}
			for _, e := range got {
				until := timelineStart.Add(time.Hour)
				if e.EndedAt != nil {
					until = *e.EndedAt
				}
				if e.Duration != wire.MillisOf(until.Sub(e.StartedAt)) {
					t.Errorf("%s %s lasts %d ms", e.Kind, e.ID, e.Duration)
				}
			}
			for n := range journal { // every beginning of a journal makes a timeline
				part := newFold()
				if err := part.add(journal[:n]); err != nil {
					t.Fatal(err)
				}
				part.result(timelineStart)
			}
		})
	}
}

func TestTimelineDamagedJournal(t *testing.T) {
	err := newFold().add([]core.Event{{Seq: 7, Type: core.EventTaskAssigned, Data: json.RawMessage(`{"tasks":3}`)}})
	if err == nil || !strings.Contains(err.Error(), "journal entry 7 (task.assigned)") {
		t.Fatalf("got %v", err)
	}
}

func TestCutText(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aé", 2, "a…"}, {"日本", 4, "日…"}} {
		if got := clip.Marked(test.text, test.n, ellipsis); got != test.want {
			t.Errorf("%q cut to %d is %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

func FuzzTimelineFold(f *testing.F) {
	f.Add("task.assigned", `{"step":"a/b","tasks":[{"taskId":"t","attempt":1}]}`, "task.completed", `{"step":"a/b","taskId":"t"}`)
	f.Add("question.asked", `{"question":{"id":"q","text":"\u0000"}}`, "message.closed", `{"questionId":"q"}`)
	f.Add("step.started", `{"step":".1."}`, "execution.failed", `{"error":{"code":"TIMEOUT"}}`)
	f.Fuzz(func(t *testing.T, kind1, data1, kind2, data2 string) {
		fold := newFold()
		for i := range 4 {
			ev := core.Event{Seq: uint64(i + 1), Type: core.EventType(kind1), Data: json.RawMessage(data1)}
			if i%2 == 1 {
				ev.Type, ev.Data = core.EventType(kind2), json.RawMessage(data2)
			}
			if fold.add([]core.Event{ev}) != nil {
				return
			}
		}
		for _, e := range fold.result(timelineStart) {
			if e.Kind == "" || e.Status == "" {
				t.Fatalf("entry %+v lacks its kind or status", e)
			}
		}
	})
}

// The journal of a long workflow is folded in a moment.
func BenchmarkTimelineFold(b *testing.B) {
	var lines []string
	for i := range 10_000 {
		lines = append(lines,
			fmt.Sprintf(`step.started {"step":"%d","type":"assign","role":"dev"}`, i),
			fmt.Sprintf(`task.assigned {"step":"%d","tasks":[{"taskId":"t%d","agentId":"a1","attempt":1}]}`, i, i),
			fmt.Sprintf(`task.completed {"taskId":"t%d","step":"%d","agentId":"a1","attempt":1,"result":{"text":"done","list":[1,2,3]}}`, i, i),
			fmt.Sprintf(`step.completed {"step":"%d","result":{"text":"done","list":[1,2,3]},"kind":"assign"}`, i))
	}
	journal := journalOf(b, lines...)
	for b.Loop() {
		fold := newFold()
		if err := fold.add(journal); err != nil {
			b.Fatal(err)
		}
		if n := len(fold.result(timelineStart)); n != 20_000 {
			b.Fatal(n)
		}
	}
}

// An approval shows who answered it, and one that a policy left to people is open until somebody does.
func TestTimelineApprovals(t *testing.T) {
	f := newFold()
	err := f.add(journalOf(t,
		`prompt.ruled {"threadId":"thread_1","name":"fix","role":"engineer","tool":"Bash","text":"Run make?","ruling":{"promptId":"p-1","answer":"allow","by":"policy","rule":"tests"}}`,
		`prompt.ruled {"threadId":"thread_1","name":"fix","tool":"Bash","text":"Push?","ruling":{"promptId":"p-2","answer":"ask","by":"policy","rule":"push"}}`,
		`prompt.ruled {"threadId":"thread_2","name":"other","ruling":{"promptId":"p-2","answer":"ask","by":"policy","rule":"push"}}`,
		`prompt.ruled {"threadId":"thread_1","name":"fix","tool":"Bash","text":"Push?","ruling":{"promptId":"p-2","answer":"deny","by":"person","person":"ann"}}`,
		`prompt.ruled {}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	entries := f.result(timelineStart)
	want := `approval p-1 answered 0..0 type=Bash name=fix role=engineer (Run make?)
approval p-2 answered 1..3 type=Bash name=fix (Push?)
approval p-2 open 2..- name=other
`
	if got := outline(entries); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if a, b := entries[0].Ruling, entries[1].Ruling; a.Rule != "tests" || b.Person != "ann" || b.Answer != "deny" || entries[1].ThreadID != "thread_1" {
		t.Errorf("%+v, %+v", a, b)
	}
}

// An agent that does several tasks at once may serve a role several times; each time ends by itself.
func TestRoleServedTwice(t *testing.T) {
	f := newFold()
	err := f.add(journalOf(t,
		`role.bound {"role":"dev","instance":0,"agentId":"a1"}`,
		`role.bound {"role":"dev","instance":1,"agentId":"a1"}`,
		`role.released {"role":"dev","instance":0,"agentId":"a1","reason":"the agent was lost"}`,
		`role.released {"role":"dev","instance":1,"agentId":"a1","reason":"the agent was lost"}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	want := "role a1 lost 0..2 role=dev agent=a1 (the agent was lost)\nrole a1 lost 1..3 role=dev agent=a1 (the agent was lost)\n"
	if got := outline(f.result(timelineStart)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
