package cmd_test

import "testing"

// Where the console is, is printed for scripts in the form they ask for.
func TestOpenForScripts(t *testing.T) {
	for format, want := range map[string]string{
		"table": "http://a.example/exec_1\n", "json": "{\n  \"url\": \"http://a.example/exec_1\"\n}\n", "yaml": "url: http://a.example/exec_1\n",
		"jsonpath={.url}": "http://a.example/exec_1\n",
	} {
		r := execute(t, "http://a.example", "open", "exec_1", "--print", "-o", format)
		if r.expect(t, 0); r.stdout.String() != want {
			t.Errorf("-o %s: %q, want %q", format, r.stdout.String(), want)
		}
	}
}
