// Package life has what launchers share that start a holder for each life of an agent, whatever that life is in: claims on the
// ids of agents, the marks in their environment, how records of lives are written, the process of a life that is over, and the words
// of what failed.
//
// It starts nothing, and what is in a record, and where, is the launcher's. It does not own the connection to a holder (sdk/holder) nor rooms
// (sdk/agentcli/local). The runtimes in plugins call it.
package life
