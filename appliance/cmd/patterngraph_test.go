package cmd_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core/pattern"
)

// A pattern that a server has is drawn like the file that it was made of.
func TestGraphOfServerAndFileAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "configs/patterns/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no shipped patterns: %v", err)
	}
	for _, file := range append(files, "../chartdraw/testdata/nested.yaml", "../chartdraw/testdata/pipeline.yaml") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plan, problems := pattern.Parse(string(source))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", file, problems)
		}
		full, ok := plan.(*pattern.Plan)
		if !ok {
			t.Fatalf("%T", plan)
		}
		def := full.Definition()
		body, err := json.Marshal(map[string]any{
			"name": def.Name, "version": def.Version, "description": def.Description, "definition": full.JSON(),
			"createdAt": "2026-01-02T03:04:05.000Z", "updatedAt": "2026-01-02T03:04:05.000Z", "createdBy": "system",
		})
		if err != nil {
			t.Fatal(err)
		}
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		})
		for _, format := range []string{"text", "svg", "json"} {
			remote := execute(t, server, "pattern", "graph", def.Name, "-o", format)
			remote.expect(t, 0)
			local := execute(t, "", "pattern", "graph", "--file", file, "-o", format)
			local.expect(t, 0)
			if remote.stdout.String() != local.stdout.String() || local.stdout.String() == "" {
				t.Errorf("%s as %s: of the server\n%s\nof the file\n%s", file, format, &remote.stdout, &local.stdout)
			}
		}
	}
}

func TestGraphOfNewerServer(t *testing.T) {
	for definition, want := range map[string]string{
		`{"structure":{"roles":{}},"workflow":{"steps":[{"type":"teleport"}]}}`: "the server's version may be newer",
		`[1]`: "no JSON object",
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"name":"next","version":"9.0.0","definition":` + definition + `}`))
		})
		r := execute(t, server, "pattern", "graph", "next")
		r.expect(t, 1, want)
		if r.stdout.String() != "" {
			t.Errorf("stdout: %s", &r.stdout)
		}
	}
}
