"""The agent of TestPythonLibrary. Arguments: the server, a directory to meet the test in."""
import asyncio
import logging
import pathlib
import signal
import sys

from wardroom_agent import Agent, Task, TaskError

server, place = sys.argv[1], pathlib.Path(sys.argv[2])


async def handler(task: Task) -> dict:
    n = task.input["n"]
    with open(place / f"began-{n}", "a", encoding="utf-8") as file:
        file.write("once\n")
    if n < 0:
        raise TaskError("NEGATIVE", "n is below 0", details={"n": n})
    await task.progress(text="waiting")
    while not (place / f"go-{n}").exists():
        await asyncio.sleep(0.02)
    return {"answer": n * 2, "confidence": 1}


async def main() -> None:
    agent = Agent(server, "python", ["double"], handler, max_concurrent_tasks=4, state_file=str(place / "state"))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, lambda: asyncio.ensure_future(agent.drain()))
    await agent.run()


logging.basicConfig()
asyncio.run(main())
