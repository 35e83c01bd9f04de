package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Files of an agent, in its directory below StateDir/agents. All are readable by the owner only.
const (
	recordFile = "record.json" // what the agent is: durable
	clearFile  = "env.json"    // the environment in clear, as earlier versions kept it
	stateFile  = "state.json"  // where it was: survives the process, not the machine
	inputsFile = "inputs.jsonl"
	screenFile = "screen" // its last screen
	copyFile   = "session.json"
)

const (
	recordVersion = 1
	maxRecord     = 16 << 20
)

// record is what is stored of an agent. On disk its environment is encrypted.
type record struct {
	Version int          `json:"version"`
	Spec    runtime.Spec `json:"spec"` // on disk without secrets
	Plan    Plan         `json:"plan"` // likewise
	// Sealed is what is missing there, encrypted. It is up to date on disk, and kept in memory only where it did not open.
	Sealed  []byte        `json:"sealed,omitempty"`
	Partial bool          `json:"partial,omitempty"` // the environment is not known: found by its handle, or Sealed did not open
	Room    roomRecord    `json:"room"`
	Life    int           `json:"life"`              // how often it was started
	Base    uint64        `json:"base"`              // offset of the first byte of this life
	Process []byte        `json:"process,omitempty"` // handle of the launcher; empty: it never ran, or ended
	Started time.Time     `json:"started,omitzero"`  // of this life
	Former  *former       `json:"former,omitempty"`  // nil: not known
	Cols    int           `json:"cols,omitempty"`
	Rows    int           `json:"rows,omitempty"`
	Agent   runtime.Agent `json:"agent"` // when the record was written
	Exit    *runtime.Exit `json:"exit,omitempty"`
	Stopped time.Time     `json:"stopped,omitzero"`
	// Unstarted says that its first start did not get as far as this record, or failed: all that there may be of it is its room,
	// which is to be removed.
	Unstarted bool `json:"unstarted,omitempty"`
	// Kept is the life after which the session was looked for in the room, and copied if it was there.
	Kept   int    `json:"kept,omitempty"`
	Notice string `json:"-"` // what people should know of the start that comes
}

// former is what the launcher had started last for an agent when this life began. What it has later is of this life if it is
// something else: the clock, which may be set back meanwhile, does not say so.
type former struct {
	Process []byte `json:"process,omitempty"` // empty: nothing
}

// roomRecord is the part of a Room that can be stored.
type roomRecord struct {
	Home    string   `json:"home,omitempty"`
	Workdir string   `json:"workdir,omitempty"`
	Temp    string   `json:"temp,omitempty"`
	Hook    []string `json:"hook,omitempty"`
}

func (r *record) running() bool { return len(r.Process) > 0 }

// save writes the record, durably.
func (r *record) save(dir string, by *sealer) error {
	public, secrets := r.split()
	if !r.Partial {
		var err error
		if public.Sealed, err = by.seal(r.Spec.ID, secrets); err != nil {
			return err
		}
	}
	data, err := json.Marshal(public)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, recordFile), data, true)
}

// unstarted is the record of an agent that has not started, and may have a room.
func unstarted(id string) *record {
	return &record{Version: recordVersion, Spec: runtime.Spec{ID: id}, Unstarted: true}
}

// loadRecord reads what is stored of an agent. locked says why its environment is not known; nil when it is. inClear
// reports whether there is one that an earlier version of this program left unencrypted: the caller saves the record
// then, and removes it.
func loadRecord(dir string, by *sealer) (r *record, inClear bool, locked error, err error) {
	if r, err = readRecord(dir); err != nil {
		return nil, false, nil, err
	}
	data, err := durable.ReadFile(filepath.Join(dir, clearFile), maxRecord)
	switch {
	case err == nil:
		inClear = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, nil, fmt.Errorf("%s cannot be read", filepath.Join(dir, clearFile))
	}
	if len(r.Sealed) > 0 { // what is in clear beside it is older
		s, locked := by.open(r.Spec.ID, r.Sealed)
		if r.Partial = locked != nil; r.Partial {
			return r, inClear, fmt.Errorf("its environment: %w", locked), nil
		}
		r.join(s)
		r.Sealed = nil
		return r, inClear, nil, nil
	}
	if inClear && json.Unmarshal(data, &r.Spec.Env) != nil {
		return nil, false, nil, fmt.Errorf("%s cannot be read", filepath.Join(dir, clearFile)) // its text may hold a secret
	}
	_, secrets := r.split()
	return r, inClear || !secrets.none(), nil, nil
}

