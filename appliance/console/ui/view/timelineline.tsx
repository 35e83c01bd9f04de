import { Icon } from "../part/icon.tsx";
import { Kept } from "../part/kept.ts";
import { State, kindOf } from "../part/state.tsx";
import { Text, count } from "../part/text.tsx";
import { lasted } from "../part/time.tsx";
import type { Node } from "../store/timeline.ts";

interface Props {
  node: Node;
  revision: number; // of the node
  took: number; // milliseconds, until now while it goes on
  begins: number; // milliseconds after the timeline
  index: number;
  height: number;
  open: boolean;
  more?: number;
  left: number; // of the bar, in hundredths of the lane
  width: number;
  chosen: boolean;
  critical: boolean;
  reached: boolean; // by Tab
  act: Acts;
}

/** What a click on a row does. It stays the same object. */
export interface Acts { open(node: Node): void; toggle(node: Node): void; all(node: Node): void }

/** A row of the timeline. It is drawn again when it changes, whatever else does. */
export class Line extends Kept<Props> {
  override render({ node: n, took, begins, index, height, open, more, left, width, chosen, critical, reached, act }: Props) {
    const e = n.entry;
    return <div role="row" data-index={index} data-key={n.key} tabIndex={reached ? 0 : -1} aria-level={n.level} aria-rowindex={index + 1}
      aria-expanded={n.children.length > 0 ? open : undefined} aria-selected={chosen}
      class={"line" + (chosen ? " chosen" : "") + (critical ? " critical" : "")} style={{ top: index * height + "px", height: height + "px" }}
      onClick={() => { if (more) act.all(n); else if (e) act.open(n); else act.toggle(n); }}>
      <div role="gridcell" class="names" style={{ paddingLeft: 6 + (n.level - 1) * 14 + "px" }}>
        {more ? <span class="soft">&hellip; {count(more)} more like these</span> : <>
          <button type="button" class={"fold" + (n.children.length ? "" : " none")} tabIndex={-1} aria-hidden="true" onClick={(ev) => { ev.stopPropagation(); act.toggle(n); }}><Icon name={open ? "down" : "right"} /></button>
          {e ? <State status={e.status} short /> : <Icon name="role" />}
          {e && e.kind === "step" && <span class="path">{e.id}</span>}
          {e && e.kind !== "step" && e.kind !== "role" && <><Icon name={e.kind} /><span class="sr">{e.kind}</span></>}
          <span class="title"><Text>{n.title}</Text></span>
          {e?.role && e.kind === "step" && <span class="soft"><Text>{e.role}</Text></span>}
          {!e && <span class="soft">{count(n.children.length)}</span>}
          {e?.attempt && e.attempt > 1 ? <span class="badge" title="Attempt">{"\u00d7" + e.attempt}</span> : null}
          <span class="push" />
          {critical && <span class="sr">critical path</span>}
          <span class="soft nums" aria-hidden="true">{e ? lasted(took) : ""}</span>
        </>}
      </div>
      <div role="gridcell" class="lanes" aria-label={more ? "" : `begins after ${lasted(begins)}, ${n.running ? "goes on since" : "takes"} ${lasted(took)}`}>
        {!more && left < 100 && left + width > 0 && <span class={"bar-" + (e ? e.kind : "group") + " bars " + (e ? kindOf(e.status) : "stopped")} style={{ left: left + "%", width: width + "%" }} />}
      </div>
    </div>;
  }
}
