package appliance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/overview"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// spawnedAgents lists agents as the service of managed agents does.
type spawnedAgents []*core.ManagedAgent

func (m spawnedAgents) FindManagedAgents(_ context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	from := 0
	if filter.Cursor != "" {
		_, _ = fmt.Sscan(filter.Cursor, &from)
	}
	to := min(from+filter.Limit, len(m))
	info := core.PageInfo{Total: len(m), HasMore: to < len(m)}
	if info.HasMore {
		info.NextCursor = fmt.Sprint(to)
	}
	return m[from:to], info, nil
}

type countedAgents struct{}

func (countedAgents) FindAgents(context.Context, core.AgentFilter) ([]*core.Agent, core.PageInfo, core.AgentCounts, error) {
	return nil, core.PageInfo{}, core.AgentCounts{Connected: 2, Healthy: 1}, nil
}

const toolPrompt = `{"id":"p1","kind":"approval","text":"May I?","tool":"Bash","input":{"command":"ls"},"options":[{"id":"allow","label":"Yes"}],"source":"x"}`

// Everything that waits is in the inbox once, newest first, on pages of any size; what waits for nobody is not.
func TestInboxOfAll(t *testing.T) {
	ctx, clock := context.Background(), coretest.NewClock()
	s, err := store.OpenOn(ctx, memory.New(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	rnd := rand.New(rand.NewPCG(9, 9))
	start, ids := clock.Now(), core.NewIDs(clock)
	exec := ids.New(core.PrefixExecution)
	type waits struct {
		id    string
		since time.Time
	}
	var want []waits
	var spawned spawnedAgents
	for i := range 150 {
		clock.Advance(time.Duration(1+rnd.IntN(5)) * time.Second)
		now := clock.Now()
		open := rnd.IntN(3) > 0
		var id string
		switch rnd.IntN(3) {
		case 0:
			id = ids.New(core.PrefixQuestion)
			q := &core.Question{
				ID: id, ExecutionID: exec, Status: core.QuestionOpen, Kind: core.QuestionApproval, Content: json.RawMessage(toolPrompt), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
			}
			if !open {
				q.Status = core.QuestionAnswered
			}
			err = s.Update(ctx, func(tx core.Tx) error { return tx.PutQuestion(q) })
		case 1:
			id = ids.New(core.PrefixThread)
			r := &core.ThreadRecord{BlockedSince: &now}
			r.ID, r.ExecutionID, r.Name, r.Status, r.Prompt, r.CreatedAt = id, exec, "worker", core.ThreadBlocked, json.RawMessage(toolPrompt), start
			switch {
			case open:
			case i%2 == 0:
				r.Status = core.ThreadReady
			default:
				r.Kind = core.ThreadKindRole
			}
			err = s.Update(ctx, func(tx core.Tx) error { return tx.PutThread(r) })
		default:
			id = ids.New(core.PrefixManaged)
			a := &core.ManagedAgent{ID: id, Status: core.ManagedBusy, StatusReason: core.ReasonBlocked, Prompt: json.RawMessage(toolPrompt), LastActivityAt: now}
			switch {
			case open && i%2 == 0:
				a.Status, a.StatusReason, a.Prompt, a.LoginURL = core.ManagedError, "login_required", nil, "https://login.example"
			case open:
			case i%2 == 0:
				a.Labels = map[string]string{"thread": "thread_1"}
			default:
				a.StatusReason = ""
			}
			spawned = append(spawned, a)
		}
		if err != nil {
			t.Fatal(err)
		}
		if open {
			want = append(want, waits{id, now})
		}
	}
	slices.Reverse(want)
	service := overview.New(overview.Options{Store: s, Agents: countedAgents{}, Managed: spawned, Clock: clock, ThreadLabel: "thread", RoleLabel: "role"})
	for limit := 1; limit <= 100; limit += 7 {
		var got []string
		page := core.Page{Limit: limit}
		for {
			items, info, err := service.FindInbox(ctx, core.InboxFilter{Page: page})
			if err != nil || info.Total != len(want) || info.AtLeast {
				t.Fatalf("%+v, %v", info, err)
			}
			for _, i := range items {
				got = append(got, i.ID)
				if i.Kind != core.QuestionLogin && (i.Tool != "Bash" || len(i.Input) == 0 || i.AnswerURL == "") || i.Kind == core.QuestionLogin && i.URL == "" {
					t.Fatalf("%+v", i)
				}
			}
			if page.Cursor = info.NextCursor; !info.HasMore {
				break
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d items by pages of %d, want %d", len(got), limit, len(want))
		}
		for i := range want {
			if got[i] != want[i].id {
				t.Fatalf("pages of %d: item %d is %s, want %s", limit, i, got[i], want[i].id)
			}
		}
	}
	for _, filter := range []core.InboxFilter{
		{Page: core.Page{Cursor: "x"}}, {Page: core.Page{Offset: 1}}, {Page: core.Page{Limit: 101}}, {Page: core.Page{Cursor: "eyJxIjoieCIsInQiOiIyMDI2LTAxLTAyVDAwOjAwOjAwWiIsImkiOiJ4In0"}},
	} {
		if _, _, err := service.FindInbox(ctx, filter); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", filter, err)
		}
	}
	items, info, err := service.FindInbox(ctx, core.InboxFilter{Sources: []core.InboxSource{core.InboxThread}})
	if err != nil || info.Total >= len(want) || items[0].Source != core.InboxThread {
		t.Fatalf("%+v, %v", info, err)
	}
	v, err := service.Overview(ctx)
	if err != nil || v.Waiting.People != len(want) || v.Agents.Connected != 2 || v.Managed["login_required"] == 0 || v.Threads["blocked"] == 0 || len(v.Ranges) != 4 {
		t.Fatalf("%+v, %v", v, err)
	}
}