// encrypt saves a record whose environment was in clear, and removes that.
func (r *record) encrypt(dir string, by *sealer) error {
	if err := r.save(dir, by); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, clearFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readRecord reads what is stored of an agent as it is stored.
func readRecord(dir string) (*record, error) {
	data, err := durable.ReadFile(filepath.Join(dir, recordFile), maxRecord)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, recordFile), err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("%s has version %d, and this program knows %d", filepath.Join(dir, recordFile), r.Version, recordVersion)
	}
	if !validID.MatchString(r.Spec.ID) || r.Spec.ID != filepath.Base(dir) {
		return nil, fmt.Errorf("%s is the record of agent %q", filepath.Join(dir, recordFile), r.Spec.ID)
	}
	return &r, nil
}

// withoutSecrets returns a spec that may leave the machine's state directory.
func withoutSecrets(spec runtime.Spec) runtime.Spec {
	spec.Env = nil
	if spec.Declared != nil {
		declared := *spec.Declared
		declared.Env = nil
		spec.Declared = &declared
	}
	return spec
}

// handleData is what a runtime.Handle carries: enough to find the agent again when StateDir is lost.
type handleData struct {
	Version int          `json:"v"`
	Spec    runtime.Spec `json:"spec"` // without secrets
	Plan    Plan         `json:"plan"`
	Process []byte       `json:"process"`
	Base    uint64       `json:"base,omitempty"`
	Life    int          `json:"life"`
	Created time.Time    `json:"created"`
	Started time.Time    `json:"started"`
}

// handle returns what a later process needs to find the agent.
func (r *record) handle() runtime.Handle {
	plan := r.Plan
	plan.Env = nil
	data, err := json.Marshal(handleData{
		Version: recordVersion, Spec: withoutSecrets(r.Spec), Plan: plan, Process: r.Process, Base: r.Base, Life: r.Life,
		Created: r.Agent.CreatedAt, Started: r.Started,
	})
	if err != nil {
		return runtime.Handle{ID: r.Spec.ID} // unreachable: all of it came from JSON
	}
	return runtime.Handle{ID: r.Spec.ID, Data: data}
}

// openHandle reads a handle. INVALID_HANDLE.
func openHandle(h runtime.Handle) (*record, error) {
	var d handleData
	if err := json.Unmarshal(h.Data, &d); err != nil {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "the handle of agent %q cannot be read", h.ID)
	}
	if d.Version != recordVersion {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "the handle of agent %q has version %d, and this runtime knows %d", h.ID, d.Version, recordVersion)
	}
	if d.Spec.ID != h.ID || !validID.MatchString(h.ID) || len(d.Process) == 0 || d.Life < 1 {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "the handle of agent %q is not one of this runtime", h.ID)
	}
	r := &record{
		Version: recordVersion, Spec: withoutSecrets(d.Spec), Partial: true, Plan: d.Plan, Process: d.Process, Base: d.Base, Life: d.Life, Started: d.Started,
		Cols: d.Spec.Cols, Rows: d.Spec.Rows,
	}
	r.Agent = newAgent(&r.Spec, d.Created)
	return r, nil
}

// newAgent is an agent before anything happened.
func newAgent(spec *runtime.Spec, created time.Time) runtime.Agent {
	return runtime.Agent{
		ID: spec.ID, Name: spec.Name, Type: spec.Type, Status: runtime.StatusStarting, Capabilities: spec.Capabilities,
		Labels: spec.Labels, Workdir: spec.Workdir, CreatedAt: created,
	}
}
