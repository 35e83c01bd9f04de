package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// library is a server with three executions, a batch and a pattern.
func library(t *testing.T) *caller {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/executions", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			fmt.Fprint(w, `{"executions":[{"executionId":"exec_1"},{"executionId":"exec_2"}],"nextCursor":"c"}`)
		case "c":
			fmt.Fprint(w, `{"executions":[{"executionId":"exec_3"}]}`)
		}
	})
	mux.HandleFunc("GET /api/executions/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"executionId":%q,"status":"completed","options":{"metadata":{"nonce":"n"}}}`, r.PathValue("id"))
	})
	mux.HandleFunc("GET /api/executions/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("since") == "0" {
			fmt.Fprint(w, `{"events":[{"sequence":1,"type":"execution.started","data":{}}],"hasMore":true,"nextSince":1}`)
			return
		}
		fmt.Fprint(w, `{"events":[{"sequence":2,"type":"execution.completed","data":{}}],"hasMore":false,"nextSince":2}`)
	})
	mux.HandleFunc("GET /api/batch/batch_1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"batchId":"batch_1","status":"completed","total":2,"completed":2}`)
	})
	mux.HandleFunc("GET /api/patterns/made", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name":"made","version":"1.0.0","definition":{"name":"made"}}`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c := newCaller(srv.URL)
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

func TestCollect(t *testing.T) {
	heard := &told{patterns: []string{"made"}, promises: []proof.Promise{
		{Kind: proof.PromiseBatch, ID: "batch_1"}, {Kind: proof.PromiseBatch, ID: "batch_2"}, {Kind: proof.PromiseExecution, ID: "exec_1"},
	}}
	col, err := collect(t.Context(), library(t), time.Now(), nil, heard)
	if err != nil {
		t.Fatal(err)
	}
	e := col.evidence
	if len(e.Executions) != 3 || e.Executions["exec_3"].Nonce() != "n" || len(col.bodies) != 3 {
		t.Errorf("executions %v", e.Executions)
	}
	if j := e.Journals["exec_2"]; len(j) != 2 || j[1].Type != "execution.completed" {
		t.Errorf("journal %v", j)
	}
	if len(e.Batches) != 1 || e.Batches["batch_1"].Completed != 2 || len(e.Promises) != 3 {
		t.Errorf("batches %v", e.Batches)
	}
}

func TestCollectMissesAPattern(t *testing.T) {
	_, err := collect(t.Context(), library(t), time.Now(), nil, &told{patterns: []string{"made", "gone"}})
	if err == nil || !strings.Contains(err.Error(), "lost: pattern gone") {
		t.Fatalf("got %v", err)
	}
}
