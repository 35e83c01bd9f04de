package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// refusedScreens has the wall refused as the variable refuses is, counts how often each screen is asked for, and lets time pass
// sixty times as fast, but for the requests, which a slow machine may take long for: turns counts the pauses of the wall.
const refusedScreens = `{ const real = window.fetch, later = window.setTimeout; window.refuses = ""; window.askedFor = {}; window.turns = 0;
	window.setTimeout = (f, ms, ...args) => { if (ms === 1000 || ms === 3000) turns++; return later(f, ms < 30_000 ? ms / 60 : ms, ...args); };
	const json = (v, status) => new Response(JSON.stringify(v), {status, headers: {"Content-Type": "application/json"}});
	window.fetch = async (address, o) => {
		const url = new URL(address, location.href);
		if (url.pathname !== "/api/managed-agents/screens") return real(address, o);
		const ids = url.searchParams.get("agentIds").split(",");
		for (const id of ids) askedFor[id] = (askedFor[id] ?? 0) + 1;
		if (refuses === "403" || refuses === "404") return json({error: {code: "FORBIDDEN", message: "refused by the test"}}, Number(refuses));
		return json({screens: refuses === "" ? ids.map((id) => ({agentId: id, cols: 80, rows: 1, lines: ["as it is"]})) : []}, 200);
	}; }`

// A screen that is refused is asked for once, has the reason in its tile, and is asked for again when the rights change.
func TestWallRefused(t *testing.T) {
	id := spawnShell(t, "refused-on-the-wall")
	tile := fmt.Sprintf(`document.querySelector(".tile-screen[data-id='%s'] pre")?.innerText`, id)
	for _, one := range []struct{ refuses, says string }{{"403", "refused by the test"}, {"404", "refused by the test"}, {"left out", "You may not read this screen."}} {
		t.Run(one.refuses, func(t *testing.T) {
			p := beforeIn(t, refusedScreens)
			p.do(chromedp.Navigate(shared.URL + "/agents?tab=wall"))
			p.until("the screen", tile+`?.includes("as it is")`)
			p.do(chromedp.Evaluate(fmt.Sprintf(`refuses = %q; turns = 0; askedFor = {}; 0`, one.refuses), nil))
			p.until("twenty pauses", fmt.Sprintf(`askedFor[%q] && turns > 20`, id))
			if n := p.count(fmt.Sprintf(`askedFor[%q]`, id)); n != 1 {
				t.Errorf("a screen that is refused was asked for %d times", n)
			}
			if !p.holds(fmt.Sprintf(`%s.includes(%q)`, tile, one.says)) {
				t.Errorf("its tile does not tell why\n%s", p.text())
			}
			p.checkAxe(t, "a wall that is refused")
			p.do(chromedp.Evaluate(`refuses = ""; new BroadcastChannel("wardroom").postMessage({signedIn: "another session"}); 0`, nil))
			p.until("the screen, once the rights were read again", tile+`.includes("as it is")`)
		})
	}
}

// A list that is refused is not asked for again by the clock.
func TestRefusedListIsNotReadByTheClock(t *testing.T) {
	for _, one := range []struct{ path, api string }{{"/agents", "/api/agents"}, {"/system?tab=process", "/api/metrics"}} {
		t.Run(one.path, func(t *testing.T) {
			// Time passes a hundred times as fast, but for the requests; clock counts heartbeats of the list.
			p := beforeIn(t, fmt.Sprintf(`{ const real = window.fetch, later = window.setTimeout, each = window.setInterval; window.asked = 0; window.clock = 0;
				window.setTimeout = (f, ms, ...args) => later(f, ms < 30_000 ? ms / 100 : ms, ...args); window.setInterval = (f, ms, ...args) => each(f, ms / 100, ...args);
				each(() => clock++, 100);
				window.fetch = (address, o) => {
					if (new URL(address, location.href).pathname !== %q) return real(address, o);
					asked++;
					return Promise.resolve(new Response(JSON.stringify({error: {code: "FORBIDDEN", message: "refused by the test"}}), {status: 403, headers: {"Content-Type": "application/json"}}));
				}; }`, one.api))
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.until("the refusal", main+`.includes("refused by the test")`)
			p.do(chromedp.Evaluate(`asked = clock = 0`, nil))
			p.until("twenty heartbeats", `clock > 20`)
			if n := p.count(`asked`); n > 10 { // something may have happened to the agents meanwhile
				t.Errorf("a list that is refused was asked for %d times", n)
			}
			p.click(button("Try again"))
			p.until("that it is asked for where a person wants it", `asked > 0`)
		})
	}
}
