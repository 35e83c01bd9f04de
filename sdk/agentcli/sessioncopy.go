package agentcli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxCopy bounds the file of a copy, in bytes. What it holds is encoded, and so is larger than the session.
const maxCopy = 128 << 20

// maxCopied bounds the files of a session that is copied, in bytes.
const maxCopied = 64 << 20

// sessionCopy is the session of an agent as it was when the agent ended, or after a turn of it, for where its room is gone.
type sessionCopy struct {
	Version int             `json:"version"`
	Session string          `json:"session"`
	Created time.Time       `json:"created"`        // the agent
	Turn    int             `json:"turn"`           // the agent's last one that had ended
	Live    bool            `json:"live,omitempty"` // the agent ran
	Home    string          `json:"home"`
	Workdir string          `json:"workdir"`
	Driver  json.RawMessage `json:"driver,omitempty"`
	Files   []copiedFile    `json:"files"`
}

type copiedFile struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// room is where the files of a copy can be read as they could be in the room that is gone.
func (c *sessionCopy) room() Room {
	return Room{Home: c.Home, Workdir: c.Workdir, ReadFile: func(path string) ([]byte, error) {
		for _, file := range c.Files {
			if file.Path == path {
				return file.Data, nil
			}
		}
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}}
}

// copySessions takes the copies that are missing, of agents that ended while the runtime could not read in their rooms.
func (r *Runtime) copySessions(ctx context.Context) {
	for _, a := range r.all() {
		r.copySession(ctx, a)
	}
}

// copySession takes a copy of the session of an agent that has ended, where its room does not last. What cannot be read now is
// tried again by tend.
func (r *Runtime) copySession(ctx context.Context, a *agent) {
	if !r.roomsEnd() {
		return
	}
	missing := func() (rec record, is bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.rec, !a.gone && a.live == nil && !a.rec.running() && a.rec.Life > a.rec.Kept && a.rec.Agent.SessionID != ""
	}
	if _, is := missing(); !is {
		return
	}
	if a.acquire(ctx) != nil {
		return // closing
	}
	defer a.release()
	rec, is := missing()
	if !is {
		return
	}
	adapter, err := r.adapter(&rec.Spec)
	mover, ok := adapter.(Mover)
	if err != nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	if err = r.writeCopy(ctx, mover, a, &rec, nil); err != nil && !isGone(err) {
		if runtime.ErrorCode(err) != runtime.CodeResourceLimit {
			r.o.Logger.Debug("the session of an agent that ended is not copied yet", "agent", a.id, "error", err)
			return
		}
		r.o.Logger.Warn("the session of an agent that ended is too large to be kept", "agent", a.id, "error", err)
	}
	if err := a.update(func(stored *record) { stored.Kept = rec.Life }); err != nil {
		r.o.Logger.Warn("an agent cannot be stored", "agent", a.id, "error", err)
	}
}

// roomsEnd reports whether rooms may be gone with their agents.
func (r *Runtime) roomsEnd() bool {
	launcher, ok := r.o.Launcher.(RoomEnder)
	return ok && launcher.RoomsEnd()
}

// liveCopier returns what takes a copy of the session of an agent that runs, as it is after its last turn; nil where none is
// needed, or possible.
func (r *Runtime) liveCopier(a *agent, s *session) func(last runtime.Agent) error {
	adapter, err := r.adapter(&s.spec)
	mover, ok := adapter.(Mover)
	if err != nil || !ok || !r.roomsEnd() {
		return nil
	}
	return func(last runtime.Agent) error {
		if last.SessionID == "" {
			return ErrGone // it has none yet
		}
		ctx, cancel := context.WithTimeout(s.ctx, cleanTimeout)
		defer cancel()
		a.mu.Lock()
		rec := a.rec
		a.mu.Unlock()
		rec.Agent = last
		return r.writeCopy(ctx, mover, a, &rec, s)
	}
}

// writeCopy stores the session of an agent as its room has it. live is the session of the life that runs, whose copy is not
// stored once that has ended; nil: the agent has ended. RESOURCE_LIMIT.
func (r *Runtime) writeCopy(ctx context.Context, mover Mover, a *agent, rec *record, live *session) error {
	c := sessionCopy{
		Version: recordVersion, Session: rec.Agent.SessionID, Created: rec.Agent.CreatedAt, Turn: rec.Agent.Turn, Live: live != nil,
		Home: rec.Room.Home, Workdir: rec.Room.Workdir, Driver: driverState(a, rec),
	}
	files, err := r.readSession(ctx, mover, a, rec, Room{Home: c.Home, Workdir: c.Workdir})
	if err != nil {
		return err
	}
	size := 0
	for _, file := range files {
		if c.Live && strings.HasSuffix(file.Path, ".jsonl") { // the next turn may be writing
			file.Data = file.Data[:bytes.LastIndexByte(file.Data, '\n')+1]
		}
		size += len(file.Data)
		c.Files = append(c.Files, copiedFile{Path: file.Path, Data: file.Data})
	}
	if size > maxCopied {
		return runtime.Errorf(runtime.CodeResourceLimit, "its files have %d bytes, and at most %d are kept", size, maxCopied)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	a.copying.Lock()
	defer a.copying.Unlock()
	if live != nil && a.lastSession() != live {
		return ErrGone // the copy of its end is newer
	}
	return durable.WriteFile(filepath.Join(a.dir, copyFile), data, true)
}

// takeCopy returns the files of an agent's session, as the copy of it has them and a room needs them. None where there is no
// copy. The notice says so when turns came after it that are lost with the room.
func (r *Runtime) takeCopy(ctx context.Context, a *agent, rec *record, adapter Adapter, session string, to Room) (files []File, notice string) {
	mover, ok := adapter.(Mover)
	if !ok {
		return nil, ""
	}
	data, err := durable.ReadFile(filepath.Join(a.dir, copyFile), maxCopy)
	var c sessionCopy
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && (c.Version != recordVersion || c.Session != session || c.Turn > rec.Agent.Turn || !c.Created.Equal(rec.Agent.CreatedAt)) {
		return nil, ""
	}
	if err == nil && c.behind(a, rec) {
		if archive, ok := r.o.Launcher.(Archive); ok {
			if _, err := archive.Room(ctx, &rec.Spec); !isGone(err) {
				return nil, "" // the room has it all
			}
		}
		notice = fmt.Sprintf("%s: resumed as of turn %d of %d; what came after it is lost with the room of the agent",
			runtime.ReasonSessionBehind, c.Turn, max(rec.Agent.Turn, c.Turn))
	}
	if err == nil {
		files, err = mover.TakeSession(session, c.Driver, c.room(), to)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.o.Logger.Warn("the copy of an agent's session cannot be read", "agent", a.id, "error", err)
	}
	if len(files) == 0 {
		return nil, ""
	}
	return files, notice
}

// behind reports whether the agent did something after the copy was taken: it ended a turn, or was in one.
func (c *sessionCopy) behind(a *agent, rec *record) bool {
	if c.Turn < rec.Agent.Turn {
		return true
	}
	state := loadState(a.dir, rec.Life)
	return c.Live && state != nil && !state.TurnStarted.IsZero()
}
