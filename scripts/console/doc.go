// Command console builds the web console: it bundles appliance/console/ui with the scripts in appliance/console/vendor to
// appliance/console/dist, and makes the types of the API's bodies from the golden of the route table. It needs Go only.
//
// It does not serve anything; package appliance/console does. `make console` calls it, and its test makes everything
// again and compares byte for byte, so that what is committed is what the sources say.
package main
