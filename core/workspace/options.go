package workspace

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// Store is the part of the durable state that the service uses.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	core.WorkspaceReader
	// FindThread returns one thread. NOT_FOUND.
	FindThread(ctx context.Context, id string) (*core.ThreadRecord, error)
}

// Options are what a Service is made of. Store and Root are required.
type Options struct {
	Store  Store
	Clock  core.Clock
	Older  core.OlderFunc // decides what is expired; nil: by Clock
	IDs    core.IDs
	Logger hclog.Logger
	Root   string // absolute directory, which no other process uses
	Git    string // path of git; "": the one in PATH
	Config Config
}

// Config is what may change while the service runs. Zero values are the defaults.
type Config struct {
	Repositories map[string]Repository // by the name that requests use
	// AllowedURLs are globs of the URLs that requests may name beside Repositories. A * in the part before the path stops at
	// a slash, one in the path does not. Empty: every https, ssh and file URL. http needs a glob that says so.
	AllowedURLs   []string
	MaxWorkspaces int   // that are not removed; 0: 500
	MaxBytes      int64 // of one checkout; 0: no bound
	MaxTotalBytes int64 // of all workspaces; 0: no bound
	// MaxReleasedBytes is what workspaces whose thread is over may take together; the oldest go first then. 0: no bound.
	MaxReleasedBytes int64
	TTL              time.Duration // after the end of the thread; 0: 72 h
	ReserveTTL       time.Duration // of a workspace without a thread; 0: 1 h
	FetchTimeout     time.Duration // 0: 10 min
	CheckoutTimeout  time.Duration // 0: 5 min
	Identity         Identity      // author of commits
	AllowCommit      bool
	AllowPush        bool
	PushBranches     []string // globs of branches that may be pushed to; a * does not stop at a slash
}

// Repository is a git repository under a short name.
type Repository struct {
	URL        string
	Branch     string        // to start from when a request names none; "": the repository's default
	Username   string        // for http and https
	Password   func() string // password or token; nil: none. It is called for each connection and must be quick.
	SSHKeyFile string        // private key for ssh; "": those of the ssh agent and of the user
}

// Identity is who commits are by.
type Identity struct {
	Name  string
	Email string
}

const (
	defaultWorkspaces      = 500
	defaultTTL             = 72 * time.Hour
	defaultReserveTTL      = time.Hour
	defaultFetchTimeout    = 10 * time.Minute
	defaultCheckoutTimeout = 5 * time.Minute

	sweepInterval = 5 * time.Minute
	keepAgain     = 24 * time.Hour     // until a workspace with unpushed work is looked at again
	keepRecord    = 7 * 24 * time.Hour // of a removed workspace
)

// checkouts is how many checkouts run at the same time: each uses all processors for a while.
func checkouts() int { return max(2, runtime.NumCPU()) }

// checkoutWorkers is how many processes write the files of a checkout that begins now. Several are faster for one
// checkout alone, and cost more processor time in all: of many checkouts each has one.
func (s *Service) checkoutWorkers() int {
	if len(s.slots) > 1 {
		return 1
	}
	return 2 * runtime.NumCPU()
}

// filled returns the configuration with its defaults.
func (c Config) filled() Config {
	c.MaxWorkspaces = cmp.Or(max(c.MaxWorkspaces, 0), defaultWorkspaces)
	c.TTL = cmp.Or(max(c.TTL, 0), defaultTTL)
	c.ReserveTTL = cmp.Or(max(c.ReserveTTL, 0), defaultReserveTTL)
	c.FetchTimeout = cmp.Or(max(c.FetchTimeout, 0), defaultFetchTimeout)
	c.CheckoutTimeout = cmp.Or(max(c.CheckoutTimeout, 0), defaultCheckoutTimeout)
	c.Identity.Name = cmp.Or(c.Identity.Name, "Wardroom")
	c.Identity.Email = cmp.Or(c.Identity.Email, "wardroom@localhost")
	return c
}
