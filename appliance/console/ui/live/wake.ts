// When the machine has slept, or its network came back: connections of before may be dead without a word.

const lookEveryMs = 5000;
const sleptMs = 90_000; // between two looks; timers of hidden tabs run once a minute

/** Calls a function each time that the machine wakes, or has a network again, until the function that it returns is called. */
export function onWake(f: () => void): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const before = last;
    last = Date.now();
    if (last - before > sleptMs) f();
  }, lookEveryMs);
  addEventListener("online", f);
  return () => { clearInterval(timer); removeEventListener("online", f); };
}
