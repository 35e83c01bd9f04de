// Screens and parts that come when they are first needed.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Waiting } from "../part/notice.tsx";

const load = () => import("./more.ts");
let loaded: Awaited<ReturnType<typeof load>> | undefined;

/** A screen, or a part of one, of the file that is loaded once, by the first that is shown. */
export function more<P extends object>(pick: (m: Awaited<ReturnType<typeof load>>) => ComponentType<P>): ComponentType<P> {
  return function Later(props: P) {
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
    return <p class="notice bad" role="alert"><span>This part of the console could not be loaded.</span><button class="button" onClick={() => location.reload()}>Load the page again</button></p>;
  };
}
