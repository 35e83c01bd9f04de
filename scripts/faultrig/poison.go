package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
)

// poisonMagic is the number that the product marks its databases with.
const poisonMagic = 0x5752

// poison is what no table can decode: no JSON, and no number of any width.
var poison = []byte("{\xff\x00")

// poisoned are the records that were made unreadable.
type poisoned struct {
	tables []string
	keys   map[string]bool
}

// touches reports whether an execution reads otherwise for them.
func (p *poisoned) touches(id string) bool { return p.keys["x/"+id] }

// tableOf names the table of a key: all up to the first slash, or the second one for indexes; of what there is one of
// each, the whole key.
func tableOf(key []byte) string {
	head, rest, found := bytes.Cut(key, []byte("/"))
	switch {
	case !found || string(head) == "meta":
		return string(key)
	case string(head) == "ix":
		next, _, _ := bytes.Cut(rest, []byte("/"))
		return "ix/" + string(next) + "/"
	}
	return string(head) + "/"
}

// poisonStore overwrites one record of each table of a stopped store, a random one. It uses the database as the product
// does, so that the files are as whole as a fault above them would leave them.
func poisonStore(dir string, random *rand.Rand) (*poisoned, error) {
	db, err := badger.Open(badger.DefaultOptions(dir).WithExternalMagic(poisonMagic).WithLogger(nil).
		WithMemTableSize(4 << 20).WithValueLogFileSize(64 << 20).WithValueThreshold(512 << 10))
	if err != nil {
		return nil, err
	}
	p, err := poisonTables(db, random)
	return p, errors.Join(err, db.Close())
}

