package workspace

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]failure{
		"fatal: repository 'https://example.com/x.git/' not found":                                                             failMissing,
		"ERROR: Repository not found.\nfatal: Could not read from remote repository.":                                          failMissing,
		"fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.":                failMissing,
		"fatal: Authentication failed for 'https://example.com/x.git/'":                                                        failAuth,
		"fatal: could not read Username for 'https://example.com': terminal prompts disabled":                                  failAuth,
		"git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.":                       failAuth,
		"Host key verification failed.\nfatal: Could not read from remote repository.":                                         failAuth,
		"fatal: unable to access 'https://example.com/': The requested URL returned error: 403":                                failAuth,
		"fatal: unable to access 'https://nowhere.example/': Could not resolve host: nowhere.example":                          failHost,
		"ssh: connect to host example.com port 22: Connection refused\nfatal: Could not read from remote repository.":          failHost,
		"ssh: Could not resolve hostname nowhere: Name or service not known\nfatal: Could not read from remote repository.":    failHost,
		"fatal: unable to access 'https://example.com/': The requested URL returned error: 502":                                failHost,
		"fatal: couldn't find remote ref refs/heads/x":                                                                         failBranch,
		"fatal: remote error: upload-pack: not our ref 0123":                                                                   failBranch,
		"error: file write error: No space left on device\nfatal: fetch-pack: invalid index-pack output":                       failDisk,
		"error: unable to write file 'x'":                                                                                      failDisk,
		" ! [rejected]        a -> b (fetch first)\nerror: failed to push some refs to 'x'":                                    failRejected,
		"! [remote rejected] a -> b (protected branch hook declined)":                                                          failRejected,
		"fatal: Unable to create '/x/index.lock': File exists.\n\nAnother git process seems to be running in this repository":  failLocked,
		"error: cannot lock ref 'refs/remotes/origin/main': Unable to create '/x/refs/remotes/origin/main.lock': File exists.": failLocked,
		"fatal: update_ref failed for ref 'refs/heads/x': cannot lock ref 'refs/heads/x': reference already exists":            failRefTaken,
		"fatal: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'":                       failRefTaken,
		"fatal: bad object HEAD":                                  failBroken,
		"error: unable to read sha1 file of x (0123)":             failBroken,
		"fatal: not a git repository: '/x'":                       failBroken,
		"fatal: detected dubious ownership in repository at '/x'": failOwner,
		"something new": failOther,
	} {
		if got := classify(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	rem := &remote{url: "https://example.com/x"}
	for kind, want := range map[failure]core.Code{
		failMissing: core.CodeValidation, failAuth: core.CodeValidation, failBranch: core.CodeValidation, failOwner: core.CodeValidation,
		failHost: core.CodeInternal, failTimeout: core.CodeInternal, failDisk: core.CodeInternal, failBroken: core.CodeInternal,
		failLocked: core.CodeInternal, failRejected: core.CodeConflict, failOther: core.CodeInternal,
	} {
		e := core.AsError(explain(&gitError{op: "fetch", kind: kind, tail: "words", err: errors.New("exit status 128")}, rem, "main"))
		if e.Code != want || e.Details["failure"] != string(kind) || e.Details["git"] != "words" || e.Message == "" {
			t.Errorf("%s is %+v", kind, e)
		}
	}
	for err, want := range map[error]failure{
		fmt.Errorf("write: %w", syscall.ENOSPC): failDisk, context.DeadlineExceeded: failTimeout, errors.New("x"): failOther,
	} {
		if got := failureOf(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	if err := explain(context.Canceled, rem, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up is %v", err)
	}
}
