package pattern

import (
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/wardroom/wardroom/core"
)

// latestVersion is the selector of the latest version; the empty selector means the same.
const latestVersion = "latest"

// maxSelector is the length in bytes of the longest version range.
const maxSelector = 128

// version is a version text with its SemVer reading.
type version struct {
	text    string
	semver  *semver.Version // nil for any other text
	created time.Time
}

func newVersion(text string, created time.Time) version {
	v := version{text: text, created: created}
	if parsed, err := semver.NewVersion(text); err == nil {
		v.semver = parsed
	}
	return v
}

// class ranks kinds of versions: releases above pre-releases above texts that are no SemVer.
func (v version) class() int {
	switch {
	case v.semver == nil:
		return 0
	case v.semver.Prerelease() != "":
		return 1
	}
	return 2
}

// compareVersions is positive if a is later than b: by kind, by SemVer precedence, by time of creation,
// and by text when nothing else tells them apart.
func compareVersions(a, b version) int {
	if c := a.class() - b.class(); c != 0 {
		return c
	}
	if a.semver != nil {
		if c := a.semver.Compare(b.semver); c != 0 {
			return c
		}
	}
	if c := a.created.Compare(b.created); c != 0 {
		return c
	}
	return strings.Compare(a.text, b.text)
}

// selector says which version is wanted.
type selector struct {
	exact      string              // text to match first
	constraint *semver.Constraints // range, or nil
}

// parseSelector reads a version or a range. VALIDATION_ERROR on `version` for text that can be neither.
func parseSelector(text string) (selector, error) {
	if len(text) > maxSelector {
		return selector{}, core.Invalid("version", "is longer than %d bytes", maxSelector)
	}
	constraint, err := semver.NewConstraint(text)
	if err != nil || strings.TrimSpace(text) == "" {
		if versionRule.MatchString(text) {
			return selector{exact: text}, nil // a version of that name may exist
		}
		return selector{}, core.Invalid("version", "%q is neither a version nor a range such as 1.x, ^1.2 or >=1 <2", clip(text, 64))
	}
	return selector{exact: text, constraint: constraint}, nil
}

// checkSelector reports whether text selects a version at all.
func checkSelector(text string) error {
	if text == "" || text == latestVersion {
		return nil
	}
	_, err := parseSelector(text)
	return err
}

// choose returns the index of the version that the selector takes from versions, which are sorted with the
// latest first, or -1.
func (s selector) choose(versions []version) int {
	if i := slices.IndexFunc(versions, func(v version) bool { return v.text == s.exact }); i >= 0 {
		return i
	}
	if s.constraint == nil {
		return -1
	}
	return slices.IndexFunc(versions, func(v version) bool { return v.semver != nil && s.constraint.Check(v.semver) })
}
