// Package logs is the trace: the records that PyTorch and our engine write,
// their reader, writer and lazy store, the lexers for TORCH_LOGS text, and the
// table of artifacts that only tcdbg writes.
//
// It imports nothing of ours but logs/fx. Open record.go first, then store.go.
package logs

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// CompileID names one compilation of one frame: [frame/compile_attempt].
// A frame of -1 means none.
type CompileID struct {
	Frame, Compile, Attempt int
}

// NoCompile is the id of records outside any compilation.
var NoCompile = CompileID{Frame: -1, Compile: -1}

// Frame is one entry of a stack, outermost first.
type Frame struct {
	File string
	Line int
	Name string // function
	Loc  string // source text of the line, may be empty
}

// Out is a record to be written. Kind is the event key: "dynamo_start",
// "dynamo_output_graph", "artifact", ...; Meta its metadata (nil: {}), Payload
// its text (nil: none). Where (file of ours, line) becomes the glog place.
type Out struct {
	Kind    string
	ID      CompileID
	Meta    any
	Payload []byte
	Place   string // of the code that writes it, by Here: "tracer/frame.go:120"
	Sum     string // PayloadSum of the payload, where that is known already
}

// PayloadSum is what the header of a record says of its payload, by which PyTorch's tools find it: MD5, in hexadecimal.
func PayloadSum(payload []byte) string {
	sum := md5.Sum(payload)
	return hex.EncodeToString(sum[:])
}

// Sink accepts records; a nil *Writer is a Sink that drops them.
type Sink interface {
	Emit(o Out)
	// Stack interns the file names of s and returns its JSON form.
	Stack(s []Frame) any
}

// Artifact builds the record of one of the tcdbg_* artifacts below, as JSON
// with "v" set to its version.
func Artifact(id CompileID, a Versioned) Out {
	o := bareArtifact(id, a, place(2))
	o.Payload = artifactJSON(a)
	return o
}

// Payload is what the record of an artifact holds.
func Payload(a Versioned) []byte { return artifactJSON(a) }

// bareArtifact is the record of an artifact without its payload.
func bareArtifact(id CompileID, a Versioned, place string) Out {
	name, _ := a.ArtifactName()
	return Out{Kind: "artifact", ID: id, Meta: map[string]string{"name": name, "encoding": "json"}, Place: place}
}

func artifactJSON(a Versioned) []byte {
	name, v := a.ArtifactName()
	if own, ok := a.(interface{ appendJSON(b []byte) []byte }); ok {
		return append(own.appendJSON(fmt.Appendf(nil, `{"v":%d,"data":`, v)), '}')
	}
	body, err := json.Marshal(struct {
		V    int       `json:"v"`
		Data Versioned `json:"data"`
	}{v, a})
	if err != nil {
		panic("logs: " + name + ": " + err.Error())
	}
	return body
}

// appendJSONString writes s as encoding/json does.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !jsonEscaped[c] {
			continue
		}
		if c >= utf8.RuneSelf { // rare, and of many forms
			rest, _ := json.Marshal(s[i:])
			return append(append(b, s[from:i]...), rest[1:]...)
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '"', '\\':
			b = append(b, '\\', c)
		case '<', '>', '&':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			one, _ := json.Marshal(s[i : i+1])
			b = append(b, one[1:len(one)-1]...)
		}
	}
	return append(append(b, s[from:]...), '"')
}

const hexDigits = "0123456789abcdef"

// jsonEscaped are the bytes that are not in a string of JSON as they are.
var jsonEscaped = func() (t [256]bool) {
	for c := range t {
		t[c] = c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf
	}
	return t
}()

// Text builds a record of one of PyTorch's own text artifacts
// (dynamo_graph_break_reason, recompile_reasons, ...).
func Text(id CompileID, name, text string) Out {
	return Out{
		Kind: "artifact", ID: id, Payload: []byte(text),
		Meta: map[string]string{"name": name, "encoding": "string"}, Place: place(2),
	}
}

// Here is the place of its caller, for Out.Place.
func Here() string { return place(2) }

// place is the place of the function that many callers up, below our module.
func place(skip int) string {
	var pc [1]uintptr
	if runtime.Callers(skip+1, pc[:]) == 0 {
		return ""
	}
	if p, known := places.Load(pc[0]); known {
		return p.(string)
	}
	f, _ := runtime.CallersFrames(pc[:]).Next()
	slash := strings.LastIndexByte(f.Function, '/') + 1 // tcdbg/tracer.(*T).method
	pkg, _, _ := strings.Cut(f.Function[slash:], ".")
	folder := strings.TrimPrefix(f.Function[:slash]+pkg, "tcdbg/") + "/"
	p := folder + filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
	places.Store(pc[0], p)
	return p
}

// places are those known, by the address of the call.
var places sync.Map
