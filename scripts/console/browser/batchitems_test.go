package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// A file with inputs that was mended is read once it is chosen again.
func TestMendedBatchFile(t *testing.T) {
	putUrgency(t)
	file := filepath.Join(t.TempDir(), "inputs.jsonl")
	choose := func(p *page, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p.do(chromedp.SetUploadFiles(`dialog input[type=file]`, []string{file}, chromedp.ByQuery))
	}
	p := open(t, "/batches")
	p.click(button("Start one"))
	p.until("the form", `document.querySelector("dialog input[type=file]")`)
	choose(p, `{"text": "x"`)
	p.until("that it cannot be read", `document.querySelector("dialog [role=status]")?.innerText.includes("1 line cannot be read")`)
	choose(p, `{"text": "x"}`)
	p.until("that it is read", `document.querySelector("dialog [role=status]")?.innerText === "1 input read as JSON lines"`)
}

// An item that did not begin leads nowhere, and takes nothing of the filter away.
func TestItemWithoutExecution(t *testing.T) {
	const id = "batch_01ARZ3NDEKTSV4RRFFQ0000001"
	p := beforeIn(t, answering("/api/batch/"+id, `(q) => ({batchId: "`+id+`", status: "running", pattern: {name: "urgency", version: "1.0.0"}, total: 2, completed: 1, failed: 0, cancelled: 0, createdAt: "2026-01-02T03:04:05Z",
		results: [{index: 0, status: "completed", executionId: "exec_01ARZ3NDEKTSV4RRFFQ0000001"}, {index: 1, status: "pending"}], hasMore: false})`))
	p.do(chromedp.Navigate(shared.URL + "/batches/" + id + "?status=pending"))
	p.click(css("tr[data-index]"))
	if !p.holds(`location.search === "?status=pending"`) {
		t.Errorf("a press on an item that did not begin takes the filter away: %s", p.text())
	}
}
