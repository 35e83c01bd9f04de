package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// roundResult is the result of a round.
type roundResult struct {
	number   int
	faults   faults
	counts   counts
	evidence *proof.Evidence // or nil when it could not be gathered
	findings []proof.Finding
	problems []error // what broke beside the findings
	took     time.Duration

	questions, refused int // answered by people, and second answers to them
}

func (r roundResult) broken() bool { return len(r.findings)+len(r.problems) > 0 }

func (r roundResult) executions() int {
	if r.evidence == nil {
		return 0
	}
	return len(r.evidence.Executions)
}

// handouts counts the tasks that agents got.
func (r roundResult) handouts() int {
	if r.evidence == nil {
		return 0
	}
	n := 0
	for _, e := range r.evidence.Entries {
		if e.Kind == proof.EntryHandout {
			n++
		}
	}
	return n
}

// print prints the round's line.
func (r roundResult) print(out io.Writer) {
	verdict := "ok"
	if r.broken() {
		verdict = fmt.Sprintf("BROKEN (%d)", len(r.findings)+len(r.problems))
	}
	fmt.Fprintf(out, "round %3d  %-10s %5.1fs  %4d executions %5d tasks %2d batches %3d cancels %2d retries %3d streams (%d resumed)  %s\n",
		r.number, verdict, r.took.Seconds(), r.executions(), r.handouts(), r.counts.batches,
		r.counts.cancels, r.counts.retries, r.counts.streams, r.counts.resumed, r.faults)
}

// explained is how many findings are printed with all that is known about their execution.
const explained = 5

// explain prints everything that broke.
func (r roundResult) explain(out io.Writer, dir string) {
	fmt.Fprintf(out, "\nround %d broke promises:\n", r.number)
	for _, err := range r.problems {
		fmt.Fprintf(out, "  %v\n", err)
	}
	for _, f := range r.findings {
		fmt.Fprintf(out, "  %s\n", f)
	}
	shown := map[string]bool{}
	for _, f := range r.findings {
		if r.evidence == nil || shown[f.ID] || len(shown) >= explained {
			continue
		}
		shown[f.ID] = true
		r.tell(out, f.ID)
	}
	fmt.Fprintf(out, "\nthe core's log: %s/core.log; agents: %s/rig-*.log and rig-*.record\n", dir, dir)
}

