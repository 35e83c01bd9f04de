package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"time"
)

const managedThreads = "/api/managed-threads"

// workFile is what agents write in their workspaces.
const workFile = "work"

// threadKind says where the agent of a thread runs.
type threadKind string

const (
	threadHosted threadKind = "hosted" // at a connected agent
	threadShell  threadKind = "shell"  // in the runtime, in an empty directory
	threadRepo   threadKind = "repo"   // in the runtime, in a worktree
)

// threadEnd is how a thread is to come to its end.
type threadEnd string

const (
	endReport   threadEnd = "report"   // the agent reports that it is done, after all its messages
	endExit     threadEnd = "exit"     // the agent dies of its last message
	endComplete threadEnd = "complete" // somebody completes it, whatever waits
	endStop     threadEnd = "stop"     // somebody stops it, whatever waits
)

// threadEnds are drawn from; the first is the most usual one.
var threadEnds = []threadEnd{endReport, endReport, endReport, endExit, endComplete, endStop, endStop}

// thread is a managed thread of a round, and what its driver was told of it.
type thread struct {
	name   string // names it in the whole run, and begins its messages
	kind   threadKind
	end    threadEnd
	repo   string // URL, of threadRepo
	ledger string // known once it was spawned; of one in a container once its record was read
	boxed  bool   // its agent has a container, which has nothing of this machine but its workspace

	id, executionID string
	refused         bool // its execution was over before it could be spawned
	sent            []message
}

// threadRecord is a thread as the core tells of it.
type threadRecord struct {
	ID, ExecutionID, Status, StatusReason string
	TurnCount, EventCount, QueuedInputs   int
	Restarts                              int
	Workspace                             *struct{ Path string }
	Completion                            *struct {
		State   string
		Summary string
		Changes *struct{ CommitCount, Uncommitted int }
	}
}

func (r *threadRecord) over() bool {
	return r.Status == "completed" || r.Status == "failed" || r.Status == "stopped"
}

// words are the messages of a thread: its objective first, then a burst, then the one of which it ends.
func (t *thread) words(random *rand.Rand) []string {
	words := make([]string, 2+random.IntN(10))
	for i := range words {
		words[i] = fmt.Sprintf("word %s %d", t.name, i+1)
		if t.kind == threadHosted && random.IntN(4) == 0 {
			words[i] = fmt.Sprintf("%s%s %d", wordAsk, t.name, i+1)
		}
	}
	switch t.end {
	case endReport:
		words = append(words, wordReport+t.name)
	case endExit:
		words = append(words, wordExit+t.name)
	}
	return words
}

// text is a message that makes the agent write words down.
func (t *thread) text(words string) string {
	if t.kind == threadHosted {
		return words
	}
	text := fmt.Sprintf("echo '%s' >>%s", words, workFile)
	if !t.boxed {
		text = fmt.Sprintf("echo '%s' >>%s", words, t.ledger)
		if t.kind == threadRepo {
			text += fmt.Sprintf("; echo '%s' >>%s", words, workFile)
		}
	}
	switch words {
	case wordExit + t.name:
		return text + "; exit 3"
	case wordReport + t.name:
		return text + "; echo '" + reportBlock(words) + "'"
	}
	return text + "; echo 'got " + words + "'"
}

// run drives a thread from its spawn to the request that ends it. An error is a broken promise.
func (t *thread) run(ctx context.Context, c *caller, ledgers string, random *rand.Rand) error {
	words := t.words(random)
	if t.kind != threadHosted && !t.boxed {
		t.ledger = filepath.Join(ledgers, t.name)
	}
	if err := t.spawn(ctx, c, words[0]); err != nil || t.refused {
		return err
	}
	if t.kind == threadHosted {
		t.ledger = filepath.Join(ledgers, t.id)
	}
	for _, w := range words[1:] {
		if random.IntN(100) < 15 && !pause(ctx, time.Duration(random.IntN(200))*time.Millisecond) {
			return ctx.Err()
		}
		if open, err := t.send(ctx, c, w); err != nil || !open {
			return err
		}
	}
	switch t.end {
	case endComplete, endStop:
		if !pause(ctx, time.Duration(random.IntN(400))*time.Millisecond) {
			return ctx.Err()
		}
		return t.finish(ctx, c)
	}
	return nil
}

// spawn starts the thread, with the first message as its objective.
func (t *thread) spawn(ctx context.Context, c *caller, words string) error {
	kind := scribeType
	workspace := ""
	if t.kind != threadHosted {
		kind = "shell"
	}
	if t.kind == threadRepo {
		workspace = fmt.Sprintf(`,"preparation":{"workspace":{"repo":%s}}`, quote(t.repo))
	}
	body := fmt.Appendf(nil, `{"executionId":%s,"agentType":%q,"name":%q,"role":"rig","objective":%s,"policy":{"finish":{"commit":%t}}%s}`,
		quote(t.executionID), kind, t.name, quote(t.text(words)), t.kind == threadRepo, workspace)
	r, err := c.call(ctx, http.MethodPost, managedThreads, t.name, body)
	switch {
	case err != nil:
		return fmt.Errorf("spawn %s: %w", t.name, err)
	case r.status == http.StatusConflict && t.executionID != "new":
		t.refused = true // everything else of the execution was over
		return nil
	case r.status != http.StatusCreated:
		return &unexpectedError{"POST " + managedThreads + " " + t.name, r}
	}
	var record threadRecord
	if err := r.into(&record); err != nil {
		return err
	}
	t.id, t.executionID = record.ID, record.ExecutionID
	t.sent = append(t.sent, message{text: words, fate: fateSent})
	return nil
}

// send sends a message under its key until it is answered. open is false once the thread takes no more.
func (t *thread) send(ctx context.Context, c *caller, words string) (open bool, err error) {
	t.sent = append(t.sent, message{text: words})
	fate := &t.sent[len(t.sent)-1].fate
	body := fmt.Appendf(nil, `{"message":%s}`, quote(t.text(words)))
	path := managedThreads + "/" + t.id + "/send"
	maybe := false // an answer was lost: it may have been taken
	for {
		r, lost, err := c.once(ctx, http.MethodPost, path, t.name+" "+words, body)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, fmt.Errorf("message %s: no answer in time: %w", words, ctx.Err())
		case err != nil:
			maybe = maybe || lost
		case r.status == http.StatusOK:
			*fate = fateSent
			return true, nil
		case r.status == http.StatusConflict:
			if *fate = fateNot; maybe {
				*fate = fateUnknown
			}
			return false, nil
		case r.status != http.StatusServiceUnavailable && r.status != http.StatusTooManyRequests:
			return false, &unexpectedError{"POST " + path + " " + words, r}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return false, fmt.Errorf("message %s: no answer in time", words)
		}
	}
}

// finish completes or stops the thread; one that is over by itself is left.
func (t *thread) finish(ctx context.Context, c *caller) error {
	method, path, body := http.MethodDelete, managedThreads+"/"+t.id, []byte(nil)
	want := http.StatusNoContent
	if t.end == endComplete {
		method, path, body = http.MethodPost, path+"/complete", []byte(`{}`)
		want = http.StatusOK
	}
	for {
		r, err := c.call(ctx, method, path, "", body)
		switch {
		case errors.Is(err, errLost): // it is not known; asked again it is over, or ends now
		case err != nil:
			return fmt.Errorf("end %s: %w", t.name, err)
		case r.status == want || r.status == http.StatusConflict && t.end == endComplete:
			return nil
		default:
			return &unexpectedError{method + " " + path, r}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}
