package main

import (
	"strings"
	"testing"
)

// record is what one agent wrote.
func record(t *testing.T, method, lines string) []entry {
	t.Helper()
	entries, err := readTaskLog(method, strings.NewReader(strings.TrimSpace(lines)))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestAudit_Clean(t *testing.T) {
	l := audit(append(record(t, "rules", `
{"time":"2026-01-01T00:00:00.1Z","msg":"registered","resumed":false}
{"time":"2026-01-01T00:00:01Z","msg":"began","task":"t1","execution":"e1"}
{"time":"2026-01-01T00:00:02Z","msg":"finished","task":"t1","execution":"e1"}
{"time":"2026-01-01T00:00:02.5Z","msg":"registered","resumed":true}
{"time":"2026-01-01T00:00:03Z","msg":"began","task":"t3","execution":"e2"}`),
		record(t, "bayes", `
{"time":"2026-01-01T00:00:01Z","msg":"began","task":"t2","execution":"e1"}
{"time":"2026-01-01T00:00:02Z","msg":"finished","task":"t2","execution":"e1"}
{"time":"2026-01-01T00:00:05Z","msg":"began","task":"t3","execution":"e2"}
{"time":"2026-01-01T00:00:06Z","msg":"finished","task":"t3","execution":"e2"}`)...))
	if len(l.problems) != 0 || l.again != 0 {
		t.Errorf("problems %v: a task may be begun again as long as nobody finished it", l.problems)
	}
	if l.began != 4 || l.finished != 3 || l.unfinished != 1 || l.sessions != 2 || l.resumed != 1 ||
		l.byExecution["e1"] != 2 || l.byExecution["e2"] != 1 {
		t.Errorf("got %+v", l)
	}
}

func TestAudit_DoneAgain(t *testing.T) {
	// The other agent's record comes first: only the time tells the order.
	l := audit(append(record(t, "bayes", `
{"time":"2026-01-01T00:00:03Z","msg":"began","task":"t1","execution":"e1"}
{"time":"2026-01-01T00:00:04Z","msg":"finished","task":"t1","execution":"e1"}`),
		record(t, "rules", `
{"time":"2026-01-01T00:00:01Z","msg":"began","task":"t1","execution":"e1"}
{"time":"2026-01-01T00:00:02Z","msg":"finished","task":"t1","execution":"e1"}`)...))
	want := "task t1 was begun by bayes after rules had finished it; task t1 was finished by rules and by bayes"
	if got := strings.Join(l.problems, "; "); got != want {
		t.Errorf("problems %q, want %q", got, want)
	}
	if l.again != 2 || l.byExecution["e1"] != 1 {
		t.Errorf("got %+v", l)
	}
}

func TestReadTaskLog_Broken(t *testing.T) {
	if _, err := readTaskLog("rules", strings.NewReader("{}\n{\"msg\":")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}
