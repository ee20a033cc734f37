package logs

import "strings"

// This file reads stacks: lists of {line, name, filename, loc}, the file name
// an id of the string table or, in some records, the text itself.

// internTable is the string table of one source.
type internTable map[int64]string

// note takes one {"str": [text, id]} record.
func (t internTable) note(meta []byte) {
	var text string
	i := 0
	EachItem(meta, func(v []byte) bool {
		if i == 0 {
			text = JSONString(v)
		} else if id, ok := JSONInt(v); ok {
			t[id] = text
		}
		i++
		return i < 2
	})
}

// decodeStack reads a raw JSON stack, outermost first; name gives the file of an id.
func decodeStack(raw []byte, name func(int64) string) []Frame {
	var out []Frame
	EachItem(raw, func(v []byte) bool {
		var f Frame
		EachField(v, func(k, val []byte) bool {
			switch string(k) {
			case "line":
				f.Line = intOr(val, 0)
			case "name":
				f.Name = JSONString(val)
			case "loc":
				f.Loc = JSONString(val)
			case "filename":
				if id, ok := JSONInt(val); ok {
					f.File = name(id)
					if f.File == "" {
						f.File = "(unknown)"
					}
				} else {
					f.File = shortenBuildPath(JSONString(val))
				}
			}
			return true
		})
		out = append(out, f)
		return len(out) < 10_000
	})
	return out
}

// shortenBuildPath drops what build systems put before a path.
func shortenBuildPath(p string) string {
	if i := strings.Index(p, "#link-tree/"); i >= 0 {
		return p[i+len("#link-tree/"):]
	}
	return p
}

// Stack reads the stack in the given field of the metadata ("stack",
// "user_stack"); of the envelope when name is empty.
func (r *Record) Stack(name string) []Frame {
	raw := r.stack
	if name != "" {
		raw = r.Field(name)
	}
	if len(raw) == 0 || r.store == nil {
		return decodeStack(raw, func(int64) string { return "" })
	}
	src := r.store.sources[r.Source]
	return decodeStack(raw, func(id int64) string { return r.store.nameOf(src, id) })
}
