package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/wardroom/wardroom/scripts/fakemodel"
)

func requests(t *testing.T, server *fakemodel.Server, query string) []fakemodel.Request {
	t.Helper()
	status, data := get(t, server, "/_fake/requests"+query)
	var list []fakemodel.Request
	if err := json.Unmarshal(data, &list); err != nil || status != 200 || list == nil {
		t.Fatalf("requests are %d %s: %v", status, data, err)
	}
	return list
}

func TestControlRequests(t *testing.T) {
	server := start(t, fakemodel.Options{})
	if list := requests(t, server, ""); len(list) != 0 {
		t.Errorf("a new server has seen %+v", list)
	}
	post(t, server, messages, anthropicBody(true, "first"))
	held := async(t, server, "HOLD[door]")
	list := requests(t, server, "?after=1&wait=20")
	if len(list) != 1 || list[0].Seq != 2 || list[0].User != "HOLD[door]" || list[0].DoneNs != 0 {
		t.Errorf("later requests are %+v", list)
	}
	if list := requests(t, server, "?after=1&done=true"); len(list) != 0 {
		t.Errorf("answered later requests are %+v", list)
	}
	if status, data := get(t, server, "/_fake/held?name=door&wait=20"); status != 200 || decode(t, data).at("held") != true {
		t.Errorf("held is %d %s", status, data)
	}
	if _, data := get(t, server, "/_fake/health"); decode(t, data).text("held.0") != "door" || decode(t, data).at("requests") != 2.0 {
		t.Errorf("health is %s", data)
	}
	if _, data := send(t, server, http.MethodPost, "/_fake/release?name=door", nil, nil); decode(t, data).at("released") != 1.0 {
		t.Errorf("release is %s", data)
	}
	check(t, "answer", <-held, "ANSWER[HOLD[door]]")
	list = requests(t, server, "?done=true&after=1&wait=20")
	if len(list) != 1 || list[0].Status != 200 {
		t.Fatalf("answered requests are %+v", list)
	}
	q := list[0]
	if q.ReceivedNs <= 0 || q.FirstNs < q.ReceivedNs || q.LastNs < q.FirstNs || q.DoneNs < q.LastNs {
		t.Errorf("the times of %+v are out of order", q)
	}
	if _, data := get(t, server, "/_fake/held?name=door"); decode(t, data).at("held") != false {
		t.Errorf("held is %s afterwards", data)
	}

	if status, _ := send(t, server, http.MethodPost, "/_fake/reset", nil, nil); status != 200 {
		t.Errorf("reset is %d", status)
	}
	if list := requests(t, server, ""); len(list) != 0 {
		t.Errorf("after a reset there are %+v", list)
	}
}

func TestControlRefusals(t *testing.T) {
	server := start(t, fakemodel.Options{})
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "requests?after=x", 400, `after is "x"; it must be the seq of a request`},
		{"GET", "requests?after=-1", 400, `after is "-1"; it must be the seq of a request`},
		{"GET", "requests?done=perhaps", 400, `done is "perhaps"; it must be true or false`},
		{"GET", "requests?wait=61", 400, `wait is "61"; it must be seconds from 0 to 60`},
		{"GET", "held?name=x&wait=NaN", 400, `wait is "NaN"; it must be seconds from 0 to 60`},
		{"GET", "held", 400, "name is missing; give the name in HOLD[name], such as ?name=x"},
		{"POST", "release", 400, "name is missing; give the name in HOLD[name], such as ?name=x"},
		{"GET", "release?name=x", 404, "GET /_fake/release is not a control endpoint; there are GET health, requests and held, POST release and reset"},
	} {
		status, data := send(t, server, tt.method, "/_fake/"+tt.path, nil, nil)
		if got := decode(t, data).text("error"); status != tt.status || got != tt.want {
			t.Errorf("%s %s is %d %q, want %d %q", tt.method, tt.path, status, got, tt.status, tt.want)
		}
	}
}
