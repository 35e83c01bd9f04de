package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// threadRound is which of four rounds is one of managed threads; see shellEvery.
const threadRound = 2

// threadGroup is the threads of one execution. The first one holds the execution open for the others.
type threadGroup struct {
	threads []*thread
	stream  threadStream
	events  map[string][]threadEvent // that are stored, by thread; gathered for the proof
	records map[string]*threadRecord

	answers answerers // read after run
}

// answerers are the people who answer what the threads of an execution ask. Not safe for concurrent use.
type answerers struct {
	given int            // answers that were taken
	tries map[string]int // answers that may have been taken, by prompt
}

// threadResult is the result of a round of managed threads.
type threadResult struct {
	number   int
	strikes  []strike
	plugins  int // kills of the plugin
	hosts    int // and of hosts
	threads  int
	ends     map[string]int // threads by status
	messages int            // acknowledged
	events   int
	answers  int // of people
	resumed  int // connections that took a stream up again
	took     time.Duration
	problems []error
}

// drawThreadStrikes draws the faults of a round: those of managed agents, and hosts that die.
func drawThreadStrikes(random *rand.Rand, hosts int, runtime bool) []strike {
	list := drawStrikes(random)
	for i := range list {
		if !runtime {
			list[i].core, list[i].plugin = list[i].core || list[i].plugin, false
		}
		if random.IntN(100) < 50 {
			list[i].host = 1 + random.IntN(hosts)
			list[i].fresh = random.IntN(4) == 0
		}
	}
	return list
}

// drawThreads draws the threads of a group. boxed says that their runtime has containers.
func drawThreads(random *rand.Rand, n int, mark, repo string, runtime, boxed bool) *threadGroup {
	g := &threadGroup{threads: []*thread{{name: mark + "-0", kind: threadHosted, end: endComplete, executionID: "new"}}}
	kinds := []threadKind{threadHosted, threadShell, threadHosted, threadRepo, threadHosted}
	if !runtime {
		kinds = kinds[:1]
	}
	for i := range n {
		kind := kinds[i%len(kinds)]
		g.threads = append(g.threads, &thread{
			name: fmt.Sprintf("%s-%d", mark, i+1), kind: kind, end: threadEnds[random.IntN(len(threadEnds))], repo: repo, boxed: boxed && kind != threadHosted,
		})
	}
	return g
}

// threadRound runs threads from spawn to end while core, plugin and hosts die, and proves that each had its messages
// once and in order, that each came to its end, and that the record of it is whole.
func (r *rig) threadRound(ctx context.Context, number int) (threadResult, error) {
	result := threadResult{
		number: number, strikes: drawThreadStrikes(r.random, len(r.hosts.players), r.shells != nil), ends: map[string]int{},
	}
	if r.engine != nil {
		drawEngineFaults(r.random, result.strikes)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, killWithin+4*readyLimit+settleLimit)
	defer cancel()
	var groups []*threadGroup
	var drivers sync.WaitGroup
	var mu sync.Mutex // guards result.problems
	for i := range 2 {
		g := drawThreads(r.random, r.options.threads, fmt.Sprintf("%s-%d-%d", r.name, number, i), r.repo, r.shells != nil, r.engine != nil)
		groups = append(groups, g)
		random := rand.New(rand.NewPCG(r.random.Uint64(), r.random.Uint64()))
		drivers.Go(func() {
			problems := g.run(ctx, r.caller, r.hosts.ledgers, random)
			mu.Lock()
			defer mu.Unlock()
			result.problems = append(result.problems, problems...)
		})
	}
	var err error
	if result.plugins, err = r.strikeAll(ctx, result.strikes); err != nil {
		cancel() // the drivers would wait for a core that is gone
	}
	patience := time.AfterFunc(settleLimit, cancel)
	drivers.Wait()
	patience.Stop()
	if err != nil {
		return result, err
	}
	if err := r.hosts.alive(); err != nil {
		result.problems = append(result.problems, err)
	}
	r.proveThreads(groups, &result)
	result.took = time.Since(began)
	return result, nil
}

