package main

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// What is committed is what the sources say: the types are those of the route table, and dist is made of ui.
func TestCommittedFilesAreCurrent(t *testing.T) {
	p := pathsOf(root)
	types, err := generateTypes(p.golden)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile(p.types); err != nil || !bytes.Equal(have, types) {
		t.Errorf("%s is stale: run make console (%v)", p.types, err)
	}
	made, err := bundle(p, false)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		want, ok := made[entry.Name()]
		have, err := os.ReadFile(filepath.Join(p.dist, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !ok || !bytes.Equal(have, want) {
			t.Errorf("dist/%s is stale: run make console", entry.Name())
		}
		delete(made, entry.Name())
	}
	for name := range made {
		t.Errorf("dist/%s is missing: run make console", name)
	}
}

// Total bytes in the binary.
func TestSizeOfAll(t *testing.T) {
	total := int64(0)
	entries, err := os.ReadDir(pathsOf(root).dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 3<<19 {
		t.Errorf("dist has %d bytes, more than 1.5 MiB", total)
	}
}

func TestVendoredScripts(t *testing.T) {
	if err := checkVendored(pathsOf(root).vendor); err != nil {
		t.Error(err)
	}
}

// A path that the console asks for is one of the route table.
func TestPathsAreRoutes(t *testing.T) {
	p := pathsOf(root)
	golden, err := os.ReadFile(p.golden)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	parameter := regexp.MustCompile(`\{[^}]+\}`)
	for _, m := range regexp.MustCompile(`(?m)^paths (/api\S*) `).FindAllStringSubmatch(string(golden), -1) {
		known[parameter.ReplaceAllString(m[1], "*")] = true
	}
	for _, path := range []string{"/api/auth/methods", "/api/auth/sessions", "/api/auth/sessions/*"} {
		known[path] = true // the golden is of a server without security, which lacks them
	}
	if len(known) < 40 {
		t.Fatalf("the golden has %d paths: did its form change?", len(known))
	}
	literal := regexp.MustCompile("[\"`](/api/[^\"`?]*)")
	inserted := regexp.MustCompile(`\$\{[^}]*\}`)
	err = filepath.WalkDir(p.ui, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(file, ".ts") || strings.HasSuffix(file, ".gen.ts") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range literal.FindAllStringSubmatch(string(data), -1) {
			path := inserted.ReplaceAllString(m[1], "*")
			if strings.HasSuffix(path, "/") {
				path += "*" // the rest is put behind it
			}
			if !known[path] {
				t.Errorf("%s asks for %s, which is no route", file, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPatchesFitOnce(t *testing.T) {
	for _, text := range []string{"a", "xx", ""} {
		if _, err := apply(text, []patch{{"x", "y"}}); err == nil {
			t.Errorf("a patch of %q was taken", text)
		}
	}
	if got, err := apply("axb", []patch{{"x", "y"}}); err != nil || got != "ayb" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Nothing of the console makes elements of strings, evaluates text, or reaches another host.
func TestSourcesAreStrict(t *testing.T) {
	banned := regexp.MustCompile(`dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|style="|setAttribute\("style"`)
	err := filepath.WalkDir(pathsOf(root).ui, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if found := banned.Find(data); found != nil {
			t.Errorf("%s has %s in it", file, found)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What a browser loads first, and what it loads when it is needed, stays in its bounds.
func TestSizes(t *testing.T) {
	made, err := bundle(pathsOf(root), false)
	if err != nil {
		t.Fatal(err)
	}
	packed := func(names ...string) (total int) {
		for _, name := range names {
			var out bytes.Buffer
			z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := z.Write(made[name]); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			total += out.Len()
		}
		return total
	}
	static := regexp.MustCompile(`(?:from|import)"\./(chunk-\w+\.js)"`)
	lazy := regexp.MustCompile(`import\("\./(chunk-\w+\.js)"\)`)
	// closure is a file with all that it needs before it runs.
	var closure func(name string, have map[string]bool)
	closure = func(name string, have map[string]bool) {
		have[name] = true
		for _, m := range static.FindAllSubmatch(made[name], -1) {
			if !have[string(m[1])] {
				closure(string(m[1]), have)
			}
		}
	}
	first := map[string]bool{}
	closure("main.js", first)
	names := append(slices.Sorted(maps.Keys(first)), "main.css", "worker.js")
	if n := packed(names...); n > 90<<10 || len(names)+1 > 6 { // and the page
		t.Errorf("the first load is %d bytes in %d requests: %v", n, len(names)+1, names)
	}
	later := map[string]bool{}
	for name := range first {
		for _, m := range lazy.FindAllSubmatch(made[name], -1) {
			later[string(m[1])] = true
		}
	}
	if len(later) < 3 {
		t.Fatalf("%v are loaded later: did the form of imports change?", later)
	}
	for name := range later {
		most := 30 << 10 // charts and further screens, and formatted text
		if bytes.Contains(made[name], []byte("xterm")) {
			most = 170 << 10
		}
		have := map[string]bool{}
		closure(name, have)
		for _, m := range lazy.FindAllSubmatch(made[name], -1) {
			have[string(m[1])] = true // that it asks for by itself
		}
		maps.DeleteFunc(have, func(name string, _ bool) bool { return first[name] })
		if n := packed(slices.Sorted(maps.Keys(have))...); n > most {
			t.Errorf("%s is %d bytes more, at most %d", name, n, most)
		}
	}
	total := 0
	for _, data := range made {
		total += len(data)
	}
	if total > 3<<19 {
		t.Errorf("all files are %d bytes, at most 1.5 MiB", total)
	}
}
