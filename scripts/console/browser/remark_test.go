package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// A remark that is half written outlives a look at another tab, and the line that it is about.
func TestHalfWrittenRemark(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: `echo begin`, Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	at := "/threads/" + thread.ID + "?tab="
	const writes = `document.activeElement?.matches(".remarking textarea") && document.activeElement.value === %q`
	begin := func(t *testing.T) *page {
		t.Helper()
		p := beforeIn(t, `{ const real = window.fetch; window.gone = false;
			window.fetch = (address, o) => { if (!new URL(address, location.href).pathname.endsWith("/diff")) return real(address, o);
				const file = (name, line) => "diff --git a/" + name + " b/" + name + "\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1,1 @@\n+" + line + "\n";
				return Promise.resolve(new Response(JSON.stringify({patch: file("a.txt", "stays") + (gone ? "" : file("b.txt", "goes")), baseCommit: "0123456789", workBranch: "w", truncated: false}), {headers: {"Content-Type": "application/json"}})); }; }`)
		p.do(chromedp.Navigate(shared.URL + at + "changes"))
		p.click(`[...document.querySelectorAll("tr.add")].find((r) => r.innerText.includes("goes"))?.querySelector("button.remark")`)
		p.until("the field", fmt.Sprintf(writes, ""))
		p.do(chromedp.KeyEvent("why"))
		return p
	}
	t.Run("another tab", func(t *testing.T) {
		p := begin(t)
		p.to(at + "memory")
		p.until("the other tab", `!document.querySelector(".changes")`)
		p.to(at + "changes")
		p.until("the changes", `document.querySelector(".changes")?.innerText.includes("goes")`)
		if !p.holds(fmt.Sprintf(writes, "why")) {
			t.Fatalf("what was written before the look at another tab is gone\n%s", p.text())
		}
		p.click(button("leave it"))
		p.do(chromedp.Reload())
		p.until("the changes without it", `document.querySelector(".changes")?.innerText.includes("goes") && !document.querySelector(".remarking")`)
	})
	t.Run("line", func(t *testing.T) {
		p := begin(t)
		p.do(chromedp.Evaluate(`gone = true; 0`, nil))
		if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "echo more"}); err != nil {
			t.Fatal(err)
		}
		p.until("that the line is gone", `![...document.querySelectorAll("tr.add")].some((r) => r.innerText.includes("goes"))`)
		if !p.holds(fmt.Sprintf(writes, "why")) {
			t.Fatalf("what was written is gone with its line\n%s", p.text())
		}
		p.checkAxe(t, "a remark whose line is gone")
		p.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent("?"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		p.until("the remark", fmt.Sprintf(`JSON.parse(sessionStorage.getItem("remarks:%s") ?? "[]")[0]?.text === "why?" && !document.querySelector(".remarking")`, thread.ID))
		p.until("the focus, among the changes", `document.activeElement?.closest(".changes")`)
	})
}

// The button for a remark on a line is a target of 24 pixels while its line is pointed at, and makes no place for itself to scroll.
func TestRemarkButtonIsLargeEnough(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: `echo begin`, Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	const patch = `"diff --git a/a.txt b/a.txt\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,4 @@\n+one\n+two\n+three\n+four\n"`
	p := beforeIn(t, answering("/api/managed-threads/"+thread.ID+"/diff", `() => ({patch: `+patch+`, baseCommit: "0123456789", workBranch: "w", truncated: false})`))
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=changes"))
	p.until("the lines", `document.querySelectorAll("tr.add button.remark").length === 4`)
	for _, line := range []string{"0", "1", "3"} {
		var at [2]float64
		p.do(chromedp.Evaluate(`(() => { const r = document.querySelectorAll("tr.add")[`+line+`].querySelector("td.line").getBoundingClientRect(); return [r.x + 60, r.y + r.height / 2]; })()`, &at))
		p.do(chromedp.MouseEvent(input.MouseMoved, at[0], at[1]))
		p.until("the button of the line", `getComputedStyle(document.querySelectorAll("tr.add")[`+line+`].querySelector("button.remark")).opacity === "1"`)
		// Its corners, too: no button of another line lies over them.
		if !p.holds(`(() => { const b = document.querySelectorAll("tr.add")[` + line + `].querySelector("button.remark"), r = b.getBoundingClientRect();
			return r.width >= 24 && r.height >= 24 && [[2, 2], [22, 2], [2, 22], [22, 22]].every(([x, y]) => document.elementFromPoint(r.x + x, r.y + y) === b); })()`) {
			t.Errorf("the button of line %s is too small", line)
		}
	}
	if p.holds(`(() => { const s = document.querySelector(".changes .scroll"); return s.scrollHeight > s.clientHeight; })()`) {
		t.Error("the lines scroll for the last button")
	}
}
