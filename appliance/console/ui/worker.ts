// The shared worker: one stream for all tabs of a browser.

import { Hub, type Asked } from "./live/hub.ts";

const hub = new Hub();

(globalThis as unknown as { onconnect: (e: MessageEvent) => void }).onconnect = (e) => {
  const port = e.ports[0]!;
  port.onmessage = (m: MessageEvent<Asked>) => hub.hear(port, (said) => port.postMessage(said), m.data);
};
