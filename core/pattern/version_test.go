package pattern_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

func TestVersionOrder(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	// In the order of creation.
	for _, v := range []string{"2.0.0", "nightly", "1.10.0", "3.0.0-rc.1", "1.9.0", "edge", "1.9.0+b2", "1", "3.0.0-beta"} {
		f.create("p", v)
	}
	versions, err := f.FindPatternVersions(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(versions))
	for _, v := range versions {
		got = append(got, v.Version)
	}
	want := "2.0.0 1.10.0 1.9.0+b2 1.9.0 1 3.0.0-rc.1 3.0.0-beta edge nightly"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}

	for _, tc := range []struct{ ask, want string }{
		{"", "2.0.0"},
		{"latest", "2.0.0"},
		{"1", "1"}, // exact before range
		{"1.9.0", "1.9.0"},
		{"1.x", "1.10.0"},
		{"1.9", "1.9.0+b2"},
		{"^1.2", "1.10.0"},
		{"~1.9", "1.9.0+b2"},
		{">=1 <2", "1.10.0"},
		{">=1, <1.10", "1.9.0+b2"},
		{"<1.10 || >=2", "2.0.0"},
		{"*", "2.0.0"},
		{">2", ""},
		{">=3.0.0-0", "3.0.0-rc.1"},
		{"nightly", "nightly"},
		{"weekly", ""},
		{"1.x.y.z", ""},
	} {
		for range 2 { // the second time from memory
			p, err := f.FindPattern(t.Context(), "p", tc.ask)
			switch {
			case tc.want == "":
				wantCode(t, err, core.CodeNotFound)
			case err != nil || p.Version != tc.want:
				t.Errorf("%q gives %+v, %v, want %s", tc.ask, p, err, tc.want)
			}
		}
	}
	for _, bad := range []string{" ", ">>1", "1 2 three!", "^", "1.x || ", "\x00", strings.Repeat("1", 200), "é"} {
		_, err := f.FindPattern(t.Context(), "p", bad)
		if e := wantCode(t, err, core.CodeValidation); e.Details["field"] != "version" {
			t.Errorf("%q: details %v", bad, e.Details)
		}
	}
	_, err = f.FindPattern(t.Context(), "q", "1.x")
	wantCode(t, err, core.CodeNotFound)
}

func TestLatestWithoutRelease(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.create("p", "draft")
	f.create("p", "1.0.0-rc.1")
	f.create("p", "draft2")
	if p, err := f.FindPattern(t.Context(), "p", ""); err != nil || p.Version != "1.0.0-rc.1" {
		t.Errorf("latest is %+v, %v", p, err)
	}
	f.create("q", "z")
	f.create("q", "a")
	if p, err := f.FindPattern(t.Context(), "q", ""); err != nil || p.Version != "a" {
		t.Errorf("latest is %+v, %v", p, err)
	}
}

// FuzzVersion: whatever is asked for, the answer is one of the versions, NOT_FOUND or VALIDATION_ERROR.
func FuzzVersion(f *testing.F) {
	for _, seed := range []string{"1.x", "^1.2", ">=1 <2", "~> 1", "latest", "1.0.0-rc.1+b", "||", "1 - 2", "!=1"} {
		f.Add(seed)
	}
	fix := newFixture(f, pattern.Options{})
	for _, v := range []string{"1.0.0", "1.2.3", "2.0.0-rc.1", "edge"} {
		fix.create("p", v)
	}
	f.Fuzz(func(t *testing.T, ask string) {
		p, err := fix.FindPattern(t.Context(), "p", ask)
		switch code := core.ErrorCode(err); code {
		case "":
			if p == nil || p.Name != "p" {
				t.Fatalf("%q gives %+v", ask, p)
			}
		case core.CodeNotFound, core.CodeValidation:
		default:
			t.Fatalf("%q: %v", ask, err)
		}
	})
}
