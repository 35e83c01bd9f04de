import { Component } from "preact";

/** A component that is drawn again when its properties changed, whatever else did. What reads a signal lies in a component below it. */
export abstract class Kept<P> extends Component<P> {
  override shouldComponentUpdate(next: Readonly<P>): boolean {
    return (Object.keys(next) as (keyof P)[]).some((k) => next[k] !== this.props[k]);
  }
}
