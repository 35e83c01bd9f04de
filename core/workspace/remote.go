package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

// remote is a repository elsewhere, and how to be let in there.
type remote struct {
	parsedURL
	url      string // text of the URL, which holds no credential
	branch   string // to start from when none is named
	name     string // in the configuration; "": it is not there
	username string
	password func() string
	keyFile  string
}

// resolve finds what a request calls a repository: a configured name, or a URL that is allowed.
func (s *Service) resolve(repo string) (*remote, error) {
	cfg := s.config()
	if r, ok := cfg.Repositories[repo]; ok {
		parsed, err := parseURL(r.URL)
		if err != nil {
			return nil, core.Invalid("preparation.workspace.repo", "the configured URL of %q %v; have threads.repositories corrected", repo, err)
		}
		return newRemote(parsed, repo, r), nil
	}
	parsed, err := parseURL(repo)
	if err != nil {
		return nil, core.Invalid("preparation.workspace.repo", "%v%s", err, known(cfg))
	}
	for name, r := range cfg.Repositories {
		if r.URL == parsed.text {
			return newRemote(parsed, name, r), nil
		}
	}
	if err := s.allowed(cfg, parsed); err != nil {
		return nil, err
	}
	return newRemote(parsed, "", Repository{}), nil
}

// remoteOf finds the remote of a stored workspace again: the one of its URL, whatever its short name means by now.
func (s *Service) remoteOf(w *core.Workspace) (*remote, error) {
	if r, ok := s.config().Repositories[w.Repo]; ok && r.URL == w.URL {
		return s.resolve(w.Repo)
	}
	return s.resolve(w.URL)
}

// allowed checks a URL that is not configured.
func (s *Service) allowed(cfg Config, p parsedURL) error {
	// What lies below our root is the work of others.
	if p.scheme == "file" && (within(s.opts.Root, p.path) || within(p.path, s.opts.Root)) {
		return core.Invalid("preparation.workspace.repo", "lies in the directory of the workspaces; name the repository that it came from")
	}
	if len(cfg.AllowedURLs) == 0 {
		if p.scheme == "http" {
			return core.Invalid("preparation.workspace.repo", "is not encrypted; use https, or have the URL allowed in threads.workspaces.allowedUrls")
		}
		return nil
	}
	for _, glob := range cfg.AllowedURLs {
		if p.scheme == "http" && !strings.HasPrefix(glob, "http://") {
			continue
		}
		if urlAllowed(glob, p.text) {
			return nil
		}
	}
	return core.Invalid("preparation.workspace.repo", "is not among the repositories that may be used here; have it allowed in threads.workspaces.allowedUrls%s", known(cfg))
}

// known lists the configured names, for advice.
func known(cfg Config) string {
	if len(cfg.Repositories) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(cfg.Repositories))
	more := ""
	if len(names) > 10 {
		names, more = names[:10], ", ..."
	}
	return "; configured are " + strings.Join(names, ", ") + more
}

func newRemote(p parsedURL, name string, r Repository) *remote {
	return &remote{
		parsedURL: p, url: p.text, branch: r.Branch, name: name,
		username: r.Username, password: r.Password, keyFile: r.SSHKeyFile,
	}
}

// secret returns the password, or "".
func (r *remote) secret() string {
	if r == nil || r.password == nil || r.scheme != "https" && r.scheme != "http" {
		return ""
	}
	return r.password()
}

// environment is what lets git in: for ssh the command, for http the script that answers its questions.
func (r *remote) environment(askpass string) []string {
	if r.scheme == "ssh" {
		command := "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20 -o ServerAliveInterval=20 " +
			"-o ForwardAgent=no -o ForwardX11=no -o PermitLocalCommand=no -o ClearAllForwardings=yes"
		if r.keyFile != "" {
			command += " -o IdentitiesOnly=yes -i " + quoteShell(r.keyFile)
		}
		return []string{"GIT_SSH_COMMAND=" + command, "GIT_SSH_VARIANT=ssh"}
	}
	secret := r.secret()
	if secret == "" {
		return nil
	}
	user := cmp.Or(r.username, "git") // hosts that take a token look at nothing else
	return []string{
		"GIT_ASKPASS=" + askpass, "WARDROOM_GIT_HOST=" + r.host, "WARDROOM_GIT_USERNAME=" + user, "WARDROOM_GIT_PASSWORD=" + secret,
	}
}

// redact takes the secret out of what git said.
func (r *remote) redact(text string) string {
	secret := r.secret()
	if secret == "" {
		return text
	}
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:]} {
		text = strings.ReplaceAll(text, form, "***")
	}
	return text
}

// advice tells people how to get in.
func (r *remote) advice() string {
	switch {
	case r == nil || r.scheme == "file":
		return "check who may read it"
	case r.scheme == "ssh":
		return "check the ssh agent or key of the service, and that its known_hosts file has the host's key"
	case r.name == "":
		return "or it does not exist; have it configured in threads.repositories with username and password"
	}
	return fmt.Sprintf("check username and password of threads.repositories.%s", r.name)
}

// quoteShell makes text one word of a shell.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// askpass answers git's questions. It answers only for the host that the credentials are for: git asks for another
// one after a redirect. It holds no secret: that comes in the environment of the one git process.
//
//nolint:gosec // a name and two questions look like a password to it
const askpass = `#!/bin/sh
case "$1" in
*"//$WARDROOM_GIT_HOST'"*|*"@$WARDROOM_GIT_HOST'"*) ;;
*) exit 1 ;;
esac
case "$1" in
Username*) printf '%s\n' "$WARDROOM_GIT_USERNAME" ;;
Password*) printf '%s\n' "$WARDROOM_GIT_PASSWORD" ;;
*) exit 1 ;;
esac
`

func (s *Service) askpassPath() string { return filepath.Join(s.opts.Root, "private", "askpass") }

// preparePrivate makes what git gets as its home, its current directory and its askpass.
func (s *Service) preparePrivate() error {
	private := filepath.Join(s.opts.Root, "private")
	// What somebody put there is not kept: a .netrc would count.
	if err := os.RemoveAll(private); err != nil {
		return err
	}
	for _, dir := range []string{private, filepath.Join(private, "home"), filepath.Join(private, "empty")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return atomicfile.Write(s.askpassPath(), []byte(askpass), 0o700)
}
