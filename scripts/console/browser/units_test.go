package browser_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// timelineOf is the beginning of an expression: a timeline of these entries, and short names for what makes rows of it.
const timelineOf = `const e = (kind, id, from, to, more) => ({kind, id, status: to ? "completed" : "running", startedAt: new Date(from * 1000).toISOString(), ...(to && {endedAt: new Date(to * 1000).toISOString()}), ...more});
	const tree = (entries, now = 100) => new units.Tree({entries}, now * 1000);
	const keys = (nodes) => nodes.map((n) => [n.key, ...(n.children.length ? [keys(n.children)] : [])]);
	const rows = (t, o = {}) => units.rowsOf(t.top, new Set(o.closed), new Set(o.opened), new units.Filter(o.text ?? "", new Set(o.kinds), o.failed ?? false));`

// unitsScript is the console's logic, bundled once.
var unitsScript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "wardroom-units-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := filepath.Join(dir, "units.js")
	bundle := exec.Command("go", "run", ".", "-root", "../..", "-units", script)
	bundle.Dir = ".."
	if out, err := bundle.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	text, err := os.ReadFile(script)
	return string(text), err
})

// units returns a script that has the console's logic in the variable units.
func units(t *testing.T) string {
	t.Helper()
	script, err := unitsScript()
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// The logic of timeline, differences, remarks, inputs and texts, in the browser that it runs in.
func TestUnits(t *testing.T) {
	p := openIn(t, "about:blank")
	p.do(chromedp.Evaluate(units(t)+"; globalThis.units = units; 0", nil))
	for _, tt := range []struct{ name, body, want string }{
		{"a tree: tasks in their step, roles in a group, questions with their message",
			`return keys(tree([e("role", "r", 0, 9), e("step", "0", 0, 9), e("task", "t", 1, 8, {step: "0"}), e("message", "m", 2, 3, {step: "0"}), e("question", "m", 2, 3)]).top)`,
			`[["roles",[["role:r"]]],["step:0",[["task:t"],["message:m",[["question:m"]]]]]]`},
		{"two entries of one key are two rows", `return keys(tree([e("task", "t", 0, 1), e("task", "t", 2, 3)]).top)`, `[["task:t"],["task:t~2"]]`},
		{"what changed takes the place of what was, and threads stand where they began",
			`const q = (x, first) => ({...x, firstSequence: first}); const old = q(e("task", "a", 0, 3), 1); const was = {lastSequence: 5, entries: [old, q(e("task", "b", 2, 0), 2), e("thread", "t", 2, 0), q(e("task", "c", 5, 6), 3)]};
			const now = units.merged(was, {lastSequence: 9, status: "running", entries: [q(e("task", "b", 2, 8), 2), q(e("task", "a", 7, 0), 8), e("thread", "t", 2, 9), e("thread", "u", 6, 0)]});
			return [now.lastSequence, now.entries[0] === old, now.entries.map((x) => x.id + (x.endedAt ? Date.parse(x.endedAt) / 1000 : "-"))]`,
			`[9,true,["a3","b8","t9","c6","u-","a-"]]`},
		{"a change leaves all other nodes as they are, and what fails counts in what it lies in",
			`const s = e("step", "0", 0, 0); const list = [s, ...Array.from({length: 10000}, (_, i) => e("task", "t" + i, i, 0, {step: "0"}))]; const t = tree(list); const was = [...t.top[0].children]; const revisions = was.map((n) => n.revision);
			const next = [...list]; next[5] = e("task", "t4", 4, 9, {step: "0", status: "failed"}); next.push(e("task", "new", 9, 0, {step: "0"})); t.take({entries: next}, 20e3);
			const now = t.top[0].children; return [now.length, was.every((n, i) => n === now[i]), was.filter((n, i) => n.revision !== revisions[i]).map((n) => [n.key, n.to]), t.top[0].failed, t.top[0].count, t.find("task:new").parent.key]`,
			`[10001,true,[["task:t4",9000]],1,10002,"step:0"]`},
		{"changes one after the other make the tree that the whole makes",
			`const q = (x, first) => ({...x, firstSequence: first}); let had = {lastSequence: 1, entries: [q(e("role", "r", 0, 0), 1), q(e("step", "0", 0, 0), 2), q(e("task", "a", 1, 0, {step: "0"}), 3)]}; const t = tree(had.entries); let more = 4;
			const news = [[q(e("task", "a", 1, 3, {step: "0", status: "timeout"}), 3), q(e("task", "a", 4, 0, {step: "0", attempt: 2}), 8)], [e("thread", "h", 5, 0)], [e("thread", "h", 5, 0), q(e("message", "m", 6, 0, {step: "0"}), 9)], [e("thread", "h", 5, 9), e("thread", "i", 5.5, 0)], [e("thread", "h", 5, 9), e("thread", "i", 5.5, 9), q(e("role", "r2", 7, 0), 10), q(e("step", "0", 0, 9), 2)]];
			return news.map((entries) => { const was = had; had = units.merged(had, {lastSequence: more++, entries}); units.merged(was, {lastSequence: more, entries}); t.take(had, 100e3); const flat = (l) => l.map((n) => [n.key, n.title, n.level, n.from, n.to, n.running, n.failed, n.count, flat(n.children)]); return JSON.stringify(flat(t.top)) === JSON.stringify(flat(tree(had.entries).top)); })`,
			`[true,true,true,true,true]`},
		{"what runs moves on, and nothing else",
			`const t = tree([e("role", "r", 0, 0), e("task", "a", 1, 3), e("task", "b", 2, 0)], 10); t.move(20e3); return t.top.map((n) => n.to)`,
			`[20000,3000,20000]`},
		{"answers stand in the order of the workflow, and those of one step as they came",
			`return units.byStep(["1.10", "2", "1.9", "0", "1.9"].map((step, i) => ({step, i})).concat({i: 5})).map((a) => (a.step ?? "-") + "/" + a.i)`,
			`["-/5","0/3","1.9/2","1.9/4","1.10/0","2/1"]`},
		{"a text of a terminal is found over the end of a row, by its cells, one place after the other and round",
			`const drawn = [["ab界日c ", false], ["x  AB  ", false], ["full1ab", false], ["cd ab  ", true], ["ab", false]].map(([text, isWrapped]) => { const cells = [...text].flatMap((c) => c > "\u2000" ? [c, ""] : [c]);
				while (cells.length < 8) cells.push(" ");
				return {isWrapped, length: cells.length, getCell: (i) => ({getWidth: () => cells[i] === "" ? 0 : cells[i + 1] === "" ? 2 : 1, getChars: () => cells[i] === " " ? "" : cells[i]}), translateToString: (trim) => trim ? cells.join("").trimEnd() : cells.join("")}; });
			let at; const shown = []; const term = {rows: 2, buffer: {active: {length: drawn.length, viewportY: 0, getLine: (y) => drawn[y]}}, getSelectionPosition: () => at && {start: {x: at[0], y: at[1]}, end: {x: at[0] + at[2], y: at[1]}}, select: (...of) => { at = of; }, clearSelection: () => { at = undefined; }, scrollToLine: (y) => shown.push(y)};
			const next = (text, on) => { units.find(term, text, on); return at; };
			return [next("日C", false), next("ab", false), next("ab", true), next("ab", true), next("ab", true), next("ab", true), next("ab", false), next("AB CD", false), next("none", true) ?? null, shown]`,
			`[[4,0,3],[3,1,2],[5,2,2],[3,3,2],[0,4,2],[0,0,2],[0,0,2],[5,2,5],null,[1,2,3,1]]`},
		{"a text of a full terminal is found where a wide character did not fit, and where a small letter is longer; behind its last row is its first",
			`const drawn = [["İneedle ", true], ["xxxxxxx ", false], ["界日 end", true]].map(([text, isWrapped]) => { const cells = [...text].flatMap((c) => c > "\u2000" ? [c, ""] : [c]);
				while (cells.length < 8) cells.push(" ");
				return {isWrapped, length: cells.length, getCell: (i) => ({getWidth: () => cells[i] === "" ? 0 : cells[i + 1] === "" ? 2 : 1, getChars: () => cells[i] === " " ? "" : cells[i]}), translateToString: (trim) => trim ? cells.join("").trimEnd() : cells.join("")}; });
			let at; const shown = []; const term = {rows: 2, buffer: {active: {length: drawn.length, viewportY: 0, getLine: (y) => drawn[y % 3]}}, getSelectionPosition: () => at && {start: {x: at[0], y: at[1]}, end: {x: at[0] + at[2], y: at[1]}}, select: (...of) => { at = of; }, clearSelection: () => { at = undefined; }, scrollToLine: (y) => shown.push(y)};
			const next = (text, on) => { units.find(term, text, on); return at; };
			return [next("x界", false), next("end", false), next("needle", false), next("İN", false)]`,
			`[[6,1,4],[5,2,3],[1,0,6],[0,0,2]]`},
		{"what runs ends now", `return tree([e("task", "t", 1, 0)], 50).top[0].to`, `50000`},
		{"the critical path is what decided the end, from the end on",
			`return [...units.criticalPath(tree([e("step", "0", 0, 5), e("step", "1", 5, 9), e("task", "slow", 5, 9, {step: "1"}), e("task", "fast", 5, 6, {step: "1"}), e("task", "first", 0, 5, {step: "0"})]).top)].sort()`,
			`["step:0","step:1","task:first","task:slow"]`},
		{"200 equal siblings are all shown", `return rows(tree(Array.from({length: 200}, (_, i) => e("task", "t" + i, i, i + 1)))).length`, `200`},
		{"of more, the first, the failed and the running, and one row for the rest",
			`const many = Array.from({length: 1000}, (_, i) => e("task", "t" + i, i, i === 500 ? 0 : i + 1, i === 700 ? {status: "failed"} : {})); const r = rows(tree(many, 2000)); return [r.length, r.at(-1).more, r.some((x) => x.node.key === "task:t700"), r.some((x) => x.node.key === "task:t500"), rows(tree(many, 2000), {opened: ["many:"]}).length]`,
			`[23,978,true,true,1000]`},
		{"a filter keeps what fits with what it lies in",
			`return rows(tree([e("step", "0", 0, 9), e("task", "a", 0, 1, {step: "0", name: "ada"}), e("task", "b", 0, 1, {step: "0", name: "tom"}), e("step", "1", 0, 9)]), {text: "TOM"}).map((r) => r.node.key)`,
			`["step:0","task:b"]`},
		{"only what failed", `return rows(tree([e("task", "a", 0, 1), e("task", "b", 0, 1, {status: "timeout"})]), {failed: true}).map((r) => r.node.key)`, `["task:b"]`},
		{"long stretches without work are folded, and take little of the scale",
			`const s = new units.Scale(tree([e("task", "a", 0, 10), e("task", "b", 7200, 7210)]).work, 0, 7210e3, true); return [s.folds.length, s.folds[0].ms, s.folds[0].size < 0.1, s.place(0), s.place(7210e3), Math.round(s.time(s.place(7205e3)) / 1000), s.folded(s.place(3600e3))]`,
			`[1,7190000,true,0,1,7205,true]`},
		{"shown when asked for", `return new units.Scale(tree([e("task", "a", 0, 10), e("task", "b", 7200, 7210)]).work, 0, 7210e3, false).folds.length`, `0`},
		{"a scale without work has its ends", `const s = new units.Scale([], 0, 1000, true); return [s.place(0), s.place(1000)]`, `[0,1]`},
		{"100,000 entries", `const t = tree(Array.from({length: 100000}, (_, i) => e(i % 10 ? "task" : "step", i % 10 ? "t" + i : String(i), i, i + 1, i % 10 ? {step: String(i - i % 10)} : {})), 200000); return [t.top.length, rows(t).length > 200, units.criticalPath(t.top).size > 0]`, `[10000,true,true]`},

		{"a difference reads itself", `const d = units.parseDiff(units.lineDiff("x", "a\nb\nc", "a\nB\nc"))[0]; return [d.path, d.added, d.removed, d.lines.map((l) => l.kind[0] + l.text)]`, `["x",1,1,["h@@ -1,3 +1,3 @@","sa","db","aB","sc"]]`},
		{"no difference", `return units.lineDiff("x", "a", "a")`, `""`},
		{"the fewest lines differ", `return units.parseDiff(units.lineDiff("x", "a\nb\nc\nd", "b\nc\nd\ne"))[0].lines.filter((l) => l.kind === "add" || l.kind === "del").map((l) => l.kind[0] + l.text)`, `["da","ae"]`},
		{"files, renames, binaries and what git says of them", `return units.parseDiff("diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n").map((f) => [f.path, f.binary])`, `[["b",false],["p.png",true]]`},
		{"names with spaces", `return units.parseDiff("diff --git a/my notes b/my notes\nindex 1..2\n--- a/my notes\t\n+++ b/my notes\t\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/x b/y.png b/x b/y.png\nBinary files differ\n").map((f) => f.path)`, `["my notes","x b/y.png"]`},
		{"a line that begins like a header is a line", `return units.parseDiff("diff --git a/x b/x\n@@ -1,2 +1 @@\n--- not a header\n same\n")[0].lines.map((l) => l.kind + ":" + l.text)`, `["hunk:@@ -1,2 +1 @@","del:-- not a header","same:same"]`},
		{"50,000 lines", `const a = Array.from({length: 50000}, (_, i) => "line " + i).join("\n"); return units.parseDiff(units.lineDiff("x", a, a.replace("line 40000", "other")))[0].lines.length`, `9`},
		{"an edit of a tool", `const {file, rest} = units.editOf({file_path: "a.go", old_string: "x\n", new_string: "y\nz\n", replace_all: true}); return [file.path, file.lines.filter((l) => l.kind !== "hunk").map((l) => l.kind[0] + l.text), rest]`, `["a.go",["dx","ay","az"],{"replace_all":true}]`},
		{"what an edit does not show is the rest", `return [units.editOf({file_path: "a", path: "b", old_string: "", new_string: "y", content: "z"}).rest, units.editOf({file_path: "a", content: "z", mode: 511}).rest, units.editOf({content: "z"}) ?? null, units.editOf({file_path: 1, old_string: "x", new_string: "y"}) ?? null]`,
			`[{"path":"b","content":"z"},{"mode":511},null,null]`},
		{"the name of an edited file makes no lines", `const f = units.editOf({file_path: "safe\n@@ -1 +1 @@\n+harmless", old_string: "a", new_string: "b"}).file; return [f.path.split("\n")[0], f.lines.map((l) => l.kind[0] + l.text)]`, `["safe",["h@@ -1 +1 @@","da","ab"]]`},
		{"side by side: what went beside what came", `return units.paired(units.parseDiff(units.lineDiff("x", "a\nb\nc\nd", "a\nX\nd"))[0].lines).map((p) => p.whole ? "@" : [p.left?.text ?? null, p.right?.text ?? null])`, `["@",["a","a"],["b","X"],["c",null],["d","d"]]`},

		{"remarks are one message, by file and line", `return units.messageOf([{file: "b.go", line: 9, old: false, code: "x", text: "why?"}, {file: "a.go", line: 2, old: true, code: "y", text: " keep it "}, {file: "b.go", line: 3, old: false, code: "z", text: "n"}])`,
			`"3 remarks on your changes:\n\nb.go:3\n> z\nn\n\nb.go:9\n> x\nwhy?\n\na.go:2 (removed)\n> y\nkeep it"`},
		{"a board by execution", `return units.grouped([{id: "1", executionId: "a"}, {id: "2", executionId: "b"}, {id: "3", executionId: "a"}], "execution").map((l) => [l.key, l.threads.length])`, `[["a",2],["b",1]]`},
		{"a board by repository, and those without", `return units.grouped([{id: "1", workspace: {repo: "r"}}, {id: "2", workspace: null}], "repository").map((l) => l.key)`, `["r",""]`},

		{"JSON lines, each problem with its line", `const r = units.readInputs('{"a": 1}\n[1]\n{"a"\n'); return [r.form, r.inputs, r.problems.map((p) => p.line)]`, `["JSON lines",[{"a":1}],[2,3]]`},
		{"CSV whose cells are text, as for the command line", `return units.readInputs('text,n,x\n"a, ""b""",1,true\nc,"2",\n').inputs`, `[{"text":"a, \"b\"","n":"1","x":"true"},{"text":"c","n":"2","x":""}]`},
		{"CSV with a kind that there is not", `return units.readInputs('a,b:int\n1,2\n').problems`, `[{"line":1,"reason":"column 2: the type after the colon must be string, number, boolean or json, not \"int\""}]`},
		{"CSV with the kinds of its columns", `return units.readInputs('a:number,b:boolean,c:json,d,e:string\n1e3,false,"{""x"":1}",7,8\n,,,e,\nx,true,1,,\n')`,
			`{"form":"CSV","inputs":[{"a":1000,"b":false,"c":{"x":1},"d":"7","e":"8"},{"d":"e","e":""}],"problems":[{"line":4,"reason":"a: \"x\" is no number"}]}`},
		{"numbers that a browser would round stay as they are", `return JSON.stringify([units.readInputs('{"id": 12345678901234567890, "n": 1.5}').inputs, units.readInputs("id:number\n12345678901234567890").inputs, units.parseExact('[-9007199254740993, "9007199254740993", 9007199254740991, 1e3]')])`,
			`"[[{\"id\":12345678901234567890,\"n\":1.5}],[{\"id\":12345678901234567890}],[-9007199254740993,\"9007199254740993\",9007199254740991,1000]]"`},
		{"so do those that are beyond what a browser holds, or have more digits", `return JSON.stringify([units.readInputs('{"n": 1e400, "m": -1E-400, "d": 0.12345678901234567890, "e": 1e300, "z": 0.0e999, "k": 0.30000000000000004, "s": "1e400"}').inputs, units.readInputs("n:number\n1e400").inputs, units.readInputs('[{"n": 1e400}]').inputs])`,
			`"[[{\"n\":1e400,\"m\":-1E-400,\"d\":0.12345678901234567890,\"e\":1e+300,\"z\":0,\"k\":0.30000000000000004,\"s\":\"1e400\"}],[{\"n\":1e400}],[{\"n\":1e400}]]"`},
		{"where the browser cannot keep them they are problems of their lines", `const kept = JSON.rawJSON; delete JSON.rawJSON; try { const r = units.readInputs('{"n": 1}\n{"n": 1e400}\n{"n": 12345678901234567890}\n{"n": "1e400"}'); return [r.inputs, r.problems.map((p) => p.line)]; } finally { JSON.rawJSON = kept; }`,
			`[[{"n":1},{"n":"1e400"}],[2,3]]`},
		{"where the browser cannot keep them, what the server has is shown with every digit, as a text", `const kept = JSON.rawJSON; delete JSON.rawJSON; try { return units.parseExact('{"a": [9007199254740993, -1e400,0.12345678901234567890], "b": "x \\" 9007199254740993", "12345678901234567890": 1.5, "c": 9007199254740991, "d": "\\\\", "e": 1e-400}'); } finally { JSON.rawJSON = kept; }`,
			`{"a":["9007199254740993","-1e400","0.12345678901234567890"],"b":"x \" 9007199254740993","12345678901234567890":1.5,"c":9007199254740991,"d":"\\","e":"1e-400"}`},
		{"CSV of a single column in quotes", `const r = units.readInputs('"text"\n"a ""b"""\nc\n'); return [r.form, r.inputs, r.problems]`, `["CSV",[{"text":"a \"b\""},{"text":"c"}],[]]`},
		{"JSON that is deep and has such a number is read", `return Array.isArray(units.parseExact("[".repeat(10000) + "12345678901234567890" + "]".repeat(10000)))`, `true`},
		{"CSV with a missing cell", `return units.readInputs("a,b\n1\n").problems.map((p) => p.line)`, `[2]`},
		{"a cell that a spreadsheet would run is text", `return units.cell("=cmd()")`, `"'=cmd()"`},

		{"what hides or turns is shown as its code", `return units.revealed("a\u202eb\u200bc\u0007")`, `"a‹202E›b‹200B›c‹0007›"`},
		{"as elements too, from the first one on", `return ["\u202egnp.exe", "a\u202eb\u202e", "plain"].map((t) => [units.reveal(t)].flat().map((e) => e.props ? e.props.children : e))`, `[["‹202E›","gnp.exe"],["a","‹202E›","b","‹202E›",""],["plain"]]`},
		{"an emoji of several parts stays", `return ["👩‍💻", "❤️", "1️⃣", "🏳️‍🌈"].map(units.revealed)`, `["👩‍💻","❤️","1️⃣","🏳️‍🌈"]`},
		{"a joiner and selectors that carry a text of their own do not", `return units.revealed("a\u200db\ufe0fc\u{e0100}d\u{1f600}\ufe0f\ufe01\u2800")`, `"a‹200D›b‹FE0F›c‹E0100›d😀️‹FE01›‹2800›"`},
		{"an answer as a line for a shell", `const ask = (source, kind, options) => ({source, kind, id: "ID", promptId: source === "question" ? undefined : "p1", options}); const two = [{id: "allow"}, {id: "deny"}];
			return [units.answerCommand(ask("question", "approval", two), {choice: "deny", text: "it's late"}), units.answerCommand(ask("question", "approval", two), {choice: "allow"}), units.answerCommand(ask("question", "message", []), {text: "-1"}), units.answerCommand(ask("question", "message", []), {text: "-"}),
				units.answerCommand(ask("thread", "approval", two), {choice: "deny", text: "no"}), units.answerCommand(ask("agent", "question", []), {text: "yes"})]`,
			`["wardroom question answer ID --json '{\"choice\":\"deny\",\"reason\":\"it'\\''s late\"}'","wardroom question answer ID --choice='allow'","wardroom question answer ID -- '-1'","wardroom question answer ID --json '\"-\"'","wardroom thread answer ID --prompt 'p1' --text='no' -- 'deny'","wardroom agent answer ID --prompt 'p1' --text='yes'"]`},
		{"words of a command are words for a shell", `return ["/srv/trees/ws_1", "/my files/it's", "a;$(touch x)", "", "wardroom/exec_1/maker"].map(units.word)`,
			`["/srv/trees/ws_1","'/my files/it'\\''s'","'a;$(touch x)'","''","wardroom/exec_1/maker"]`},
		{"ids lead to their screens, and nothing else does", `return ["exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV", "exec_x", "../exec_01ARZ3NDEKTSV4RRFFQ69G5FAV"].map(units.pathOfID)`, `["/executions/exec_01ARZ3NDEKTSV4RRFFQ69G5FAV","/webhooks/wh_01ARZ3NDEKTSV4RRFFQ69G5FAV","",""]`},
		{"durations", `return [350, 1940, 252000, 11100000, 187200000, NaN, -5].map(units.lasted)`, `["350 ms","1.9 s","4m 12s","3h 05m","2d 4h","0 ms","0 ms"]`},
		{"events are told at once, and those that follow together", `const told = []; const g = new units.Gathered(1e6, (x) => told.push(x.length), 50); for (let i = 0; i < 120; i++) g.add([i]); g.flush(); g.flush(); return told`, `[1,50,50,19]`},
		{"a frame of a stream", `return units.parseFrame("id: 7\nevent: event\ndata: {\ndata: }\n: a comment\nx")`, `{"event":"event","data":"{\n}","id":"7"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			began := time.Now()
			p.do(chromedp.Evaluate("JSON.stringify((() => {"+timelineOf+tt.body+"})())", &got))
			if !sameJSON(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			t.Logf("%s", time.Since(began).Round(time.Millisecond))
		})
	}
}

func sameJSON(a, b string) bool {
	normal := func(text string) string {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return text
		}
		out, err := json.Marshal(v)
		if err != nil {
			return text
		}
		return string(out)
	}
	return normal(a) == normal(b)
}