// tell prints the evidence on one execution or batch.
func (r roundResult) tell(out io.Writer, id string) {
	fmt.Fprintf(out, "\n%s\n", id)
	if e := r.evidence.Executions[id]; e != nil {
		fmt.Fprintf(out, "  stored   %s\n", show(e))
	}
	if b := r.evidence.Batches[id]; b != nil {
		fmt.Fprintf(out, "  stored   %s\n", show(b))
	}
	for _, p := range r.evidence.Promises {
		if p.ID == id {
			fmt.Fprintf(out, "  told     %s\n", show(p))
		}
	}
	for _, s := range r.evidence.Sightings {
		if s.ID == id {
			fmt.Fprintf(out, "  seen     %s %s done %d\n", s.Got.Format(time.StampMicro), s.Status, s.Done)
		}
	}
	for _, ev := range r.evidence.Journals[id] {
		fmt.Fprintf(out, "  journal  %d %s %s\n", ev.Sequence, ev.Type, ev.Data)
	}
	for _, s := range r.evidence.Streams {
		if s.ExecutionID == id {
			fmt.Fprintf(out, "  stream   %s\n", show(s))
		}
	}
	tasks := map[string]bool{}
	for _, e := range r.evidence.Entries {
		if e.ExecutionID == id {
			tasks[e.TaskID] = true
		}
	}
	entries := slices.Clone(r.evidence.Entries)
	slices.SortStableFunc(entries, func(a, b proof.Entry) int { return int(min(max(a.At-b.At, -1), 1)) })
	for _, e := range entries {
		if tasks[e.TaskID] {
			fmt.Fprintf(out, "  %-8s %s %s (%s) %s attempt %d %s\n", e.Name, time.Unix(0, e.At).UTC().Format(time.StampMicro),
				e.Kind, e.AgentID, e.TaskID, e.Attempt, e.Result)
		}
	}
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func quote(text string) string { return show(text) }

// summary adds up the rounds.
type summary struct {
	began                      time.Time
	rounds, executions, tasks  int
	batches, cancels, retries  int
	streams, resumed, crashes  int
	keyed, promises, sightings int
	plugins                    int // kills of the runtime's plugin
	messages, unknown          int // to managed agents
	charts, replies            int // org charts, and messages in them
	questions, refused         int
	hosts                      int // kills of hosts of threads
	threads, words, events     int // managed threads, messages to them, and their events
	answers                    int // to what they asked
	steps, ahead               int // of the clock, and starts with it ahead
	taken                      int // times that their streams were taken up again
}

func (s *summary) addThreads(r threadResult) {
	s.rounds++
	s.plugins += r.plugins
	s.hosts += r.hosts
	s.threads += r.threads
	s.words += r.messages
	s.answers += r.answers
	s.events += r.events
	s.taken += r.resumed
}

func (s *summary) addShells(r shellResult) {
	s.rounds++
	s.plugins += r.plugins
	s.messages, s.unknown = r.counts[fateSent], r.counts[fateUnknown]
}

func (s *summary) add(r roundResult) {
	s.rounds++
	s.steps += r.faults.clock.steps()
	if r.faults.clock.start {
		s.ahead++
	}
	s.executions += r.executions()
	s.tasks += r.handouts()
	s.batches += r.counts.batches
	s.cancels += r.counts.cancels
	s.retries += r.counts.retries
	s.streams += r.counts.streams
	s.resumed += r.counts.resumed
	if r.faults.agent >= 0 {
		s.crashes++
	}
	if r.faults.second >= 0 && r.faults.second != r.faults.agent {
		s.crashes++
	}
	s.questions += r.questions
	s.refused += r.refused
	if r.evidence == nil {
		return
	}
	charts, replies := talk(r.evidence)
	s.charts += charts
	s.replies += replies
	s.promises += len(r.evidence.Promises)
	s.sightings += len(r.evidence.Sightings)
	for _, p := range r.evidence.Promises {
		if p.Key != "" {
			s.keyed++
		}
	}
}

// print prints the table at the end of a run in which nothing broke.
func (s *summary) print(out io.Writer, r *rig) {
	core := r.server
	times := slices.Clone(core.readyTimes)
	slices.Sort(times)
	fmt.Fprintln(out)
	for _, row := range []struct{ name, value string }{
		{"rounds", fmt.Sprintf("%d in %s", s.rounds, time.Since(s.began).Round(time.Second))},
		{"kill -9", fmt.Sprintf("%d of the core, %d of agents, %d of hosts of threads, %d of the runtime's plugin; %d orderly ends of the core",
			core.kills, s.crashes, s.hosts, s.plugins, core.drains)},
		{"start to ready", fmt.Sprintf("p50 %d ms, longest %d ms, %d starts", times[len(times)/2].Milliseconds(), times[len(times)-1].Milliseconds(), len(times))},
		{"executions", fmt.Sprintf("%d, with %d tasks handed out", s.executions, s.tasks)},
		{"acknowledged", fmt.Sprintf("%d (%d with keys; %d batches, %d cancels, %d retries)", s.promises, s.keyed, s.batches, s.cancels, s.retries)},
		{"streams", fmt.Sprintf("%d, %d of them resumed over a kill", s.streams, s.resumed)},
		{"states seen", fmt.Sprint(s.sightings)},
		{"org charts", fmt.Sprintf("%d, with %d messages replied to; people answered %d questions, and %d second answers were refused",
			s.charts, s.replies, s.questions, s.refused)},
		{"managed agents", fmt.Sprintf("%d messages acknowledged, each delivered once; %d of unknown fate", s.messages, s.unknown)},
		{"managed threads", fmt.Sprintf("%d, with %d messages acknowledged, %d answers and %d events; their streams were resumed %d times",
			s.threads, s.words, s.answers, s.events, s.taken)},
		{"clock", fmt.Sprintf("set %d times; %d starts with it a month ahead, each with a run of retention", s.steps, s.ahead)},
		{"hostile agents", r.horde.String()},
		{"small disk", fmt.Sprintf("filled and freed %d times, %d starts while it was full", r.diskCounts.filled, r.diskCounts.starts)},
		{"poisoned", fmt.Sprintf("%d records, one in each table of copies of the store, found and repaired", r.poisoned)},
		{"memory", fmt.Sprintf("%d MiB at most", core.memory>>20)},
		{"store", "dumped and verified after the end"},
		{"broken promises", "none"},
	} {
		fmt.Fprintf(out, "%-16s %s\n", row.name, row.value)
	}
}