// run drives the threads of a group until all are over, and their events are on the stream.
func (g *threadGroup) run(ctx context.Context, c *caller, ledgers string, random *rand.Rand) (problems []error) {
	first := g.threads[0]
	if err := first.begin(ctx, c, ledgers); err != nil {
		return []error{err}
	}
	g.stream.caller, g.stream.executionID = c, first.executionID
	watching, unwatch := context.WithCancel(ctx)
	var readers, drivers sync.WaitGroup
	readers.Go(func() { g.stream.run(watching) })
	var answering error // read after readers
	asking, unask := context.WithCancel(ctx)
	readers.Go(func() {
		answering = g.answers.run(asking, c, first.executionID)
		if asking.Err() != nil { // it was told to end
			answering = nil
		}
	})
	defer unask()
	defer readers.Wait()
	defer unwatch()
	errs := make([]error, len(g.threads))
	for i, t := range g.threads[1:] {
		t.executionID = first.executionID
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		drivers.Go(func() {
			if errs[i+1] = t.run(ctx, c, ledgers, own); errs[i+1] == nil && !t.refused {
				errs[i+1] = t.await(ctx, c)
			}
		})
	}
	drivers.Wait()
	if errs[0] = first.finish(ctx, c); errs[0] == nil {
		errs[0] = first.await(ctx, c)
	}
	unask()
	problems = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(problems) == 0 {
		problems = g.gather(ctx, c)
	}
	unwatch()
	readers.Wait()
	if answering != nil {
		problems = append(problems, answering)
	}
	return problems
}

// run gives leave to the threads of an execution until ctx ends. A thread that still asks, or again, is answered again:
// its core may have died over the answer.
func (a *answerers) run(ctx context.Context, c *caller, executionID string) error {
	a.tries = map[string]int{}
	for {
		var page struct {
			Threads []struct {
				ID     string
				Prompt struct{ ID string }
			}
		}
		if _, _, err := c.get(ctx, managedThreads+"?limit=100&status=blocked&executionId="+executionID, &page); err != nil {
			return err
		}
		for _, t := range page.Threads {
			path := managedThreads + "/" + t.ID + "/answer"
			r, err := c.call(ctx, http.MethodPost, path, "", fmt.Appendf(nil, `{"promptId":%q,"choice":"allow"}`, t.Prompt.ID))
			switch {
			case errors.Is(err, errLost):
				a.tries[t.Prompt.ID]++
			case err != nil:
				return err
			case r.status == http.StatusOK:
				a.given++
				a.tries[t.Prompt.ID]++
			case r.status != http.StatusConflict: // it does not ask any more
				return &unexpectedError{"POST " + path, r}
			}
		}
		if !pause(ctx, 25*time.Millisecond) {
			return nil
		}
	}
}

// begin spawns the thread that holds its execution open.
func (t *thread) begin(ctx context.Context, c *caller, ledgers string) error {
	err := t.spawn(ctx, c, "word "+t.name+" 1")
	t.ledger = ledgers + "/" + t.id
	return err
}

// await waits until the thread is over.
func (t *thread) await(ctx context.Context, c *caller) error {
	for {
		var record threadRecord
		r, found, err := c.get(ctx, managedThreads+"/"+t.id, &record)
		switch {
		case err != nil:
			return fmt.Errorf("thread %s: %w", t.id, err)
		case !found:
			return fmt.Errorf("lost: the thread %s was acknowledged and is not known any more", t.id)
		case record.over():
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("the thread %s, which is to end by %s, does not: %.700s", t.id, t.end, r.body)
		}
	}
}

