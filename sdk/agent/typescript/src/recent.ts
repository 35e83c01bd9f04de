const MOST = 1000; // entries, if it is not said
const MOST_BYTES = 4 << 20; // of all entries but the newest

/** Remembers values by an id, in case a task or a message comes once more. The oldest go. */
export class Recent<T> {
  readonly #entries = new Map<string, { value: T; size: number }>();
  #bytes = 0;

  constructor(readonly most = MOST) {}

  add(id: string, value: T, size: number): void {
    this.delete(id);
    this.#entries.set(id, { value, size });
    this.#bytes += size;
    while (this.#entries.size > this.most || (this.#bytes > MOST_BYTES && this.#entries.size > 1)) {
      this.delete(this.#entries.keys().next().value!);
    }
  }

  get(id: string): T | undefined {
    return this.#entries.get(id)?.value;
  }

  entries(): [id: string, value: T][] {
    return [...this.#entries].map(([id, { value }]) => [id, value]);
  }

  delete(id: string): void {
    this.#bytes -= this.#entries.get(id)?.size ?? 0;
    this.#entries.delete(id);
  }
}
