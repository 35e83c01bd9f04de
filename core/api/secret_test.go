package api_test

import "testing"

func TestSecrets(t *testing.T) {
	r := newRig(t)
	if got := r.do("GET", "/api/admin/secrets/providers", ""); got.status != 200 || got.json["total"] != 2.0 {
		t.Errorf("%d %s", got.status, got.text)
	}
	for body, want := range map[string]struct {
		status   int
		resolves any
	}{
		`{"reference":"vault:db#p"}`: {200, true}, `{"reference":"vault:db#q"}`: {200, false}, `{"reference":"hunter2"}`: {400, nil}, `{}`: {400, nil},
	} {
		if got := r.do("POST", "/api/admin/secrets/test", body); got.status != want.status || got.json["resolves"] != want.resolves {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
	}
}
