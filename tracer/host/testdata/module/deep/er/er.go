// Package er is reached through a replace line.
package er

// Name is a constant of another module.
const Name = "replaced"
