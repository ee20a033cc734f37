// Package native binds compiled-in packages for interpreted programs: symbol
// tables (cmd/gensym) and the archive of export data and generic source that
// programs are type-checked against (cmd/genexport). packages.txt lists what
// is bound.
//
// It imports torch and its subpackages for their symbols, and rt. Nothing but
// the interpreter imports it. Open packages.txt first, then sym_index.go.
package native

import _ "embed"

//go:generate go run tcdbg/cmd/gensym -list packages.txt -o .
//go:generate go run tcdbg/cmd/genexport -list packages.txt -o export.zip

// Archive is a zip: export/PATH is the export data of a native package,
// source/PATH/*.go the source of an interpreted one.
//
//go:embed export.zip
var Archive []byte
