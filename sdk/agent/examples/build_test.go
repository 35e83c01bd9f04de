package examples_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func buildGo(t *testing.T) []string {
	bin := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", bin, "./go").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return []string{bin}
}

func buildPython(t *testing.T) []string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import websockets").Run() == nil {
			return []string{"env", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join("..", "python"), python, filepath.Join("python", "agent.py")}
		}
	}
	missing(t, "no python3 with the websockets package (Debian: apt-get install python3-websockets)")
	return nil
}

func scriptPython(t *testing.T, command []string) []string {
	const script = `import asyncio, copy, logging, os, signal, sys
from wardroom_agent import Agent, TaskError

given = 0

async def handler(task):
    what = task.input["text"]
    if what == "progress":
        for i in range(1000):
            await task.progress(text=str(i))
    elif what == "large progress":
        await task.progress(text="x" * 8000)
    elif what == "empty progress":
        await task.progress(text="")
    elif what == "huge answer":
        global given
        given += 1
        return "x" * 1000000 + str(given)
    elif what == "large answer":
        return "x" * 8000
    elif what == "large question":
        await task.ask("x" * 8000)
    elif what == "ask":
        return (await task.ask("?")).content
    elif what == "ask and wait":
        await task.ask("?")
        await asyncio.Event().wait()
    elif what == "tell and wait":
        await task.tell("!")
        await asyncio.Event().wait()
    elif what == "tell and end":
        await task.tell("!")
    elif what == "tell much":
        for i in range(60):
            await task.tell(i)
    elif what == "tell more":
        for i in range(110):
            await task.tell(i)
    elif what == "tell for ever":
        await asyncio.gather(*(task.tell(i) for i in range(10000)))
    elif what == "nest":
        nested = []
        for _ in range(600):
            nested = [nested]
        return nested
    elif what == "circular details":
        details = {}
        details["circle"] = details
        raise TaskError("OF_ITS_OWN", "with details", details=details)
    elif what == "pass on":
        return {"whole": task.input, "copy": {**copy.deepcopy(task.input), "plain": list(task.input["plain"])}}
    elif what == "wait":
        await asyncio.Event().wait()
    elif what == "raise TimeoutError":
        raise asyncio.TimeoutError("of its own")
    elif what == "raise CancelledError":
        raise asyncio.CancelledError()
    return {}

async def on_message(message):
    return "x" * 8000

async def main():
    agent = Agent(sys.argv[2], "script", ["urgency"], handler, on_message=on_message, max_concurrent_tasks=4,
                  state_file=os.environ.get("STATE", ""))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, agent.stop)
    await agent.run()

logging.basicConfig()
asyncio.run(main())
`
	path := filepath.Join(t.TempDir(), "script.py")
	must(t, os.WriteFile(path, []byte(script), 0o600))
	return append(command[:len(command)-1:len(command)-1], path)
}

func scriptTypeScript(t *testing.T, command []string) []string {
	const script = `import { Agent, TaskError } from "wardroom-agent";
const large = "x".repeat(8000);
const end = new Promise(() => {});
let given = 0;
async function handler(task) {
  switch (task.input.text) {
    case "progress": for (let i = 0; i < 1000; i++) task.progress({ text: String(i) }); break;
    case "large progress": task.progress({ text: large }); break;
    case "empty progress": task.progress({ text: "" }); break;
    case "large answer": return large;
    case "huge answer": return "x".repeat(1000000) + ++given;
    case "large question": await task.ask(large); break;
    case "ask": return (await task.ask("?")).content;
    case "ask and wait": await task.ask("?"); await end; break;
    case "tell and wait": task.tell("!"); await end; break;
    case "tell and end": task.tell("!"); break;
    case "tell much": for (let i = 0; i < 60; i++) task.tell(i); break;
    case "tell more": for (let i = 0; i < 110; i++) task.tell(i); break;
    case "tell for ever": for (let i = 0; i < 10000; i++) task.tell(i); break;
    case "nest": return JSON.parse("[".repeat(3500) + "]".repeat(3500));
    case "circular details": {
      const details = {};
      details.circle = details;
      throw new TaskError("OF_ITS_OWN", "with details", { details });
    }
    case "pass on": return { whole: task.input, copy: { ...task.input, plain: [...task.input.plain] } };
    case "wait": await end; break;
  }
  return {};
}
const agent = new Agent({
  url: process.argv[3], name: "script", capabilities: ["urgency"], handler, onMessage: () => large, maxConcurrentTasks: 4,
  stateFile: process.env.STATE,
});
process.once("SIGTERM", () => agent.stop());
await agent.run();
`
	path := filepath.Join(filepath.Dir(filepath.Dir(command[1])), "script.mjs")
	must(t, os.WriteFile(path, []byte(script), 0o600))
	return []string{command[0], path}
}

func buildTypeScript(t *testing.T) []string {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "%s is not installed (Node 20 or later is needed)", tool)
		}
	}
	// The library is compiled as it was committed, and beside the example where its package.json names it.
	root := t.TempDir()
	library, dir := filepath.Join(root, "typescript"), filepath.Join(root, "examples", "typescript")
	must(t, os.CopyFS(library, withoutModules(filepath.Join("..", "typescript"))))
	must(t, os.CopyFS(dir, withoutModules("typescript")))
	run := func(dir string, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			if name == "npm" {
				missing(t, "npm install: %v\n%s", err, out)
			}
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run(library, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	must(t, os.RemoveAll(filepath.Join(library, "dist")))
	run(library, filepath.Join(library, "node_modules", ".bin", "tsc"))
	sameFiles(t, filepath.Join(library, "dist"), filepath.Join("..", "typescript", "dist"))
	must(t, os.RemoveAll(filepath.Join(library, "node_modules")))
	run(dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--install-links")
	run(dir, filepath.Join(dir, "node_modules", ".bin", "tsc"))
	return []string{"node", filepath.Join(dir, "dist", "agent.js")}
}

// withoutModules is a directory without what npm installs in it.
func withoutModules(dir string) fs.FS { return noModules{os.DirFS(dir)} }

type noModules struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (n noModules) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(n.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "node_modules" }), err
}

// sameFiles holds what a compiler made now to what is committed.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	made, err := filepath.Glob(filepath.Join(got, "*"))
	must(t, err)
	committed, err := filepath.Glob(filepath.Join(want, "*"))
	must(t, err)
	if len(made) != len(committed) || len(made) == 0 {
		t.Errorf("the compiler makes %d files, %d are committed; run make typescript", len(made), len(committed))
	}
	for _, path := range made {
		now, err := os.ReadFile(path)
		must(t, err)
		if then, err := os.ReadFile(filepath.Join(want, filepath.Base(path))); err != nil || !bytes.Equal(now, then) {
			t.Errorf("%s is not what the compiler makes of its source; run make typescript", filepath.Base(path))
		}
	}
}
