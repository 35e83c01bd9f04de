// Package toolthreads gives managed threads to the real coding tools, in containers and in pods, by a real server, and checks what
// comes of them: the worktree that each had, its commit, and what the finish actions made of the rest.
//
// It owns the script of the tools and their way to the model of the tests, all of it in its tests. It does not own the engine, the
// cluster nor the images: WARDROOM_DOCKER_SOCKET and WARDROOM_CLUSTER name those that have them.
package toolthreads
