// Screens and parts that come when they are first needed.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Waiting } from "../part/notice.tsx";

/** Parts of a file that is loaded once, by the first of them that is shown. */
function group<M extends object>(load: () => Promise<M>) {
  let loaded: M | undefined;
  return <P extends object>(pick: (m: M) => ComponentType<P>): ComponentType<P> => function Later(props: P) {
    const [failed, setFailed] = useState(false);
    const [, setLoaded] = useState(false);
    useEffect(() => {
      if (loaded || failed) return;
      let here = true;
      load().then((m) => { loaded = m; if (here) setLoaded(true); }, () => { if (here) setFailed(true); });
      return () => { here = false; };
    }, [failed]);
    if (loaded) {
      const View = pick(loaded);
      return <View {...props} />;
    }
    if (!failed) return <Waiting />;
    return <p class="notice bad" role="alert"><span>This part of the console could not be loaded.</span><button type="button" class="button" onClick={() => location.reload()}>Load the page again</button></p>;
  };
}

/** What few open first, and charts. */
export const more = group(() => import("./more.ts"));

/** What steers threads, agents and deliveries in detail. */
export const further = group(() => import("./further.ts"));
