package browser_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
)

const root = "../../.."

// A machine that has other work takes many times as long as an idle one: both bound what hangs, and are no measure.
const (
	limit   = 6 * time.Minute // of one page
	waiting = 2 * time.Minute // of one wait in it
)

// rig is what all tests share: a browser, the product, and agents that go by rules.
type rig struct {
	*testbed.Server
	browser context.Context
	crew    []*testbed.Process
	binary  string // of the product
	agent   string // binary of the demo's agents
	lossy   *lossyLink
	noLossy error // why there is no lossy link
	end     []func()
}

var shared rig

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		fmt.Fprintln(os.Stderr, "Chromium is not installed (Debian: apt-get install chromium): the tests of the console need it")
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			return 1
		}
		return 0
	}
	defer shared.close()
	if err := shared.open(chromium); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func (r *rig) close() {
	for i := len(r.end) - 1; i >= 0; i-- {
		r.end[i]()
	}
}

func (r *rig) open(chromium string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "wardroom-console-")
	if err != nil {
		return err
	}
	r.end = append(r.end, func() { _ = os.RemoveAll(dir) })
	binary := os.Getenv(testbed.Built)
	builds := map[string]string{"agent": "./scripts/demo/agent"}
	if binary == "" {
		binary = filepath.Join(dir, "wardroom")
		builds["wardroom"], builds["plugins/runtime-local"], builds["plugins/holder"] = "./appliance/cmd/wardroom", "./plugins/runtime-local", "./plugins/holder"
	}
	for name, pkg := range builds {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(dir, name), pkg)
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
		}
	}
	r.binary, r.agent = binary, filepath.Join(dir, "agent")
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if r.Server, err = testbed.NewDevServer(binary, data); err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	r.end = append(r.end, func() { r.Close() })
	crew, err := r.staff(ctx, r.Server, dir)
	for _, p := range crew {
		r.end = append(r.end, p.Kill)
	}
	if err != nil {
		return err
	}
	r.crew = crew
	var endLossy func()
	if r.lossy, endLossy, r.noLossy = newLossyLink(ctx); r.noLossy == nil {
		r.end = append(r.end, endLossy)
	}
	// WebGL of terminals needs a processor that plays the graphics card. Pages are put together without one: a frame of them costs least.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.Flag("use-angle", "swiftshader"), chromedp.Flag("enable-unsafe-swiftshader", true), chromedp.Flag("disable-gpu-compositing", true), chromedp.WindowSize(1440, 900))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	// What the driver itself does not know of the browser is no news.
	browser, quit := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}))
	r.end = append(r.end, stop, quit)
	r.browser = browser
	return chromedp.Run(browser)
}

// staff starts the five agents of the org charts, which go by rules, and waits until a server has them.
func (r *rig) staff(ctx context.Context, server *testbed.Server, logs string) (crew []*testbed.Process, err error) {
	for _, one := range []string{"ada:architecture,planning,review", "tom:coding,review", "eve:coding", "kim:coding", "quinn:testing"} {
		name, capabilities, _ := strings.Cut(one, ":")
		p, err := testbed.Command{
			Args: []string{r.agent, "-server", server.URL, "-method", "team", "-name", name, "-capability", capabilities, "-think", "20ms"},
			Log:  filepath.Join(logs, name+".log"),
		}.Start()
		if err != nil {
			return crew, err
		}
		crew = append(crew, p)
		// One after the other: lists of agents have them in this order.
		err = testbed.Until(ctx, waiting, name+" is connected", func(ctx context.Context) (bool, error) {
			if err := p.Check(); err != nil {
				return false, err
			}
			h, err := server.Client.HealthDetailed(ctx)
			return err == nil && h.Components != nil && h.Components.Agents.Connected >= len(crew), nil
		})
		if err != nil {
			return crew, fmt.Errorf("%w\n%s", err, p.Tail())
		}
	}
	return crew, nil
}

// page is a tab that a test drives. Whatever a browser complains about fails the test.
type page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // guards all below
	bad      []string
	hosts    map[string]bool // that were asked for something
	calm     bool            // complaints about the network are expected: the server is away
	requests map[network.RequestID]string
	typed    []byte // that terminals of the page sent
	acks     int    // acknowledgements that they sent
}

// open opens a tab at a path of the console.
func open(t testing.TB, path string) *page {
	t.Helper()
	return openIn(t, shared.URL+path)
}

