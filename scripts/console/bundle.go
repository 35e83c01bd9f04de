package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// bundle returns the files of dist by name. The same sources make the same bytes on every machine.
func bundle(p paths, plain bool) (map[string][]byte, error) {
	ui, err := filepath.Abs(p.ui)
	if err != nil {
		return nil, err
	}
	vendor, err := filepath.Abs(p.vendor)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	// The worker is a bundle of its own: what it shares with the page is little, and less than a request is worth.
	for _, entries := range [][]string{{"main.tsx", "main.css"}, {"worker.ts"}} {
		if err := compile(ui, vendor, entries, plain, made); err != nil {
			return nil, err
		}
	}
	if made["icon.svg"], err = os.ReadFile(filepath.Join(ui, "icon.svg")); err != nil {
		return nil, err
	}
	made["licences.txt"], err = licences(vendor)
	return made, err
}

// compile bundles the entries together, and adds their files to made.
func compile(ui, vendor string, entries []string, plain bool, made map[string][]byte) error {
	dist := filepath.Join(filepath.Dir(ui), "dist")
	for i, name := range entries {
		entries[i] = filepath.Join(ui, name)
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: filepath.Dir(ui),
		EntryPoints:   entries,
		NodePaths:     []string{vendor},
		Outdir:        dist, ChunkNames: "chunk-[hash]", EntryNames: "[name]",
		Bundle: true, Splitting: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022,
		MinifyWhitespace: !plain, MinifyIdentifiers: !plain, MinifySyntax: !plain,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", TsconfigRaw: "{}",
		LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8, Loader: map[string]api.Loader{".svg": api.LoaderCopy},
		Plugins: []api.Plugin{patches(vendor)},
	})
	var errs []error
	for _, m := range result.Errors {
		at := ""
		if m.Location != nil {
			at = fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column)
		}
		errs = append(errs, errors.New(at+m.Text))
	}
	for _, f := range result.OutputFiles {
		name, err := filepath.Rel(dist, f.Path)
		if err != nil {
			return err
		}
		made[filepath.ToSlash(name)] = f.Contents
	}
	return errors.Join(errs...)
}

// patch is a change of a vendored file, which must fit in exactly one place.
type patch struct{ from, to string }

// sheetHelper makes what stands in for a style element: its text becomes a style sheet that the document adopts, which
// the content policy allows, as no text of a page can reach it.
const sheetHelper = `const wardroomSheet=d=>{const s=new CSSStyleSheet();d.adoptedStyleSheets=[...d.adoptedStyleSheets,s];` +
	`const e=d.createElement("span");e.hidden=true;Object.defineProperty(e,"textContent",{set(t){s.replaceSync(t)},get(){return ""}});` +
	`const remove=e.remove.bind(e);e.remove=()=>{d.adoptedStyleSheets=d.adoptedStyleSheets.filter(x=>x!==s);remove()};return e};` + "\n"

// patched are the changes by file: xterm.js puts style elements and a style attribute into the page, and at each line that makes the
// scrollback longer it shows its scroll bar for a moment and moves it, which costs several times as much as the line. A pointer shows
// the bar, and a frame moves it. A screen that scrolls draws a selection anew only if there is one: the document's renderer draws all rows for it.
var patched = map[string][]patch{
	"@xterm/xterm/lib/xterm.mjs": {
		{`this._styleElement=n.mainDocument.createElement("style")`, `this._styleElement=wardroomSheet(n.mainDocument)`},
		{`this._dimensionsStyleElement=this._document.createElement("style")`, `this._dimensionsStyleElement=wardroomSheet(this._document)`},
		{`this._themeStyleElement=this._document.createElement("style")`, `this._themeStyleElement=wardroomSheet(this._document)`},
		{`this._revealOnScroll=!0`, `this._revealOnScroll=!1`},
		{`this._bufferService.onScroll(()=>this._sync())`, `this._bufferService.onScroll(()=>{this._syncDue||(this._syncDue=!0,this._renderService.addRefreshCallback(()=>{this._syncDue=!1,this._sync()}))})`},
		{`this._selectionService.refresh(),this._viewport?.queueSync()`, `this._selectionService.hasSelection&&this._selectionService.refresh(),this._viewport?.queueSync()`},
		{"t.setAttribute(\"style\",`${t.getAttribute(\"style\")||\"\"}${e};`)", "t.style.cssText+=e+\";\""},
	},
}

func patches(vendor string) api.Plugin {
	return api.Plugin{Name: "patches", Setup: func(build api.PluginBuild) {
		for name, list := range patched {
			file := filepath.Join(vendor, filepath.FromSlash(name))
			build.OnLoad(api.OnLoadOptions{Filter: regexp.QuoteMeta(file) + "$"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
				data, err := os.ReadFile(file)
				if err != nil {
					return api.OnLoadResult{}, err
				}
				text, err := apply(string(data), list)
				if err != nil {
					return api.OnLoadResult{}, fmt.Errorf("%s: %w", name, err)
				}
				text = sheetHelper + text
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
			})
		}
	}}
}

// apply makes the changes.
func apply(text string, list []patch) (string, error) {
	for _, p := range list {
		if n := strings.Count(text, p.from); n != 1 {
			return "", fmt.Errorf("a patch fits in %d places: %s", n, p.from)
		}
		text = strings.Replace(text, p.from, p.to, 1)
	}
	return text, nil
}

// licences joins the licences of what is vendored.
func licences(vendor string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("The console has parts of others in it. These are their licences.\n")
	list, err := vendored(vendor)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range list {
		text, err := os.ReadFile(filepath.Join(vendor, filepath.FromSlash(m.Name), "LICENSE"))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\n%s %s (%s)\n\n%s", m.Name, m.Version, m.Licence, bytes.TrimRight(text, "\n"))
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