func poisonTables(db *badger.DB, random *rand.Rand) (*poisoned, error) {
	chosen, seen := map[string]string{}, map[string]int{}
	err := db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			table := tableOf(it.Item().Key())
			if seen[table]++; random.IntN(seen[table]) == 0 {
				chosen[table] = string(it.Item().Key())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Of the two records of the schema version one may be broken; see the product's tests for both.
	if copies := []string{"meta/schema", "meta/schema-copy"}; chosen[copies[0]] != "" && chosen[copies[1]] != "" {
		delete(chosen, copies[random.IntN(2)])
	}
	p := &poisoned{keys: map[string]bool{}}
	return p, db.Update(func(txn *badger.Txn) error {
		for table, key := range chosen {
			p.tables = append(p.tables, table)
			p.keys[key] = true
			if err := txn.Set([]byte(key), poison); err != nil {
				return err
			}
		}
		slices.Sort(p.tables)
		return nil
	})
}

// poisonRound copies the store at rest, makes one record in each table of the copy unreadable, and proves that a core
// starts on it and serves everybody else, says so, and that check and repair find and remove them.
func (r *rig) poisonRound(ctx context.Context, number int) (roundResult, error) {
	began := time.Now()
	result := roundResult{number: number}
	dir := filepath.Join(r.dir, "poison-"+strconv.Itoa(number))
	data := filepath.Join(dir, "data")
	if err := r.server.drain(ctx, readyLimit); err != nil {
		return result, err
	}
	err := copyStore(data, r.data())
	if err := errors.Join(err, r.restart(ctx)); err != nil {
		return result, err
	}
	p, err := poisonStore(data, r.random)
	if err != nil {
		return result, fmt.Errorf("poison %s: %w", data, err)
	}
	result.faults.poison = fmt.Sprintf("one record made unreadable in each of %d tables", len(p.tables))
	r.say("round %d: %s", number, strings.Join(p.tables, " "))
	r.poisoned += len(p.tables)
	sub := r.sub(dir, number)
	sub.ids, sub.bodies = r.ids, r.bodies
	defer sub.end()
	problems, err := sub.poisonedCore(ctx, p)
	result.problems = problems
	result.took = time.Since(began)
	if err == nil && !result.broken() && !r.keep {
		err = os.RemoveAll(dir)
	}
	return result, err
}

// poisonLimit bounds the looks at a poisoned store and its repair, which go over all of it several times.
const poisonLimit = 20 * time.Minute

// poisonedCore runs a core on the poisoned store, repairs it, and runs one again.
func (r *rig) poisonedCore(ctx context.Context, p *poisoned) (problems []error, err error) {
	ctx, cancel := context.WithTimeout(ctx, poisonLimit)
	defer cancel()
	if r.hooks, err = newHooks(r.dir); err != nil {
		return nil, err
	}
	if r.server, err = newServer(r.binary, r.dir, r.data(), "", r.clock); err != nil {
		return nil, err
	}
	r.caller = newCaller(r.server.URL)
	if problems = r.finds(ctx, p); len(problems) > 0 {
		return problems, nil
	}
	if err := r.restart(ctx); err != nil {
		return []error{fmt.Errorf("with a poisoned record in each table: %w", err)}, nil
	}
	problems = append(problems, r.servesOthers(ctx, p, "with a poisoned record in each table")...)
	problems = append(problems, r.raisesAlert(ctx)...)
	if err := r.server.kill(); err != nil {
		return problems, err
	}
	problems = append(problems, r.repairs(ctx)...)
	if err := r.restart(ctx); err != nil {
		return append(problems, fmt.Errorf("after the repair: %w", err)), nil
	}
	problems = append(problems, r.servesOthers(ctx, p, "after the repair")...)
	return problems, r.server.drain(ctx, readyLimit)
}

// lists are what a client may list, whatever became of single records.
var lists = []string{
	"executions", "patterns", "agents", "managed-agents", "managed-threads", "questions", "webhooks", "workspaces", "batches",
	"managed-threads/experiences", "schedules", "triggers", "inbox", "audit",
}

// servesOthers proves that all but the poisoned records are served, and new work is done.
func (r *rig) servesOthers(ctx context.Context, p *poisoned, when string) (problems []error) {
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(when+": "+format, args...))
	}
	for _, name := range lists {
		reply, err := r.caller.call(ctx, http.MethodGet, "/api/"+name+"?limit=100", "", nil)
		switch {
		case err != nil:
			problem("%w", err)
		case reply.status == http.StatusNotFound:
			problem("there is no list of %s", name)
		case reply.status != http.StatusOK:
			problem("the list of %s is answered %d %.300s", name, reply.status, reply.body)
		}
	}
	if reply, err := r.caller.call(ctx, http.MethodGet, "/api/overview", "", nil); err != nil || reply.status != http.StatusOK {
		problem("the overview is answered %d %.300s, %v", reply.status, reply.body, err)
	}
	all := r.ids
	r.ids = slices.DeleteFunc(slices.Clone(all), p.touches)
	for _, err := range r.unchanged(ctx, 200) {
		problem("%w", err)
	}
	r.ids = all
	if err := r.worksAnew(ctx); err != nil {
		problem("new work: %w", err)
	}
	return problems
}