// openIn opens a tab at an address.
func openIn(t testing.TB, address string) *page {
	t.Helper()
	return openFor(t, address, limit)
}

// openFor opens a tab that is used for so long at most.
func openFor(t testing.TB, address string, limit time.Duration) *page {
	t.Helper()
	tab, closeTab := chromedp.NewContext(shared.browser)
	ctx, cancel := context.WithTimeout(tab, limit)
	p := &page{t: t, ctx: ctx, hosts: map[string]bool{}, requests: map[network.RequestID]string{}}
	chromedp.ListenTarget(ctx, p.hear)
	t.Cleanup(func() {
		p.mu.Lock()
		for _, text := range p.bad {
			t.Error(text)
		}
		p.mu.Unlock()
		if t.Failed() {
			p.shoot("failed")
		}
		cancel()
		closeTab()
	})
	// In front: a tab behind another one draws no frame, and a terminal in it shows nothing new.
	p.do(network.Enable(), log.Enable(), runtime.Enable(), browserpage.BringToFront(), chromedp.Navigate(address))
	return p
}

// movedAddresses is how a browser fails what it loads when the addresses of its machine change, as they do when a container engine
// or a cluster on the same machine makes a network. That is nothing of the page, which asks again.
const movedAddresses = "net::ERR_NETWORK_CHANGED"

// hear takes notice of what goes wrong in the page.
func (p *page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	complain := func(format string, args ...any) { p.bad = append(p.bad, fmt.Sprintf(format, args...)) }
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		complain("exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			complain("console: %s %s", e.Type, e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && !p.calm && !strings.Contains(e.Entry.Text, movedAddresses) {
			complain("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.requests[e.RequestID] = e.Request.URL
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "blob" {
			p.hosts[u.Host] = true
		}
	case *network.EventWebSocketFrameSent:
		if e.Response.Opcode == 2 { // what is typed; all else is text
			if data, err := base64.StdEncoding.DecodeString(e.Response.PayloadData); err == nil {
				p.typed = append(p.typed, data...)
			}
		} else if strings.Contains(e.Response.PayloadData, `"ack"`) {
			p.acks++
		}
	case *network.EventLoadingFailed:
		if !e.Canceled && !p.calm && e.ErrorText != "net::ERR_ABORTED" && e.ErrorText != movedAddresses {
			complain("request failed: %s %s", p.requests[e.RequestID], e.ErrorText)
		}
	}
}

// away says that the server is away, or was, and is expected to be missed.
func (p *page) away(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calm = is
}

func (p *page) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.text())
	}
}

// text is what the page shows now, for people who read why a test failed.
func (p *page) text() (text string) {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate(`document.body?.innerText ?? ""`, &text))
	if len(text) > 3000 {
		text = text[:3000]
	}
	return text
}

// looks is a script that looks every ten milliseconds whether an expression holds, in the page, where a look costs a small part of what
// it does from outside. It returns after ten looks at most, so that a page that is replaced is soon asked anew. Its timer is one that no
// script of a test replaces.
const looks = `(async (holds) => {
	for (let turn = 0; ; turn++) {
		try { if (holds()) return true; } catch { /* while a page loads there may be nothing to ask */ }
		if (turn === 9) return false;
		await scheduler.postTask(() => {}, {delay: 10});
	}
})(() => Boolean(%s))`

// until waits until an expression is true in the page.
func (p *page) until(what, expression string) {
	p.t.Helper()
	script := fmt.Sprintf(looks, expression)
	err := testbed.Until(p.ctx, waiting, what, func(ctx context.Context) (holds bool, err error) {
		err = chromedp.Run(ctx, chromedp.Evaluate(script, &holds, awaited))
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return false, err
		}
		return holds && err == nil, nil // the page may be replaced while it is asked
	})
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.text())
	}
}

