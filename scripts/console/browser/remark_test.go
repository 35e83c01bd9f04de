package browser_test

import (
	"fmt"
	"testing"

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
