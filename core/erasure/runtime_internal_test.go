package erasure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// kept is a store of one erasure.
type kept struct {
	Store
	record *core.ErasureRecord
}

type keptTx struct {
	core.Tx
	s *kept
}

func (t keptTx) PutErasure(e *core.ErasureRecord) error { t.s.record = e; return nil }
func (keptTx) AfterCommit(fn func())                    { fn() }

func (s *kept) Update(_ context.Context, fn func(tx core.Tx) error) error { return fn(keptTx{s: s}) }

// pruned are runtimes of which one may be away.
type pruned struct {
	ManagedAgents
	away  map[string]error
	left  map[string]string
	calls []string
}

func (p *pruned) PruneRuntime(_ context.Context, name string) (string, error) {
	p.calls = append(p.calls, name)
	return p.left[name], p.away[name]
}

// Each runtime that had agents of the subject is asked once; one that is away is waited for without asking the others again,
// and one that cannot do it is named in what remains.
func TestPruneRuntimes(t *testing.T) {
	store := &kept{}
	away := errors.New("the runtime docker is not ready")
	managed := &pruned{away: map[string]error{"docker": away}, left: map[string]string{"former": "it is not configured any more"}}
	s := New(Options{Store: store, Managed: managed, Clock: core.SystemClock{}})
	e := &core.ErasureRecord{}
	for _, name := range []string{"local", "", core.RuntimeConnected, "docker", "local", "former"} {
		if err := s.onRuntime(t.Context(), e, name); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"local", "docker", "former"}; !slices.Equal(e.Runtimes, want) || !slices.Equal(store.record.Runtimes, want) {
		t.Fatalf("noted %v, stored %v", e.Runtimes, store.record.Runtimes)
	}
	if done, err := s.pruneRuntimes(t.Context(), e); done || !errors.Is(err, away) {
		t.Fatalf("%v, %v", done, err)
	}
	after := store.record // as another process would go on with it
	delete(managed.away, "docker")
	if done, err := s.pruneRuntimes(t.Context(), after); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	if want := []string{"local", "docker", "docker", "former"}; !slices.Equal(managed.calls, want) {
		t.Errorf("asked %v", managed.calls)
	}
	if r := store.record; len(r.Runtimes) != 0 || len(r.Remaining) != 1 || r.Remaining[0].Kind != "runtimes" || !strings.Contains(r.Remaining[0].Note, "former") {
		t.Errorf("%+v", r)
	}
}
