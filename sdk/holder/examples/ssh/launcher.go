package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// launcher is an agentcli.Launcher over ssh. Each call is a program over there; a terminal is one that stays.
type launcher struct {
	ssh    []string // arguments of ssh, the host at the end
	dir    string   // over there; empty: .wardroom in the home of the user
	holder string   // the holder's binary over here, for the host's system

	mu     sync.Mutex // guards what follows
	remote string     // path of the holder over there; empty: it was not copied yet
	base   string     // dir, as a real path
}

// linger is how long an agent's end is kept for a connection that was lost.
const linger = 24 * time.Hour

// quote makes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// command runs a shell command over there.
func (l *launcher) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ssh", append(append([]string{}, l.ssh...), script)...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// over is the holder.Transport.
func (l *launcher) over(ctx context.Context, args ...string) *exec.Cmd {
	words := []string{"exec", quote(l.remote)}
	for _, arg := range args {
		words = append(words, quote(arg))
	}
	return l.command(ctx, strings.Join(words, " "))
}

// errNotThere is how run tells that the script ended with notThere.
var errNotThere = errors.New("it is not there")

// notThere is the exit code with which scripts say so; ssh itself ends with 255.
const notThere = 44

// run runs a script over there and returns what it prints. UNAVAILABLE when the host is not reached.
func (l *launcher) run(ctx context.Context, stdin io.Reader, script string) ([]byte, error) {
	cmd := l.command(ctx, script)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, runtime.Errorf(runtime.CodeTimeout, "the host did not answer in time")
	case errors.As(err, &exit) && exit.ExitCode() == notThere:
		return nil, errNotThere
	case errors.As(err, &exit) && exit.ExitCode() != 255:
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "on the host: %s", bytes.TrimSpace(said.Bytes()))
	}
	return nil, &runtime.Error{Code: runtime.CodeUnavailable, Message: "the host is not reached: " + string(bytes.TrimSpace(said.Bytes())), Retry: true}
}

