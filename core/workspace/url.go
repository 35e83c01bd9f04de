package workspace

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxURL = 2048

// scpForm is the short form of an ssh URL: user@host:path.
var scpForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*@([A-Za-z0-9][A-Za-z0-9.-]*):[^-:/\\][^\\]*$|^[A-Za-z0-9][A-Za-z0-9._-]*@([A-Za-z0-9][A-Za-z0-9.-]*):/[^\\]*$`)

var (
	hostName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
	ipLiteral = regexp.MustCompile(`^[0-9A-Fa-f:.]+$`) // what url.Parse leaves of [::1]
	userName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// parsedURL is a git URL that may be handed to git.
type parsedURL struct {
	text   string
	scheme string // https, http, ssh or file
	host   string // with its port; "" for file
	path   string // of file
}

// parseURL reads a git URL. What it lets through is no option of git or ssh, names no transport that runs a program,
// and holds no credential. The error never repeats the text: it may hold a password at an odd place.
func parseURL(text string) (parsedURL, error) {
	switch {
	case len(text) > maxURL:
		return parsedURL{}, fmt.Errorf("is longer than %d bytes", maxURL)
	case !utf8.ValidString(text), strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return parsedURL{}, errors.New("holds a blank, a control character or broken UTF-8")
	case strings.HasPrefix(text, "-"):
		return parsedURL{}, errors.New("begins with a -")
	}
	if m := scpForm.FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") {
		_, file, _ := strings.Cut(text, ":")
		if climbs(file) {
			return parsedURL{}, errors.New("holds a .. in its path; name the repository directly")
		}
		return parsedURL{text: text, scheme: "ssh", host: m[1] + m[2]}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || !strings.Contains(text, "://") {
		return parsedURL{}, errors.New("is neither a configured name nor a git URL such as https://git.example.com/team/app.git or file:///srv/git/app.git")
	}
	if strings.ContainsAny(text, `\?#`) {
		return parsedURL{}, errors.New(`holds a ?, # or \; a git URL ends with the path of the repository`)
	}
	if lower := strings.ToLower(u.EscapedPath()); climbs(u.Path) || strings.Contains(lower, "%2f") || strings.Contains(lower, "%2e") {
		return parsedURL{}, errors.New("holds a .. or an encoded dot or slash in its path; name the repository directly")
	}
	p := parsedURL{text: text, scheme: u.Scheme, host: u.Host}
	if strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return parsedURL{}, errors.New("holds a control character")
	}
	switch u.Scheme {
	case "https", "http":
		if u.User != nil {
			return parsedURL{}, errors.New("must not hold a user or password; have the repository configured in threads.repositories with username and password")
		}
	case "ssh":
		if _, has := u.User.Password(); has {
			return parsedURL{}, errors.New("must not hold a password; ssh uses keys")
		}
		if u.User != nil && !userName.MatchString(u.User.Username()) {
			return parsedURL{}, errors.New("names an odd user")
		}
	case "file":
		if u.Host != "" || u.User != nil || !path.IsAbs(u.Path) || u.Path == "/" {
			return parsedURL{}, errors.New("is not a file URL such as file:///srv/git/app.git")
		}
		p.path = filepath.Clean(u.Path)
		return p, nil
	default:
		return parsedURL{}, errors.New("is not a git URL: it begins with https://, ssh:// or file://, or is user@host:path")
	}
	if host := u.Hostname(); !hostName.MatchString(host) && !ipLiteral.MatchString(host) {
		return parsedURL{}, errors.New("names no host")
	}
	if strings.Trim(u.Path, "/") == "" {
		return parsedURL{}, errors.New("names a host and no repository")
	}
	return p, nil
}

// Host returns the host of a git URL, with its port if it names one; "" for a URL without a host, and for what is none.
func Host(text string) string {
	p, err := parseURL(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(p.host)
}

// climbs reports whether a path has a .. component.
func climbs(file string) bool {
	return slices.Contains(strings.Split(file, "/"), "..")
}

// urlAllowed reports whether a glob allows a URL. Up to the path a * stops at a slash, so that it cannot stand for another
// host; in the path it does not, so that one glob covers groups of repositories.
func urlAllowed(glob, text string) bool {
	globHost, globPath := splitHost(glob)
	host, file := splitHost(text)
	if ok, err := path.Match(strings.ToLower(globHost), strings.ToLower(host)); err != nil || !ok {
		return glob == "*"
	}
	return globPath == "" || globPath == "/" || globMatch(globPath, file)
}

// splitHost cuts a URL, or the glob of one, before its path.
func splitHost(text string) (host, file string) {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return text, ""
		}
		return scheme + "://" + rest[:i], rest[i:]
	}
	host, file, _ = strings.Cut(text, ":")
	return host, file
}

// globMatch is path.Match with a * that does not stop at a slash.
func globMatch(glob, text string) bool {
	const slash = "\x01" // in neither: control characters are refused
	ok, err := path.Match(strings.ReplaceAll(glob, "/", slash), strings.ReplaceAll(text, "/", slash))
	return err == nil && ok
}

// within reports whether a path is dir or below it, links resolved as far as the path exists.
func within(dir, file string) bool {
	real := file
	for p := file; ; p = filepath.Dir(p) {
		if resolved, err := filepath.EvalSymlinks(p); err == nil {
			rest, _ := filepath.Rel(p, file)
			real = filepath.Join(resolved, rest)
			break
		}
		if p == filepath.Dir(p) {
			break
		}
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
