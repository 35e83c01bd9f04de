package appliance

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

// adminSocketFile is the name of the admin socket where none is configured. config.AdminToken is its token.
const adminSocketFile = "admin.sock"

// maxSocketPath is how long the path of a socket may be, in bytes.
const maxSocketPath = 107

// admin serves the socket of this machine: the API and what operators of the machine do beside it, to root and to the
// user of the service. Who calls shows that it may read a file beside the socket as well: agents of the local runtime
// may have the service's user, and Landlock keeps them from files, and not from sockets.
type admin struct {
	log    hclog.Logger
	server *http.Server
	path   string // of the socket
	token  string
	done   chan struct{}  // closed once the server ended
	active sync.WaitGroup // requests
}

// adminPath is where the admin socket is: as configured, else in the directory that a service manager made for sockets,
// else in that of the store.
func adminPath(c *config.Config) string {
	if c.Server.AdminSocket != "" {
		return c.Server.AdminSocket
	}
	if dir := os.Getenv("RUNTIME_DIRECTORY"); filepath.IsAbs(dir) {
		return filepath.Join(dir, adminSocketFile)
	}
	return filepath.Join(c.Store.Path, adminSocketFile)
}

// adminDialed bounds how long a server that may be there is asked.
const adminDialed = time.Second

// checkAdminSocket refuses an admin socket that another server listens on. A server that took it would get its backups, its reloads and
// its stops. CONFLICT.
func checkAdminSocket(c *config.Config) error {
	path := adminPath(c)
	conn, err := net.DialTimeout("unix", path, adminDialed)
	switch {
	case err == nil:
		_ = conn.Close() // it showed that somebody listens
	case !errors.Is(err, syscall.EAGAIN): // else so many wait for it that it takes no more
		return nil //nolint:nilerr // no server is there
	}
	return core.Errorf(core.CodeConflict, "another server listens on the admin socket %s: name another by server.adminSocket, "+
		"and in a unit of your own another RuntimeDirectory", path)
}

// openAdmin makes the admin socket. A path that is too long for one leaves it out, where nothing names it.
func (a *App) openAdmin(ctx context.Context) error {
	c := a.config.Load()
	path := adminPath(c)
	if len(path) > maxSocketPath {
		if c.Server.AdminSocket != "" {
			return core.Invalid("server.adminSocket", "is longer than %d bytes, which no socket may be", maxSocketPath)
		}
		a.log.Debug("there is no admin socket, as its path is too long; server.adminSocket names another", "path", path)
		return nil
	}
	token, err := newAdminToken(config.AdminToken(path))
	if err != nil {
		return fmt.Errorf("make the token of the admin socket: %w", err)
	}
	// One that is there is of a process that ended: the store has one owner, and it is open.
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return core.Invalid("server.adminSocket", "%s is there and is no socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the former admin socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("make the admin socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("make the admin socket: %w", err), listener.Close())
	}
	s := &admin{log: a.log.Named("admin"), path: path, token: token, done: make(chan struct{})}
	s.server = &http.Server{
		Handler: s.guard(a.adminRoutes()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ConnContext: withPeer, MaxHeaderBytes: 64 << 10,
		ErrorLog: s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	a.admin = s
	go func() {
		defer close(s.done)
		if err := s.server.Serve(&peerListener{listener, s.log}); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the admin socket ended", "error", err)
		}
	}()
	a.log.Debug("the admin socket is open", "path", path)
	return nil
}

// adminDrain is the time in which those who ask get their answer once the service stops. A backup that takes longer is cut.
const adminDrain = 2 * time.Second

// close ends the socket and waits for its requests.
func (s *admin) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, adminDrain)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // the time is over: cut what is left
	}
	<-s.done
	s.active.Wait()
	_ = os.Remove(config.AdminToken(s.path)) // the next start makes another
}

// newAdminToken writes a new token to a file that only we can read, and returns it.
func newAdminToken(path string) (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	token := hex.EncodeToString(secret)
	return token, keepKey(path, token)
}

// guard lets through who shows the token, as the operator of this machine.
func (s *admin) guard(next http.Handler) http.Handler {
	want := []byte("Bearer " + s.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Done()
		peer, ok := r.Context().Value(peerKey{}).(peerCredential)
		if !ok || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			writeAdminError(w, core.Errorf(core.CodeUnauthorized, "the token of the admin socket is missing or wrong; it is in %s beside the socket", filepath.Base(config.AdminToken(s.path))))
			return
		}
		r.Header.Del("Authorization") // the API knows no such credential
		r = r.WithContext(context.WithValue(r.Context(), localKey{}, localOperator(peer)))
		if !strings.HasPrefix(r.URL.Path, "/api/") && r.Method != http.MethodGet {
			s.log.Info("admin", "method", r.Method, "path", r.URL.Path, "uid", peer.uid, "pid", peer.pid)
		}
		next.ServeHTTP(w, r)
	})
}

type (
	peerKey  struct{} // of the credential of the process at the other end of a connection
	localKey struct{} // of the principal of a request that came by the admin socket
)

// peerCredential is who is at the other end of a connection, as the kernel says.
type peerCredential struct {
	uid uint32
	pid int32
}

// localOperator is the principal of a process of this machine that may use the admin socket.
func localOperator(peer peerCredential) core.Principal {
	name := "uid " + strconv.FormatUint(uint64(peer.uid), 10)
	if peer.uid == 0 {
		name = "root"
	}
	return core.Principal{
		Kind: core.PrincipalLocal, ID: "local:" + strconv.FormatUint(uint64(peer.uid), 10), Name: name,
		Roles: []string{"admin"}, Scopes: []string{core.ScopeAdmin},
	}
}

// localPrincipal returns who calls by the admin socket.
func localPrincipal(ctx context.Context) (core.Principal, bool) {
	p, ok := ctx.Value(localKey{}).(core.Principal)
	return p, ok
}

// peerListener closes connections of processes that may not use the socket, whatever the mode of its file says.
type peerListener struct {
	net.Listener
	log hclog.Logger
}

func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, err := peerOf(conn)
		if err == nil && (peer.uid == 0 || int(peer.uid) == os.Getuid()) {
			return &peerConn{conn, peer}, nil
		}
		l.log.Warn("a connection to the admin socket was refused", "uid", peer.uid, "pid", peer.pid, "error", err)
		_ = conn.Close()
	}
}

// peerConn is a connection that knows who is at its other end.
type peerConn struct {
	net.Conn
	peer peerCredential
}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*peerConn); ok {
		return context.WithValue(ctx, peerKey{}, c.peer)
	}
	return ctx
}