// worksAnew has an agent of this process do new work.
func (r *rig) worksAnew(ctx context.Context) error {
	name := fmt.Sprintf("rig-anew-%d", r.random.Uint32())
	source := strings.ReplaceAll(madeSource(name), "[work]", "["+name+"]")
	if err := (&client{load: &load{caller: r.caller, told: &told{}}}).create(ctx, name, fmt.Appendf(nil, `{"definition":%s}`, quote(source))); err != nil {
		return err
	}
	agents, err := testbed.RunAgents(ctx, 1, func(int) agent.Options {
		return agent.Options{
			URL: r.server.URL, Name: name, Capabilities: []string{name}, Logger: slog.New(slog.DiscardHandler),
			Handler: func(_ context.Context, task *agent.Task) (any, error) { return answer(task.Input, name), nil },
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = agents.End() }() // what counts is that the work is done
	body := fmt.Appendf(nil, `{"input":%s,"options":{"timeout":20000}}`, taskInput{Text: name}.raw())
	reply, err := r.caller.call(ctx, http.MethodPost, "/api/patterns/"+name+"/execute", name, body) // again while it is 503
	if err != nil {
		return err
	}
	_, err = readStarted(reply, http.StatusOK)
	return err
}

// raisesAlert waits until receivers of alerts, health and metrics know of the records.
func (r *rig) raisesAlert(ctx context.Context) []error {
	deadline := time.Now().Add(quietLimit)
	for {
		var missing []error
		if r.hooks.alerts() == 0 {
			missing = append(missing, errors.New("poisoned records: no alert reached the webhook"))
		}
		health, err := r.caller.call(ctx, http.MethodGet, "/api/health?detailed=true", "", nil)
		if err == nil && !bytes.Contains(health.body, []byte(`"degraded"`)) {
			missing = append(missing, fmt.Errorf("poisoned records: the health is %.500s", health.body))
		}
		metrics, metricsErr := r.caller.call(ctx, http.MethodGet, "/api/metrics", "", nil)
		if metricsErr == nil && !brokenCounted(metrics.body) {
			missing = append(missing, errors.New("poisoned records: the metric service_store_broken_records does not count them"))
		}
		if err := errors.Join(err, metricsErr); err != nil {
			return []error{err}
		}
		if len(missing) == 0 || time.Now().After(deadline) || !pause(ctx, 50*time.Millisecond) {
			return missing
		}
	}
}

func brokenCounted(metrics []byte) bool {
	for line := range bytes.Lines(metrics) {
		if rest, ok := bytes.CutPrefix(line, []byte("service_store_broken_records ")); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(string(rest)), 64)
			return err == nil && n > 0
		}
	}
	return false
}

// storeReport is what check and repair print.
type storeReport struct {
	Well   bool  `json:"well"`
	Broken int64 `json:"broken"`
	List   []struct {
		Kind string `json:"kind"`
		Key  string `json:"key"`
	} `json:"list"`
}

// readFrom are tables of which the product reads the values, and that nothing else says the same as.
var readFrom = []string{"x/", "p/", "d/", "j/", "i/", "a/", "ma/", "th/", "dc/", "e/", "w/", "wh/", "wn/", "v/", "sc/", "tg/", "au/"}

// finds proves that the check lists what is poisoned.
func (r *rig) finds(ctx context.Context, p *poisoned) []error {
	found, err := r.storeCommand(ctx, "check")
	if err != nil {
		return []error{err}
	}
	if found.Well || found.Broken == 0 {
		return []error{fmt.Errorf("store check finds nothing in a store with %d poisoned records", len(p.keys))}
	}
	var problems []error
	listed := map[string]bool{}
	for _, row := range found.List {
		listed[tableOf([]byte(strings.TrimPrefix(row.Key, `"`)))] = true // keys that are no text are quoted
	}
	for _, table := range readFrom {
		if slices.Contains(p.tables, table) && !listed[table] {
			problems = append(problems, fmt.Errorf("store check does not list the poisoned record in %s", table))
		}
	}
	return problems
}

// repairs proves that the repair leaves nothing of what is poisoned.
func (r *rig) repairs(ctx context.Context) (problems []error) {
	if _, err := r.storeCommand(ctx, "repair", "--export", filepath.Join(r.dir, "export.jsonl")); err != nil {
		return append(problems, err)
	}
	after, err := r.storeCommand(ctx, "check")
	if err != nil {
		return append(problems, err)
	}
	if !after.Well {
		problems = append(problems, fmt.Errorf("after the repair store check finds %+v", after))
	}
	return problems
}

func (r *rig) storeCommand(ctx context.Context, verb string, more ...string) (report storeReport, err error) {
	args := append([]string{"store", verb, "--data-dir", r.data(), "-o", "json"}, more...)
	command := exec.CommandContext(ctx, r.binary, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && json.Unmarshal(out, &report) == nil {
		return report, nil // it found something
	}
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		return report, fmt.Errorf("wardroom %v: %w\n%s", args, err, stderr.Bytes())
	}
	return report, nil
}

// copyStore copies the files of a stopped store, but for what only keeps room.
func copyStore(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || entry.Name() == "reserve" || entry.Name() == "LOCK" {
			continue
		}
		if err := copyFile(filepath.Join(to, entry.Name()), filepath.Join(from, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
