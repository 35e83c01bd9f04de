package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// scpForm is the short form of an ssh URL: user@host:path.
var scpForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^-:\s][^\s]*$`)

// checkGitURL wants a URL of a kind that threads may fetch from. Whether there is a repository is found out when it
// is needed.
func checkGitURL(text string) error {
	if text == "" || scpForm.MatchString(text) {
		return nil // what is missing is reported for the entry
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("holds a blank or a control character")
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("is not a URL such as https://git.example.com/team/app.git")
	}
	if _, has := u.User.Password(); has {
		return errors.New("must not hold a password; put it into password or passwordFile beside it")
	}
	switch u.Scheme {
	case "https", "http", "ssh":
		if u.Hostname() == "" {
			return fmt.Errorf("%q names no host", text)
		}
		if u.User != nil && u.Scheme != "ssh" {
			return errors.New("must not hold a user; put it into username beside it")
		}
	case "file":
		if u.Host != "" || !path.IsAbs(u.Path) {
			return fmt.Errorf("%q is not a file URL such as file:///srv/git/app.git", text)
		}
	default:
		// The text is not repeated: it may hold a password at a place where one is not expected.
		return errors.New("is not a git URL: it begins with https://, ssh:// or file://, or is user@host:path")
	}
	return nil
}

// branchName is a cautious reading of what git takes as the name of a branch, tag or commit.
var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+@#-]*$`)

func checkBranch(text string) error {
	if text != "" && (!branchName.MatchString(text) || strings.Contains(text, "..") || strings.HasSuffix(text, "/")) {
		return fmt.Errorf("%q is not the name of a branch", text)
	}
	return nil
}

func checkGlob(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a glob: a [ without its ], or a \\ at the end", text)
	}
	return nil
}

// checkPerson wants what may stand in the author line of a commit.
func checkPerson(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '<' || r == '>' }) {
		return errors.New("must not hold < or > or control characters")
	}
	return nil
}