// button is a visible button or link by its text.
func button(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("button,a,summary")].find((b) => b.innerText.trim().startsWith(%q) && b.offsetParent && !b.disabled)`, text)
}

// aim is a script that finds what an expression names, waits until it lies still, and returns the point in its middle, or why a
// click there is not possible now. From then on until clicked is called, what the mouse does elsewhere has no effect. The number is the turn of the try.
const aim = `(async (find, turn) => {
	const named = (e) => e?.outerHTML?.slice(0, 200) ?? "nothing";
	const frame = () => new Promise((drawn) => { requestAnimationFrame(drawn); setTimeout(drawn, 1000); });
	const found = () => { try { return find(); } catch { return undefined; } };
	const e = found();
	if (!e) return {why: "it is not there"};
	if (e.matches(":disabled, [aria-disabled=true]")) return {why: "it is disabled: " + named(e)};
	if (!e.checkVisibility({visibilityProperty: true}) || e.getClientRects().length === 0) return {why: "it is not visible: " + named(e)};
	e.scrollIntoView({block: turn %% 2 ? "nearest" : "center", inline: "nearest"});
	const box = () => { const r = e.getClientRects()[0] ?? {}; return [r.x, r.y, r.width, r.height]; };
	await frame();
	const before = box();
	await frame();
	const [x, y, width, height] = box();
	if (found() !== e) return {why: "it was replaced: " + named(e)};
	if (before.join() !== [x, y, width, height].join()) return {why: "it moves: " + named(e)};
	const at = [x + width / 2, y + height / 2], over = document.elementFromPoint(...at);
	if (!e.contains(over)) return {why: "over it lies " + named(over)};
	const press = {landed: false, why: "no click came to it"}, end = new AbortController();
	const guard = (event) => {
		if (!event.isTrusted || press.landed) return;
		if (event.composedPath().includes(e)) {
			press.landed = event.type === "click";
			return;
		}
		press.why = "the mouse hit " + named(event.target);
		event.preventDefault();
		event.stopImmediatePropagation();
	};
	for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(type, guard, {capture: true, signal: end.signal});
	window.clicked = () => { end.abort(); delete window.clicked; return press; };
	return {at};
})(() => %s, %d)`

// click clicks with the mouse in the middle of what an expression finds, once it is there, enabled, still and in view. What moves
// or is replaced between the look and the click is clicked again.
func (p *page) click(expression string) {
	p.t.Helper()
	why, turn := "", 0
	err := testbed.Until(p.ctx, waiting, "a click on "+expression, func(ctx context.Context) (bool, error) {
		turn++
		var spot struct {
			At  []float64
			Why string
		}
		// In front: no frame comes to a tab behind another one. While a page loads there may be nothing to ask.
		if err := chromedp.Run(ctx, browserpage.BringToFront(), chromedp.Evaluate(fmt.Sprintf(aim, expression, turn), &spot, awaited)); err != nil {
			why = cmp.Or(why, err.Error())
			return false, nil
		}
		if why = spot.Why; why != "" {
			return false, nil
		}
		if err := chromedp.Run(ctx, chromedp.MouseClickXY(spot.At[0], spot.At[1])); err != nil {
			return false, err
		}
		var press struct {
			Landed bool
			Why    string
		}
		// A click that loads another page leaves nothing that could be asked.
		if err := chromedp.Run(ctx, chromedp.Evaluate(`window.clicked?.() ?? {landed: true}`, &press)); err != nil {
			return true, nil
		}
		why = press.Why
		return press.Landed, nil
	})
	if err != nil {
		p.t.Fatalf("%v: %s\n%s", err, why, p.text())
	}
}

// choose takes an option of a select by its value, as a person does.
func (p *page) choose(selector, value string) {
	p.t.Helper()
	p.until("something to choose: "+selector+" "+value, fmt.Sprintf(`[...document.querySelector(%q)?.options ?? []].some((o) => o.value === %q)`, selector, value))
	p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); })()`, selector, value), nil))
}

// css is the first element that fits a selector, if it is shown.
func css(selector string) string { return fmt.Sprintf("document.querySelector(%q)", selector) }

// shoot keeps a picture of the page in the folder that CONSOLE_SHOTS names, if it does.
func (p *page) shoot(name string) {
	dir := os.Getenv("CONSOLE_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, browserpage.BringToFront(), chromedp.CaptureScreenshot(&png)); err != nil {
		p.t.Log(err)
		return
	}
	file := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(p.t.Name()+"-"+name)+".png")
	if err := os.WriteFile(file, png, 0o644); err != nil {
		p.t.Log(err)
	}
}

// holds reports whether an expression is true in the page now.
func (p *page) holds(expression string) (is bool) {
	p.t.Helper()
	p.do(chromedp.Evaluate("Boolean("+expression+")", &is))
	return is
}
