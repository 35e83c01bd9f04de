package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func workspace(id, executionID string, status core.WorkspaceStatus) *core.Workspace {
	return &core.Workspace{ID: id, ExecutionID: executionID, Status: status, Path: "/var/lib/ws/" + id, Warnings: []string{"LFS"}, CreatedAt: start}
}

func testWorkspace(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := workspace(ownID(core.PrefixWorkspace, start, 1), idAt(start, 1), core.WorkspaceReserved)
	_, err := s.FindWorkspace(ctx, w.ID)
	wantCode(t, err, core.CodeNotFound)
	mustUpdate(t, s, func(tx core.Tx) error {
		if _, err := tx.FindWorkspace(w.ID); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("before the put: %v", err)
		}
		if err := tx.PutWorkspace(w); err != nil {
			return err
		}
		got, err := tx.FindWorkspace(w.ID)
		if !reflect.DeepEqual(got, w) {
			t.Errorf("in the transaction: %+v", got)
		}
		return err
	})
	if got, err := s.FindWorkspace(ctx, w.ID); err != nil || !reflect.DeepEqual(got, w) {
		t.Fatalf("got %+v, %v, want %+v", got, err, w)
	}
	for range 2 { // an unknown one is no error
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWorkspace(w.ID) })
	}
	_, err = s.FindWorkspace(ctx, w.ID)
	wantCode(t, err, core.CodeNotFound)
	for name, w := range map[string]*core.Workspace{
		"ErrIDRequired":    workspace("", "", core.WorkspaceReady),
		"ErrStatusUnknown": workspace("ws_1", "", "clean"),
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutWorkspace(w) }), core.CodeValidation)
		})
	}
	_, _, err = s.FindWorkspaces(ctx, core.WorkspaceFilter{Status: "clean"})
	wantCode(t, err, core.CodeValidation)
	wantPages(t, workspaceList(s, core.WorkspaceFilter{}))
}

func workspaceList(s *store.Store, f core.WorkspaceFilter) lister {
	return listOf(s.FindWorkspaces, func(p core.Page) core.WorkspaceFilter { f.Page = p; return f },
		func(w *core.Workspace) string { return w.ID })
}

func testWorkspaceListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(9, 10))
	model := map[string]*core.Workspace{}
	for i := range 300 {
		id := ownID(core.PrefixWorkspace, start.Add(time.Duration(rnd.IntN(60))*time.Millisecond), 1)
		if rnd.IntN(4) == 0 {
			delete(model, id)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWorkspace(id) })
			continue
		}
		// A workspace of a preparation may come to another execution.
		w := workspace(id, idAt(start, rnd.IntN(3)), core.WorkspaceStatuses[rnd.IntN(4)])
		w.SizeBytes = int64(i)
		model[id] = w
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutWorkspace(w) })
	}
	for _, exec := range []string{"", idAt(start, 1), idAt(start, 9)} {
		for _, status := range append([]core.WorkspaceStatus{""}, core.WorkspaceStatuses...) {
			f := core.WorkspaceFilter{ExecutionID: exec, Status: status}
			want := selectIDs(model, func(w *core.Workspace) bool { return either(exec, w.ExecutionID) && either(status, w.Status) })
			wantList(t, fmt.Sprintf("%+v", f), workspaceList(s, f), want, 7)
		}
	}
	all, err := s.AllWorkspaces(ctx)
	if err != nil || len(all) != len(model) {
		t.Fatalf("%d workspaces, %v, want %d", len(all), err, len(model))
	}
	if !slices.IsSortedFunc(all, func(a, b *core.Workspace) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Fatal("workspaces are not in the order of their ids")
	}
	for _, w := range all {
		if !reflect.DeepEqual(w, model[w.ID]) {
			t.Fatalf("got %+v, want %+v", w, model[w.ID])
		}
	}
}
