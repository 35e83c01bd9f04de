package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What is pasted while the connection is lost is not sent, and is kept, with a notice of that; it is sent once the connection is back.
func TestPasteWithoutConnection(t *testing.T) {
	id := spawnShell(t, "pasted")
	const pastes = `{ const to = new DataTransfer(); to.setData("text/plain", %q); document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", {clipboardData: to, bubbles: true, cancelable: true})); } 0`
	const dialog = `document.querySelector("dialog")?.innerText`
	for _, one := range []struct {
		name, text, sent string
		before           bool // it is pasted before the connection is lost
	}{{"several lines", "one\ntwo", "one\rtwo", true}, {"one line", "alone", "alone", false}} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, fakeTerminal+`window.sent = []; window.WebSocket.prototype.send = function (data) { if (typeof data !== "string") sent.push(new TextDecoder().decode(data)); };`)
			p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
			p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
			p.do(chromedp.Evaluate(`sockets[0].says({type: "attached"}); 0`, nil))
			p.click(button("Take over"))
			p.until("the socket that types", `sockets.length === 2 && sockets[1].onmessage`)
			p.do(chromedp.Evaluate(`sockets[1].says({type: "attached"}); 0`, nil))
			p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
			paste := chromedp.Evaluate(fmt.Sprintf(pastes, one.text), nil)
			if one.before {
				p.do(paste)
				p.until("a look at it", dialog+`?.includes("Paste 2 lines?")`)
				p.do(chromedp.Evaluate(`sockets[1].readyState = 3; 0`, nil), chromedp.KeyEvent(kb.Enter)) // the page does not know yet
				p.do(chromedp.Evaluate(`sockets[1].breaks(); 0`, nil))
			} else {
				p.do(chromedp.Evaluate(`sockets[1].breaks(); 0`, nil), paste)
			}
			p.until("another socket", `sockets.length === 3 && sockets[2].onmessage`)
			if !p.holds(dialog + `?.includes("Not sent.")`) {
				t.Fatalf("what was pasted is gone without a word\n%s", p.text())
			}
			p.checkAxe(t, "a paste that was not sent")
			if !p.holds(`sent.length === 0`) {
				t.Error("it was sent by a socket that is closed")
			}
			p.do(chromedp.Evaluate(`sockets[2].says({type: "attached"}); 0`, nil))
			p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Paste")`)
			p.until("that it is sent", `sent.length > 0 && !document.querySelector("dialog")`)
			if !p.holds(fmt.Sprintf(`sent.join("|") === %q`, one.sent)) {
				t.Errorf("something else was sent\n%s", p.text())
			}
		})
	}
}
