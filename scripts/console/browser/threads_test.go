package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// repository makes a git repository with one commit, and returns its address.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "words.go"), []byte("package words\n\n// Count counts.\nfunc Count(s string) int {\n\treturn 0\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return "file://" + dir
}

// shell starts a thread of a shell, and waits for its first turn.
func shell(t *testing.T, spec client.ThreadSpec) *client.Thread {
	t.Helper()
	runtimeReady(t.Context(), t, shared.Client)
	spec.ExecutionID, spec.AgentType = "new", "bash"
	thread, err := shared.Client.SpawnThread(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.StopThread(context.WithoutCancel(t.Context()), thread.ID, true, 0) })
	err = testbed.Until(t.Context(), waiting, "the first turn", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetThread(ctx, thread.ID)
		if err == nil {
			thread = now
		}
		return err == nil && now.TurnCount == 1, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return thread
}

// runtimeReady waits until the one runtime of a server takes agents.
func runtimeReady(ctx context.Context, t *testing.T, c *client.Client) {
	t.Helper()
	err := testbed.Until(ctx, waiting, "the runtime is ready", func(ctx context.Context) (bool, error) {
		list, err := c.ListRuntimes(ctx)
		return err == nil && len(list.Runtimes) == 1 && list.Runtimes[0].Ready, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Threads are a table or a board by state, execution or repository, which keys go through.
func TestThreadBoard(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Name: "on the board", Objective: "echo hello", Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := open(t, "/threads")
	p.choose("label.choice:has(option[value=repository]) select", "state")
	const card = `[...document.querySelectorAll(".board a.card")].find((c) => c.innerText.includes("on the board"))`
	p.until("its card", card+` && new URLSearchParams(location.search).get("board") === "state"`)
	p.until("the column that it is in", card+`?.closest("section").ariaLabel === "idle" || `+card+`?.closest("section").ariaLabel === "ready"`)
	p.checkAxe(t, "board by state")
	p.shoot("state")
	p.choose("label.choice:has(option[value=repository]) select", "repository")
	p.until("its repository", card+`?.closest("section").querySelector("h2").innerText.includes("file:///")`)
	p.shoot("repository")
	p.choose("label.choice:has(option[value=repository]) select", "execution")
	p.until("its execution", card+`?.closest("section").querySelector("h2 a")?.pathname === "/executions/`+thread.ExecutionID+`"`)
	p.do(chromedp.KeyEvent("j"))
	p.until("the first card", `document.activeElement?.matches(".board a.card")`)
	p.do(chromedp.EmulateViewport(390, 800))
	p.until("the board, no wider than a phone", `innerWidth === 390 && document.documentElement.scrollWidth <= 390 && document.querySelector("main").scrollWidth <= 390`)
	p.shoot("narrow")
	p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(shared.URL+"/threads?board=state"))
	if err := shared.Client.StopThread(t.Context(), thread.ID, true, 0); err != nil {
		t.Fatal(err)
	}
	p.until("another column, without a reload", card+`?.closest("section").ariaLabel === "stopped"`)
}

// A thread is looked at before it is started: workspace, branch, memory file and all; what was looked at is what starts.
func TestNewThread(t *testing.T) {
	repo := repository(t)
	p := open(t, "/threads")
	p.click(button("New"))
	p.click(css(`textarea[name=objective]`))
	p.do(chromedp.KeyEvent("echo it begins"))
	p.until("the types of the runtime", `[...document.querySelectorAll("select[name=type] option")].some((o) => o.value === "bash")`)
	p.choose("select[name=type]", "bash")
	p.click(css(`input[name=repo]`))
	p.do(chromedp.KeyEvent(repo))
	p.click(css(`input[name=branch]`))
	p.do(chromedp.KeyEvent("nothing"))
	if p.holds(button("Start it")) {
		t.Error("a thread can be started without a look")
	}
	p.away(true) // a refusal is an error to browsers
	p.click(button("Look at"))
	p.until("what is wrong with the branch", `document.querySelector("form .notice.bad")?.innerText.includes("nothing")`)
	p.away(false)
	p.do(chromedp.Evaluate(`document.querySelector("input[name=branch]").select()`, nil), chromedp.KeyEvent("main"))
	p.click(button("Look at"))
	const plan = `document.querySelector(".plan")?.innerText`
	p.until("all that it begins with", plan+`?.includes("thread-memory.md") && `+plan+`.includes("echo it begins") && `+plan+`.includes("wardroom/") && `+plan+`.includes("ws_")`)
	p.checkAxe(t, "new thread")
	p.shoot("plan")
	var path string
	p.do(chromedp.Evaluate(`[...document.querySelectorAll(".plan .facts div")].find((d) => d.innerText.startsWith("Workspace")).querySelector("dd").innerText`, &path))
	p.click(css(`input[name=role]`))
	p.do(chromedp.KeyEvent("x"))
	if p.holds(button("Start it")) {
		t.Error("what was changed after the look can be started")
	}
	p.click(button("Look at"))
	p.until("the new look", `[...document.querySelectorAll(".plan .facts div")].some((d) => d.innerText.startsWith("Role") && d.innerText.includes("x"))`)
	p.click(button("Start it"))
	p.until("the thread", `location.pathname.startsWith("/threads/thread_")`)
	var id string
	p.do(chromedp.Evaluate(`location.pathname.split("/")[2]`, &id))
	t.Cleanup(func() { _ = shared.Client.StopThread(context.WithoutCancel(t.Context()), id, true, 0) })
	thread, err := shared.Client.GetThread(t.Context(), id)
	if err != nil || thread.Role != "x" || thread.Workspace == nil || thread.Workspace.Repo != repo || thread.Workspace.Branch != "main" {
		t.Errorf("started %+v, %v", thread, err)
	}
	p.until("its first turn", `document.querySelector(".talk-box")?.innerText.includes("it begins")`)
	if p.holds(`sessionStorage.getItem("draft:new-thread")`) {
		t.Error("the draft is still there")
	}
}

// The threads of an execution are side by side, as they are now.
func TestThreadsSideBySide(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo side-$((3*4))"})
	p := open(t, "/executions/"+thread.ExecutionID+"?tab=threads")
	p.until("its row and its screen", `document.querySelector("tr[data-id='`+thread.ID+`']") && document.querySelector(".tile-screen pre")?.innerText.includes("side-12")`)
	p.checkAxe(t, "threads side by side")
	p.shoot("screens")
	p.click(css(".tile-screen a"))
	p.until("the thread", `location.pathname === "/threads/`+thread.ID+`"`)
}

// Remarks on lines of changes, made by key, go to the agent as one message.
func TestRemarks(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: `printf 'package words\n\n// Count counts words.\nfunc Count(s string) int {\n\treturn len(s)\n}\n' > words.go; echo new > NOTES.md`,
		Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := open(t, "/threads/"+thread.ID+"?tab=changes")
	p.until("the changes", `document.querySelectorAll(".changes details.file").length === 2`)
	p.do(chromedp.KeyEvent("n"))
	p.until("the first file", `document.activeElement?.matches("details.file summary") && document.activeElement.innerText.includes("NOTES.md")`)
	p.do(chromedp.KeyEvent("n"))
	p.until("the next one", `document.activeElement?.innerText.includes("words.go")`)
	p.do(chromedp.KeyEvent("]"))
	p.until("its first part", `document.activeElement?.matches("tr.hunk")`)
	const line = `document.activeElement?.matches("tr.add") && document.activeElement.innerText.includes("return len(s)")`
	for range 20 {
		if p.holds(line) {
			break
		}
		p.do(chromedp.KeyEvent("j"))
	}
	p.until("the line", line)
	p.do(chromedp.KeyEvent("c"))
	p.until("the field", `document.activeElement?.matches(".remarking textarea")`)
	p.do(chromedp.KeyEvent("bytes, not words"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("the remark, and the line again", `document.querySelector(".said-here")?.innerText.includes("bytes, not words") && `+line)
	p.click(button("side by side"))
	p.until("both sides", `document.querySelector(".split-lines") && document.querySelector(".said-here")`)
	p.checkAxe(t, "changes side by side")
	p.shoot("split")
	p.click(button("side by side"))
	p.click(button("wrap"))
	p.until("long lines as they are", `getComputedStyle(document.querySelector(".lines .line")).whiteSpace === "pre"`)
	p.click(`[...document.querySelectorAll("tr.add")].find((r) => r.innerText.includes("new")).querySelector("button.remark")`)
	p.until("a second field", `document.activeElement?.matches(".remarking textarea")`)
	p.do(chromedp.KeyEvent("why a new file?"))
	p.click(button("Keep it"))
	p.until("two remarks", `document.querySelector(".composer summary")?.innerText === "2 remarks"`)
	p.do(chromedp.Reload())
	p.until("both after a reload", `document.querySelectorAll(".said-here").length === 2`)
	p.checkAxe(t, "changes")
	p.shoot("remarks")
	p.click(button("Send 2 remarks"))
	p.until("that they are sent", `document.querySelector(".changes")?.innerText.includes("2 remarks are sent as one message") && !document.querySelector(".composer")`)
	err := testbed.Until(t.Context(), waiting, "the message", func(ctx context.Context) (bool, error) {
		events, err := shared.Client.ListThreadEvents(ctx, thread.ID, client.ThreadEventFilter{Types: []string{"thread_input"}})
		if err != nil {
			return false, err
		}
		for _, e := range events.Events {
			if text := string(e.Data); strings.Contains(text, "words.go:5") && strings.Contains(text, "bytes, not words") && strings.Contains(text, "NOTES.md:1") && strings.Contains(text, "why a new file?") {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A remark that is written while the agent changes the file stays on the line that it is about, with what was typed.
func TestRemarkOnLineThatMoves(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: `echo begin`, Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := beforeIn(t, `{ const real = window.fetch; window.above = ""; window.read = 0;
		window.fetch = (address, o) => { if (!new URL(address, location.href).pathname.endsWith("/diff")) return real(address, o); read++;
			const file = (name, lines) => "diff --git a/" + name + " b/" + name + "\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1," + lines.length + " @@\n" + lines.map((l) => "+" + l + "\n").join("");
			const patch = (above && file("a.txt", ["new"])) + file("b.txt", [...(above ? above.split("\n") : []), "first", "second", "third"]);
			return Promise.resolve(new Response(JSON.stringify({patch, baseCommit: "0123456789", workBranch: "w", truncated: false}), {headers: {"Content-Type": "application/json"}})); }; }`)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=changes"))
	p.click(`[...document.querySelectorAll("tr.add")].find((r) => r.innerText.includes("second"))?.querySelector("button.remark")`)
	p.until("the field", `document.activeElement?.matches(".remarking textarea")`)
	p.do(chromedp.KeyEvent("why sec"), chromedp.Evaluate(`window.above = "inserted"; window.away = 0;
		new MutationObserver(() => { if (!document.activeElement?.matches(".remarking textarea")) away++; }).observe(document.querySelector(".changes .scrolls"), {childList: true, subtree: true}); 0`, nil))
	if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "echo more"}); err != nil {
		t.Fatal(err)
	}
	p.until("the changes of the next turn", `document.querySelector(".changes").innerText.includes("inserted")`)
	p.do(chromedp.KeyEvent("ond?"))
	if !p.holds(`document.activeElement?.matches(".remarking textarea") && document.activeElement.value === "why second?" && document.querySelector(".said-here").previousElementSibling.innerText.includes("second") && away === 0`) {
		t.Errorf("what was written, or its line, is gone\n%s", p.text())
	}
	p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("the remark", fmt.Sprintf(`JSON.parse(sessionStorage.getItem("remarks:%s") ?? "[]")[0]?.text`, thread.ID))
	if !p.holds(fmt.Sprintf(`(({line, code, text}) => line === 3 && code === "second" && text === "why second?")(JSON.parse(sessionStorage.getItem("remarks:%s"))[0])`, thread.ID)) {
		t.Error("the remark is on another line")
	}

	// So does one that was written, and what takes the place of a line is not what a remark is on.
	send := func(above string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`window.above = %q; 0`, above), nil))
		if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "echo more"}); err != nil {
			t.Fatal(err)
		}
		p.until("the changes of the next turn", fmt.Sprintf(`[...document.querySelectorAll("tr.add")].filter((r) => r.innerText.includes("inserted")).length === %d`, 1+strings.Count(above, "\n")))
	}
	send("inserted\ninserted too")
	if !p.holds(`document.querySelector(".said-here")?.previousElementSibling.innerText.includes("second")`) {
		t.Errorf("a remark that was written is on another line\n%s", p.text())
	}
	p.click(`[...document.querySelectorAll("tr.add")].find((r) => r.innerText.includes("first"))?.querySelector("button.remark")`)
	p.until("the field of another line", `document.activeElement?.matches(".remarking textarea")`)
	if !p.holds(`document.activeElement.value === ""`) {
		t.Error("the remark of one line is changed at another")
	}
	p.do(chromedp.KeyEvent("why first?"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("both remarks", fmt.Sprintf(`JSON.parse(sessionStorage.getItem("remarks:%s")).map((r) => r.line + r.code).sort().join() === "3first,4second"`, thread.ID))
}

// A wall shows the screens of agents as they are, with one request a second for all of them, and none that is out of view.
func TestWall(t *testing.T) {
	var ids []string
	for range 2 {
		a, err := shared.Client.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "bash", Name: "on-the-wall-" + string(rune('a'+len(ids)))})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
		t.Cleanup(func() { _ = shared.Client.StopManagedAgent(context.WithoutCancel(t.Context()), a.ID, true, 0) })
	}
	p := open(t, "/agents?tab=wall")
	p.until("two screens", `document.querySelectorAll(".tile-screen").length >= 2 && [...document.querySelectorAll(".tile-screen pre")].every((s) => s.innerText.trim())`)
	for _, id := range ids {
		if err := testbed.Until(t.Context(), waiting, "the shell is ready", func(ctx context.Context) (bool, error) {
			a, err := shared.Client.GetManagedAgent(ctx, id)
			return err == nil && a.Status == client.ManagedReady, err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: "echo seen-$((6*7))"}); err != nil {
			t.Fatal(err)
		}
	}
	p.until("what they write, without a reload", `[...document.querySelectorAll(".tile-screen")].filter((s) => s.innerText.includes("on-the-wall") && s.innerText.includes("seen-42")).length === 2`)
	p.checkAxe(t, "wall")
	p.shoot("wall")
	p.mu.Lock()
	asked := 0
	for _, address := range p.requests {
		if strings.Contains(address, "/terminal") || strings.HasSuffix(address, "/screen") {
			t.Errorf("asked for %s", address)
		}
		if strings.Contains(address, "/screens?") {
			asked++
		}
	}
	p.mu.Unlock()
	if asked == 0 {
		t.Error("no screens were asked for")
	}
	p.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	p.until("its terminal", `location.pathname.startsWith("/agents/magent_")`)
}

// An agent is started from the page, of a type that a runtime has.
func TestSpawnAgent(t *testing.T) {
	p := open(t, "/agents?tab=managed")
	p.click(button("Start one"))
	p.until("the types", `[...document.querySelectorAll("dialog select[name=type] option")].some((o) => o.value === "bash")`)
	p.checkAxe(t, "start an agent")
	p.shoot("dialog")
	p.choose("dialog select[name=type]", "bash")
	p.click(css("dialog input[name=name]"))
	p.do(chromedp.KeyEvent("by hand"))
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("its screen", `location.pathname.startsWith("/agents/magent_") && document.querySelector("h1")?.innerText === "by hand"`)
	var id string
	p.do(chromedp.Evaluate(`location.pathname.split("/")[2]`, &id))
	p.do(chromedp.Navigate(shared.URL + "/agents?tab=managed&type=bash"))
	p.until("it among those of its type", `document.querySelector("tr[data-id='`+id+`']")`)
	p.do(chromedp.Navigate(shared.URL + "/agents?tab=managed&type=claude"))
	p.until("none of another", `document.querySelector(".empty")?.innerText.includes("fits these filters")`)
	if err := shared.Client.StopManagedAgent(t.Context(), id, true, 0); err != nil {
		t.Error(err)
	}
}

// The page of a connected agent has what it works on and worked on last, as that changes.
func TestAgentTasks(t *testing.T) {
	agents, err := shared.Client.ListAgents(t.Context(), client.AgentFilter{Status: "connected"})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(agents.Agents, func(a client.Agent) bool { return a.Name == "ada" })
	p := open(t, "/agents/"+agents.Agents[at].ID)
	p.until("the page", `document.querySelector("h1")?.innerText === "ada"`)
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	p.until("the task of the execution, without a reload", fmt.Sprintf(`[...document.querySelectorAll("main table.plain tbody tr")].some((r) => r.querySelector(".state").innerText === "completed" && r.innerText.includes("startup-team") && r.querySelector("a")?.href.includes(%q))`, done.ExecutionID))
	p.until("all of its tasks, and what they count as", `document.querySelectorAll("main table.plain tbody tr").length >= 2 && document.querySelector("main").innerText.match(/Succeeded\s+[1-9]/)`)
	p.checkAxe(t, "tasks of an agent")
	p.click(fmt.Sprintf(`[...document.querySelectorAll("main table.plain a")].find((a) => a.href.includes(%q))`, done.ExecutionID))
	p.until("the task in its timeline", `location.pathname.startsWith("/executions/") && document.querySelector("[role=row][aria-selected=true]")`)
}

// Managed agents are found by name, by why they are as they are, and by execution; all of it is in the address.
func TestManagedFilters(t *testing.T) {
	th := shell(t, client.ThreadSpec{Name: "finder", Objective: "echo hello"})
	p := open(t, "/agents?tab=managed&executionId="+th.ExecutionID)
	p.until("the one agent of the execution", `document.querySelectorAll("main tr[data-id]").length === 1`)
	p.checkAxe(t, "filters of managed agents")
	p.do(chromedp.SetValue("input[name=name]", "no such name"))
	p.click(button("Filter"))
	p.until("none of that name", `document.querySelector("main")?.innerText.includes("No managed agent fits") && location.search.includes("name=no")`)
	p.click(button("Show all"))
	p.until("all", `document.querySelectorAll("main tr[data-id]").length >= 1 && !location.search.includes("executionId")`)
	p.choose(`.bar .choice:nth-of-type(2) select`, "login_required")
	p.until("none for this reason", `document.querySelector("main")?.innerText.includes("No managed agent fits") && location.search.includes("reason=login_required")`)
}
