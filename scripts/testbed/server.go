package testbed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// Server is the product under a rig: one process at a time, over all its starts with one address and one data folder.
// Not safe for concurrent use, but for Client.
type Server struct {
	*Process               // the one that was started last, or nil
	Command  Command       // of every start
	Limit    time.Duration // from a start to ready
	Dir      string        // that has the configuration, the log, and what the configuration puts there
	Host     string        // host:port
	URL      string
	Client   *client.Client // repeats nothing, so that a rig sees what is refused; see Bear
}

// NewServer prepares a server and does not start it. In config, $LISTEN stands for a free address and $DIR for dir, which
// must exist and gets the configuration file and the log.
func NewServer(binary, dir, config string) (*Server, error) {
	host, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "wardroom.yaml")
	text := strings.NewReplacer("$LISTEN", host, "$DIR", dir).Replace(config)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return newServer(host, dir, Command{Args: []string{binary, "serve", "--config", path}, Log: filepath.Join(dir, "wardroom.log")})
}

// NewDevServer is NewServer for a development server.
func NewDevServer(binary, dir string) (*Server, error) {
	host, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	args := []string{binary, "dev", "--listen", host, "--data-dir", dir}
	return newServer(host, dir, Command{Args: args, Log: filepath.Join(dir, "wardroom.log")})
}

func newServer(host, dir string, command Command) (*Server, error) {
	s := &Server{Command: command, Limit: ReadyLimit, Dir: dir, Host: host, URL: "http://" + host}
	var err error
	s.Client, err = client.New(s.URL, client.Options{})
	return s, err
}

// Bear makes the client repeat what is refused while the server is away or starts.
func (s *Server) Bear() (err error) {
	s.Client, err = client.New(s.URL, client.Options{Retry: client.RetryPolicy{MaxElapsed: ReadyLimit}})
	return err
}

// Start starts the server and waits until it is ready.
func (s *Server) Start(ctx context.Context) (err error) {
	if s.Process, err = s.Command.Start(); err != nil {
		return err
	}
	return s.Await(ctx, s.Limit)
}

// Restart ends the server in order and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(s.Limit); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Close kills the server, if one runs, and lets go of its connections.
func (s *Server) Close() {
	if s.Process != nil {
		s.Kill()
	}
	s.Client.Close()
}
