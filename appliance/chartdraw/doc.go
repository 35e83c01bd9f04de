// Package chartdraw draws patterns for people: the hierarchy of roles and the workflow of an org chart, or the steps of
// a flat pattern, as text for a terminal and as one self-contained SVG.
//
// It reads definitions that core/pattern has parsed, and neither fetches nor checks them. It draws what is defined and
// not what runs: the timeline of an execution is the command line's. appliance/cmd calls it.
package chartdraw
