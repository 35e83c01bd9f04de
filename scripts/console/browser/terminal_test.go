package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// A terminal is read-only until it is taken over, and again once it is given back.
func TestTerminal(t *testing.T) {
	a, err := shared.Client.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "bash", Name: "shell"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.StopManagedAgent(context.WithoutCancel(t.Context()), a.ID, true, 0) })
	err = testbed.Until(t.Context(), time.Minute, "the shell is ready", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetManagedAgent(ctx, a.ID)
		return err == nil && now.Status == client.ManagedReady, err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/agents/"+a.ID)
	p.click(button("For screen readers"))
	const lines = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText).join("\n")`
	p.until("the prompt", lines+`.includes("$")`)
	p.click(css(".terminal"))
	p.do(chromedp.KeyEvent("echo no-$((3*3))"))
	p.click(button("Take over"))
	p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
	p.shoot("terminal")
	var shown string
	p.do(chromedp.Evaluate(lines, &shown))
	if contains(shown, "no-") {
		t.Errorf("what was typed before it was taken over has reached the terminal:\n%s", shown)
	}
	p.click(button("Give back"))
	p.until("the keyboard is given back", `!document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "read-only"`)
}