// open makes the directory over there, and copies the holder to it. Its name has its checksum, so that an upgrade leaves
// the holders that run alone.
func (l *launcher) open(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.remote != "" {
		return nil
	}
	binary, err := os.ReadFile(l.holder)
	if err != nil {
		return runtime.Errorf(runtime.CodeInternal, "the holder that came with the plugin cannot be read")
	}
	sum := sha256.Sum256(binary)
	name := "holder-" + hex.EncodeToString(sum[:8])
	dir := `"$HOME"/.wardroom`
	if l.dir != "" {
		dir = quote(l.dir)
	}
	out, err := l.run(ctx, nil, "umask 077 && mkdir -p "+dir+" && cd "+dir+" && pwd -P && if test -x "+name+"; then echo there; fi")
	if err != nil {
		return err
	}
	base, there, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if there == "" {
		copying := "cd " + quote(base) + " && cat >" + name + ".$$ && chmod 700 " + name + ".$$ && mv -f " + name + ".$$ " + name
		if _, err := l.run(ctx, bytes.NewReader(binary), copying); err != nil {
			return err
		}
	}
	l.base, l.remote = base, path.Join(base, name)
	return nil
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (l *launcher) room(id string) (string, error) {
	if !idForm.MatchString(id) {
		return "", runtime.Invalid("id", "%q is not an id: 1 to 64 letters, digits, _ and -", id)
	}
	return path.Join(l.base, "agents", id), nil
}

// Prepare implements agentcli.Launcher.
func (l *launcher) Prepare(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	if spec.Limits != (runtime.Limits{}) {
		return agentcli.Room{}, runtime.Invalid("limits", "are not enforced by this runtime")
	}
	if err := l.open(ctx); err != nil {
		return agentcli.Room{}, err
	}
	base, err := l.room(spec.ID)
	if err != nil {
		return agentcli.Room{}, err
	}
	room := agentcli.Room{Home: base + "/home", Workdir: base + "/work", Temp: base + "/tmp"}
	workdir := spec.Workdir
	if workdir != "" && !path.IsAbs(workdir) {
		return agentcli.Room{}, runtime.Invalid("workdir", "must be absolute: it is a directory of the host")
	}
	script := "umask 077 && mkdir -p " + quote(room.Home) + " " + quote(room.Workdir) + " " + quote(room.Temp) + " && echo \"$PATH\" && "
	if workdir != "" {
		script += "cd " + quote(workdir) + " 2>/dev/null && pwd -P || exit " + strconv.Itoa(notThere)
	} else {
		script += "cd " + quote(room.Workdir) + " && pwd -P"
	}
	out, err := l.run(ctx, nil, script)
	if errors.Is(err, errNotThere) {
		return agentcli.Room{}, runtime.Invalid("workdir", "%s is not a directory of the host", workdir)
	}
	if err != nil {
		return agentcli.Room{}, err
	}
	search, real, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	room.Workdir = real
	room.Env = []string{"PATH=" + search, "HOME=" + room.Home, "TMPDIR=" + room.Temp, "TERM=xterm-256color", "LANG=C.UTF-8"}
	room.Hook = []string{l.remote, "hook", base + "/s"}
	room.LookPath = func(name string) (string, error) { return l.lookPath(name) }
	room.ReadFile = func(file string) ([]byte, error) {
		data, _, err := l.read(file, "cat")
		return data, err
	}
	room.ReadFrom = func(file string, offset int64, limit int) ([]byte, int64, error) {
		how := fmt.Sprintf("tail -c +%d | head -c %d", offset+1, limit)
		if offset < 0 {
			how = fmt.Sprintf("tail -c %d | head -c %d", -offset, limit)
		}
		data, size, err := l.read(file, how)
		if offset < 0 {
			offset = max(0, size+offset)
		}
		return data, offset, err
	}
	return room, nil
}

// callTime bounds calls that have no context of their own.
const callTime = 30 * time.Second

func (l *launcher) lookPath(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out, err := l.run(ctx, nil, "command -v -- "+quote(name)+" || exit "+strconv.Itoa(notThere))
	found := strings.TrimSpace(string(out))
	if errors.Is(err, errNotThere) || err == nil && !path.IsAbs(found) {
		return "", runtime.Errorf(runtime.CodeCLINotFound, "%s is not found on the host", name)
	}
	return found, err
}

// read returns what a filter makes of a file, and the size of the file.
func (l *launcher) read(file, filter string) (data []byte, size int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	file = quote(file)
	out, err := l.run(ctx, nil, "test -f "+file+" || exit "+strconv.Itoa(notThere)+"; wc -c <"+file+" && "+filter+" <"+file)
	if errors.Is(err, errNotThere) {
		return nil, 0, fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, err
	}
	head, data, _ := bytes.Cut(out, []byte("\n"))
	size, err = strconv.ParseInt(string(bytes.TrimSpace(head)), 10, 64)
	return data, size, err
}

// handle is what Find needs.
type handle struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Nonce   string    `json:"nonce"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Launch implements agentcli.Launcher.
func (l *launcher) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	base, err := l.room(cmd.Spec.ID)
	if err != nil {
		return nil, err
	}
	if err := l.write(ctx, cmd.Room, cmd.Files); err != nil {
		return nil, err
	}
	nonce := holder.NewNonce()
	if err := l.end(ctx, cmd.Spec.ID); err != nil { // what an earlier life left
		return nil, err
	}
	if _, err := l.run(ctx, strings.NewReader(hex.EncodeToString(nonce[:])), "umask 077 && rm -f "+quote(base+"/s")+" && cat >"+quote(base+"/nonce")); err != nil {
		return nil, err
	}
	holding, err := holder.StartOver(ctx, l.over, base+"/holder.log", wire.Launch{
		Socket: base + "/s", Nonce: nonce, ExitFile: base + "/exit", Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Room.Workdir,
		Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows), Linger: linger,
	})
	if err != nil {
		return nil, err
	}
	return l.connect(ctx, handle{1, cmd.Spec.ID, hex.EncodeToString(nonce[:]), holding.Command.PID, time.Now()})
}

// write writes what an adapter wants in the room.
func (l *launcher) write(ctx context.Context, room agentcli.Room, files []agentcli.File) error {
	for _, file := range files {
		name := path.Clean(file.Path)
		if !strings.HasPrefix(name, room.Home+"/") && !strings.HasPrefix(name, room.Workdir+"/") {
			return runtime.Errorf(runtime.CodeSpawnFailed, "the file %s is outside of the agent's room", file.Path)
		}
		script := "umask 077 && mkdir -p " + quote(path.Dir(name)) + " && cat >" + quote(name+".new") +
			fmt.Sprintf(" && chmod %o ", file.Mode.Perm()|0o600) + quote(name+".new") + " && mv -f " + quote(name+".new") + " " + quote(name)
		if file.Keep {
			script = "test -e " + quote(name) + " || { " + script + "; }"
		}
		if _, err := l.run(ctx, bytes.NewReader(file.Data), script); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the Process of a handle.
func (l *launcher) connect(ctx context.Context, h handle) (agentcli.Process, error) {
	base, err := l.room(h.ID)
	if err != nil {
		return nil, err
	}
	var nonce wire.Nonce
	if n, err := hex.Decode(nonce[:], []byte(h.Nonce)); err != nil || n != len(nonce) {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "the handle is damaged")
	}
	client, err := holder.Connect(ctx, holder.Options{Nonce: nonce, Dial: holder.DialOver(l.over, base+"/s")})
	if err != nil {
		return nil, err
	}
	return &process{client, h}, nil
}

// Find implements agentcli.Launcher.
func (l *launcher) Find(ctx context.Context, data []byte) (agentcli.Process, error) {
	var h handle
	if err := json.Unmarshal(data, &h); err != nil || h.Version != 1 {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "it is not a handle of this runtime")
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l.connect(ctx, h)
}

// end ends what runs in a room, as the nonce there names it.
func (l *launcher) end(ctx context.Context, id string) error {
	base, err := l.room(id)
	if err != nil {
		return err
	}
	nonce, _, err := l.read(base+"/nonce", "cat")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := l.connect(ctx, handle{Version: 1, ID: id, Nonce: string(nonce)})
	if errors.Is(err, agentcli.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(p.Kill(ctx), p.Close())
}

// Remove implements agentcli.Launcher.
func (l *launcher) Remove(ctx context.Context, id string) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	base, err := l.room(id)
	if err != nil {
		return err
	}
	if err := l.end(ctx, id); err != nil {
		return err
	}
	_, err = l.run(ctx, nil, "rm -rf "+quote(base))
	return err
}

// process is a command over there: all of it but its handle is the holder's.
type process struct {
	*holder.Client
	handle handle
}

var _ agentcli.Process = (*process)(nil)

// Handle implements agentcli.Process.
func (p *process) Handle() []byte {
	data, _ := json.Marshal(p.handle) // plain data
	return data
}

// Info implements agentcli.Process.
func (p *process) Info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: p.handle.PID, StartedAt: p.handle.Started}
}
