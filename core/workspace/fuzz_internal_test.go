package workspace

import (
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"https://git.example.com/team/app.git", "ssh://git@host:22/x", "git@host:team/app.git", "file:///srv/x", "ext::sh -c true", "-x",
		"https://u:p@h/x", "file://h/x", "file:///a/../b", "https://h/%2e%2e/x", "git@-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y", "a@b:-x", "https://[::1]/x", "HTTPS://h/x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseURL(text)
		if err != nil {
			return
		}
		if p.text != text || strings.HasPrefix(text, "-") || strings.Contains(text, "::") && !strings.Contains(text, "[") && !strings.Contains(text, "://") && !scpForm.MatchString(text) {
			t.Fatalf("%q was let through", text)
		}
		switch p.scheme {
		case "https", "http", "ssh", "file":
		default:
			t.Fatalf("%q has the scheme %q", text, p.scheme)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) || climbs(text) {
			t.Fatalf("%q was let through", text)
		}
		if strings.HasPrefix(p.host, "-") || p.scheme != "file" && p.host == "" || p.scheme == "file" && !filepath.IsAbs(p.path) {
			t.Fatalf("%q has host %q and path %q", text, p.host, p.path)
		}
		if (p.scheme == "https" || p.scheme == "http") && strings.Contains(text, "@"+p.host) {
			t.Fatalf("%q holds a credential", text)
		}
	})
}

func FuzzURLAllowed(f *testing.F) {
	f.Add("https://*.example.com/*", "https://evil.org/x.example.com/y")
	f.Add("https://git.example.com/team/*", "https://git.example.com/team/a/b.git")
	f.Add("git@host:*", "git@host:a/b")
	f.Fuzz(func(t *testing.T, glob, text string) {
		if urlAllowed("https://git.example.com/"+glob, text) && !strings.HasPrefix(strings.ToLower(text), "https://git.example.com") {
			t.Fatalf("a glob of one host allows %q", text)
		}
	})
}

// What is let through as a ref, git takes as one.
func FuzzRef(f *testing.F) {
	for _, seed := range []string{"main", "feature/x", "a..b", "-x", "a.lock", "@", "a@{b", "a/.b", "ü/größe", "a//b", "a/", "a.", "HEAD~1", "x^{}"} {
		f.Add(seed)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("there is no git")
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkRef(name) != nil {
			return
		}
		if strings.HasPrefix(name, "-") {
			t.Fatalf("%q was let through", name)
		}
		if out, err := exec.Command(git, "check-ref-format", "refs/heads/"+name).CombinedOutput(); err != nil {
			t.Fatalf("git does not take %q: %v %s", name, err, out)
		}
	})
}

func TestWorkBranch(t *testing.T) {
	for _, c := range [][4]string{
		{"exec_1", "coder", "Fix the parser", "wardroom/exec_1/coder-fix-the-parser"},
		{"exec_1", "coder", "coder-fix-the-parser", "wardroom/exec_1/coder-fix-the-parser"}, // as threads are named by default
		{"exec_1", "coder", "coders", "wardroom/exec_1/coder-coders"},
		{"exec_1", "coder", "coder", "wardroom/exec_1/coder"},
		{"new", "", "thread", "wardroom/new/thread"},
	} {
		if got := workBranch(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("workBranch(%q, %q, %q) is %q, want %q", c[0], c[1], c[2], got, c[3])
		}
	}
}

func FuzzWorkBranch(f *testing.F) {
	f.Add("exec_01ABC", "coder", "Fix the parser!")
	f.Add("", "", "")
	f.Add("../x", "-", "ÄÖÜ")
	f.Add("a/b", strings.Repeat("x", 100), strings.Repeat("y-", 100))
	f.Fuzz(func(t *testing.T, execution, role, name string) {
		got := workBranch(execution, role, name)
		if err := checkRef(got); err != nil || !strings.HasPrefix(got, workPrefix) || strings.Count(got, "/") != 2 {
			t.Fatalf("workBranch(%q, %q, %q) is %q: %v", execution, role, name, got, err)
		}
		if s := slug(name); len(s) > maxSlug+1 || strings.HasPrefix(s, "-") || strings.HasSuffix(s, "-") {
			t.Fatalf("slug(%q) is %q", name, s)
		}
	})
}

func FuzzContextPath(f *testing.F) {
	for _, seed := range []string{".wardroom/m.md", "../x", "a/../b", "/etc/passwd", ".git/config", ".GIT", "a\x00b", "a//b", ".git::$DATA", "git~1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkContextPath(name) != nil {
			return
		}
		if !filepath.IsLocal(name) || path.Clean(name) != name || path.IsAbs(name) {
			t.Fatalf("%q was let through", name)
		}
		for _, part := range strings.Split(strings.ToLower(name), "/") {
			if part == ".git" {
				t.Fatalf("%q was let through", name)
			}
		}
	})
}

func FuzzParseDiff(f *testing.F) {
	f.Add([]byte(":100644 100644 abc def M\x00a.txt\x001\t2\ta.txt\x00"))
	f.Add([]byte(":100644 100644 abc def R100\x00a\x00b\x000\t0\t\x00a\x00b\x00"))
	f.Add([]byte(":000000 100644 0 0 A\x00bin\x00-\t-\tbin\x00"))
	f.Add([]byte(":100644 100644 abc def R100\x00a"))
	f.Add([]byte("1\t2\t\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, file := range parseDiff(out) {
			if file.Status == "" || file.Insertions < 0 || file.Deletions < 0 || !utf8.ValidString(file.Path) {
				t.Fatalf("%q gives %+v", out, file)
			}
		}
	})
}

func FuzzParseLog(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 40) + "\x1fAnn\x1f1700000000\x1fsubject\x00"))
	f.Add([]byte(strings.Repeat("a", 40) + "\x1fA\x1fnn\x1f99999999999999\x1fsub\x1fject\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, c := range parseLog(out) {
			if !fullHash.MatchString(c.Hash) || !utf8.ValidString(c.Subject+c.Author) || len(c.Subject) > maxSubject || len(c.Author) > maxAuthor {
				t.Fatalf("%q gives %+v", out, c)
			}
			if _, err := c.Time.MarshalJSON(); err != nil {
				t.Fatalf("%q gives a time that has no JSON form: %v", out, err)
			}
		}
	})
}

func FuzzReadTree(f *testing.F) {
	f.Add([]byte("100644 blob abc      12\ta/b\x00160000 commit def       -\tsub\x00"))
	f.Add([]byte("100644 blob abc\tA\x00100644 blob abc\ta\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, text := range readTree(out).warnings {
			if !utf8.ValidString(text) {
				t.Fatalf("%q gives the warning %q", out, text)
			}
		}
	})
}

func FuzzSubmoduleURLs(f *testing.F) {
	f.Add([]byte("submodule.a.path\nlib\x00submodule.a.url\n../x\x00"), "https://h/a/b")
	f.Add([]byte("submodule..path\nx\x00submodule.a.b.url\ny\x00core.x\n"), "git@h:a/b")
	f.Fuzz(func(t *testing.T, out []byte, base string) {
		if _, err := parseURL(base); err != nil {
			return
		}
		for _, target := range submoduleURLs(out) {
			joined, err := joinURL(base, target)
			if err == nil && joined != target {
				before, _ := splitHost(base)
				if after, _ := splitHost(joined); after != before {
					t.Fatalf("%q relative to %q is %q, at another host", target, base, joined)
				}
			}
		}
	})
}
