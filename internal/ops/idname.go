package ops

// IDName returns the Go name of an operator's ID: "LogSoftmax". It is for
// generators; the names stand in the order of ids.go (idnames_test.go).
func IDName(id ID) string { return idNames[id] }
