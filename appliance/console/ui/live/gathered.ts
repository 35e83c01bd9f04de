// Events that come one by one, told together.

/** Tells what comes at most once in so many milliseconds: the first at once, and what follows it together. */
export class Gathered<T> {
  private items: T[] = [];
  private timer?: ReturnType<typeof setTimeout>;
  private told = -Infinity;

  constructor(private readonly pauseMs: number, private readonly tell: (items: T[]) => void, private readonly most = 1000) {}

  add(items: T[]): void {
    this.items.push(...items);
    const left = this.told + this.pauseMs - performance.now();
    if (left <= 0 || this.items.length >= this.most) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), left);
  }

  /** Tells what there is now. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.items.length === 0) return;
    const items = this.items;
    this.items = [];
    this.told = performance.now();
    this.tell(items);
  }
}
