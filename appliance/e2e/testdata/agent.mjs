// The agent of TestTypeScriptLibrary. Arguments: the library, the server, a directory to meet the test in.
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [, , library, server, place] = process.argv;
const { Agent, TaskError } = await import(library);

const agent = new Agent({
  url: server, name: "typescript", capabilities: ["double"], maxConcurrentTasks: 4, stateFile: join(place, "state"),
  handler: async (task) => {
    const { n } = task.input;
    appendFileSync(join(place, `began-${n}`), "once\n");
    if (n < 0) throw new TaskError("NEGATIVE", "n is below 0", { details: { n } });
    task.progress({ text: "waiting" });
    while (!existsSync(join(place, `go-${n}`))) await sleep(20, undefined, { signal: task.signal });
    return { answer: n * 2, confidence: 1 };
  },
});
process.once("SIGUSR2", () => void agent.drain()); // Node has another use for SIGUSR1
await agent.run();