// gather reads what is stored of the threads, and waits until the stream has shown it.
func (g *threadGroup) gather(ctx context.Context, c *caller) []error {
	g.events, g.records = map[string][]threadEvent{}, map[string]*threadRecord{}
	last := uint64(0)
	for _, t := range g.threads {
		if t.refused {
			continue
		}
		events, err := t.events(ctx, c)
		if err != nil {
			return []error{err}
		}
		record := new(threadRecord)
		if _, _, err := c.get(ctx, managedThreads+"/"+t.id, record); err != nil {
			return []error{err}
		}
		g.events[t.id], g.records[t.id] = events, record
		if t.boxed && record.Workspace != nil { // else it was over before it had one, and got nothing
			t.ledger = filepath.Join(record.Workspace.Path, workFile)
		}
		if len(events) > 0 {
			last = max(last, events[len(events)-1].Sequence)
		}
	}
	for g.stream.last() < last {
		if _, _, problem := g.stream.state(); problem != nil {
			return []error{problem}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return []error{fmt.Errorf("the stream of %s stays at %d and does not get to %d", g.stream.executionID, g.stream.last(), last)}
		}
	}
	return nil
}

// proveThreads judges the round.
func (r *rig) proveThreads(groups []*threadGroup, result *threadResult) {
	ctx, cancel := context.WithTimeout(context.Background(), collectLimit)
	defer cancel()
	lossy := false
	for _, s := range result.strikes {
		if s.host > 0 {
			result.hosts++
		}
		lossy = lossy || s.fresh
	}
	for _, g := range groups {
		result.problems = append(result.problems, g.prove(ctx, r.caller, lossy)...)
		for _, t := range g.threads {
			if t.refused {
				continue
			}
			result.threads++
			if record := g.records[t.id]; record != nil {
				result.ends[record.Status]++
			}
			for _, m := range t.sent {
				if m.fate == fateSent {
					result.messages++
				}
			}
			result.events += len(g.events[t.id])
		}
		_, resumes, _ := g.stream.state()
		result.resumed += resumes
		result.answers += g.answers.given
	}
	if r.shells != nil {
		if err := r.shells.alone(ctx); err != nil {
			result.problems = append(result.problems, err)
		}
	}
}

// alone waits until nothing runs beside the shells: the agents of threads are gone with these.
func (s *shells) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for {
		err := s.orphans()
		if err == nil || !pause(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

// print prints the round's line.
func (r threadResult) print(out io.Writer) {
	verdict := "ok"
	if len(r.problems) > 0 {
		verdict = fmt.Sprintf("BROKEN (%d)", len(r.problems))
	}
	fmt.Fprintf(out, "round %3d  %-10s %5.1fs  managed threads: %d (%d completed, %d failed, %d stopped), %d messages, %d answers, %d events, streams resumed %d times  kill %s\n",
		r.number, verdict, r.took.Seconds(), r.threads, r.ends["completed"], r.ends["failed"], r.ends["stopped"], r.messages,
		r.answers, r.events, r.resumed, strikeText(r.strikes))
}

// explain prints everything that broke.
func (r threadResult) explain(out io.Writer, dir string) {
	fmt.Fprintf(out, "\nround %d broke promises:\n", r.number)
	for _, err := range r.problems {
		fmt.Fprintf(out, "  %v\n", err)
	}
	fmt.Fprintf(out, "\nthe core's log: %s/core.log; the hosts': %s/host-*.log; what agents got: %s/ledgers\n", dir, dir, dir)
}

// events reads all stored events of the thread.
func (t *thread) events(ctx context.Context, c *caller) (all []threadEvent, err error) {
	since := uint64(0)
	for {
		var page struct {
			Events    []threadEvent
			HasMore   bool
			NextSince uint64
		}
		path := fmt.Sprintf("%s/%s/events?limit=100&since=%d&type=%s", managedThreads, t.id, since, everyEvent)
		r, found, err := c.get(ctx, path, &page)
		if err == nil && !found {
			err = &unexpectedError{http.MethodGet + " " + path, r}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if !page.HasMore {
			return all, nil
		}
		since = page.NextSince
	}
}
