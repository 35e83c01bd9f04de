package cmd_test

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// The list of audit records takes the number that its page ends before, and no other text in its place.
func TestAuditListBefore(t *testing.T) {
	var asked atomic.Value // of string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Query().Get("before"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"records": [], "hasMore": false}`))
	})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"audit", "list"}, 0, ""},
		{[]string{"audit", "list", "--before", "0"}, 0, ""},
		{[]string{"audit", "list", "--before", "18446744073709551615"}, 0, "18446744073709551615"},
		{[]string{"audit", "list", "--before", "-1"}, 2, "none"},
		{[]string{"audit", "list", "--before", "2026-01-02"}, 2, "none"},
	} {
		asked.Store("none")
		r := execute(t, server, tt.args...)
		if got := asked.Load(); r.code != tt.code || got != tt.want {
			t.Errorf("%v: exit code %d, before %q; want %d, %q\n%s", tt.args, r.code, got, tt.code, tt.want, &r.stderr)
		}
	}
}
