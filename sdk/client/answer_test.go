package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// A page for people is no answer, as a network's sign-in gives one to any request, and neither is nothing where an object
// is due.
func TestAnswersOfOthers(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *client.Client) error{
		"Remove": func(ctx context.Context, c *client.Client) error { return c.DeleteSchedule(ctx, "s") },
		"Ready":  func(ctx context.Context, c *client.Client) error { return c.Ready(ctx) },
		"Export": func(ctx context.Context, c *client.Client) error {
			body, err := c.ExportAudit(ctx, time.Time{}, time.Time{}, "json")
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, body)
			return body.Close()
		},
		"Read": func(ctx context.Context, c *client.Client) error { _, err := c.GetSchedule(ctx, "s"); return err },
		"List": func(ctx context.Context, c *client.Client) error {
			_, err := c.ListSchedules(ctx, client.ScheduleFilter{})
			return err
		},
	}
	for _, tt := range []struct {
		name, kind, body string
		status           int
		good             string // calls that take it as their answer
	}{
		{"Page", "text/html; charset=utf-8", "<html>Sign in</html>", 200, ""},
		{"EmptyPage", "text/html", "", 200, ""},
		{"Nothing", "application/json", "", 200, "Remove Ready Export"},
		{"NoContent", "", "", 204, "Remove Ready"},
		{"Null", "application/json", " null ", 200, "Remove Ready Export"},
		{"List", "application/json", "[]", 200, "Remove Ready Export"},
		{"Object", "application/json", " {}", 200, "Remove Ready Export Read List"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if tt.kind != "" {
				w.Header().Set("Content-Type", tt.kind)
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		c, err := client.New(server.URL, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, call := range calls {
			if err, good := call(t.Context(), c), slices.Contains(strings.Fields(tt.good), name); good != (err == nil) {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
		}
		c.Close()
		server.Close()
	}
}
