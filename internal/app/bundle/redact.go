package bundle

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// This file leaves the code out of a trace. What is kept are counts, times, names, places and
// reasons; the payloads that are not known to be without code go, and so do the lines of
// source within what stays. What is not understood is left out.

// keptPayloads are the records whose payloads stay, without the lines of source in them.
var keptPayloads = []string{
	"chromium_event", "dynamo_graph_break_reason", "dynamo_error", "recompile_reasons", "torch_version", "fx_graph_cache_hit",
	"fx_graph_cache_miss", "fx_graph_cache_bypass", "aotautograd_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass",
	"tcdbg_run", "tcdbg_frame", "tcdbg_break", "tcdbg_calls", "tcdbg_state", "tcdbg_aggregate", "tcdbg_redacted",
}

// codeKeys are the keys of JSON whose values are lines of source.
var codeKeys = []string{"loc", "code", "source_code", "line_text", "src", "text_of_line"}

// maxRecord bounds what is held of one record.
var maxRecord = 256 << 20

// record is a record of a trace while it is read.
type record struct {
	head    []byte // its first line
	payload bytes.Buffer
	cut     bool // the payload is larger than what is held, and is left out
}

// add adds a line of the payload.
func (r *record) add(line []byte) {
	if r.cut = r.cut || r.payload.Len()+len(line) > maxRecord; !r.cut {
		r.payload.Write(line)
	}
}

// Redact copies a trace without its code.
func Redact(w io.Writer, r io.Reader) error {
	in, out := bufio.NewReaderSize(r, 1<<16), bufio.NewWriter(w)
	var now *record
	if name := packedAs(in); name != "" {
		return fmt.Errorf("it is packed by %s: only traces of TORCH_TRACE can be redacted, unpacked", name)
	}
	records := 0
	end := func() {
		if now != nil && now.write(out) {
			records++
		}
		now = nil
	}
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case len(line) == 0:
		case line[0] == '\t':
			if now != nil {
				now.add(line[1:])
			}
		default:
			end()
			now = &record{head: bytes.TrimRight(line, "\r\n")}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			break
		}
	}
	end()
	if records == 0 {
		return errors.New("only traces of TORCH_TRACE can be redacted, unpacked: in this file no record is one")
	}
	return out.Flush()
}

// packedAs is what a file is packed by; "" where it is not.
func packedAs(in *bufio.Reader) string {
	magic, _ := in.Peek(4) // a shorter file is no archive
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return "gzip"
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	}
	return ""
}

// write writes what is kept of a record, and reports whether that is anything.
func (r *record) write(out *bufio.Writer) bool {
	at := bytes.Index(r.head, []byte("] {"))
	if at < 0 || !recordStart.Match(r.head[:at+2]) || !json.Valid(r.head[at+2:]) {
		return false
	}
	var of map[string]json.RawMessage
	if json.Unmarshal(r.head[at+2:], &of) != nil {
		return false
	}
	var payload []byte
	name := recordName(of)
	if slices.Contains(keptPayloads, name) && r.payload.Len() > 0 && !r.cut {
		payload = scrubPayload(bytes.TrimSuffix(r.payload.Bytes(), []byte("\n")))
	}
	facts, instead := r.facts(r.head[:at+2], of)
	if instead {
		_, _ = out.Write(facts) // the writer keeps its first error for Flush
		return true
	}
	if payload == nil && of["artifact"] != nil && of["has_payload"] != nil {
		return true // it says nothing without
	}
	head, known := knownHead(r.head[at+2:])
	if !known {
		return false
	}
	head = scrubJSON(head)
	if of["has_payload"] != nil {
		was := `"has_payload": ` + string(of["has_payload"])
		now := ""
		if payload != nil {
			sum := md5.Sum(payload)
			now = `"has_payload": "` + hex.EncodeToString(sum[:]) + `"`
		}
		head = rehash(head, was, now)
	}
	_, _ = out.Write(r.head[:at+2])
	_, _ = out.Write(head)
	_ = out.WriteByte('\n')
	if payload != nil {
		for _, l := range bytes.Split(payload, []byte("\n")) {
			fmt.Fprintf(out, "\t%s\n", l)
		}
	}
	_, _ = out.Write(facts)
	return true
}

// rehash puts another hash, or none, in the place of a record's.
func rehash(head []byte, was, now string) []byte {
	s := string(head)
	if now == "" {
		if strings.Contains(s, ", "+was) {
			return []byte(strings.Replace(s, ", "+was, "", 1))
		}
		return []byte(strings.Replace(s, was+", ", "", 1))
	}
	return []byte(strings.Replace(s, was, now, 1))
}

// recordName is a record's kind, or an artifact's name.
func recordName(of map[string]json.RawMessage) string {
	var artifact struct{ Name string }
	if of["artifact"] != nil && json.Unmarshal(of["artifact"], &artifact) == nil {
		return artifact.Name
	}
	for name := range of {
		if slices.Contains(keptPayloads, name) {
			return name
		}
	}
	return ""
}

// scrubPayload takes the lines of source out of a payload.
func scrubPayload(text []byte) []byte {
	if json.Valid(text) {
		return scrubJSON(text)
	}
	return []byte(scrubText(string(text)))
}

// scrubJSON takes them out of the strings of JSON, whose order and numbers stay as they are.
func scrubJSON(text []byte) []byte {
	source := map[string]bool{}
	eachString(text, io.Discard, func(raw []byte, key string) []byte {
		if line := lineIn(raw); isSource(raw, key) && len(line) >= shortestLine {
			source[line] = true
		}
		return nil
	})
	var out bytes.Buffer
	eachString(text, &out, func(raw []byte, key string) []byte {
		if source[lineIn(raw)] { // a break's detail may be its line
			return []byte(`""`)
		}
		return scrubString(raw, key)
	})
	return out.Bytes()
}

// shortestLine is how long a line of source is that is looked for under other keys: a name may be a line, too.
const shortestLine = 8

// lineIn is a string of JSON without what is around its text.
func lineIn(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// isSource says whether a string of JSON is a line of source by its key.
func isSource(raw []byte, key string) bool {
	return slices.Contains(codeKeys, key) && !breakCode.Match(raw)
}

// eachString copies JSON with what f makes of its strings that are no keys.
func eachString(text []byte, out io.Writer, f func(raw []byte, key string) []byte) {
	key := ""
	put := func(b []byte) { _, _ = out.Write(b) } // a buffer takes all
	for i := 0; i < len(text); {
		if text[i] != '"' {
			end := i + 1
			for end < len(text) && text[end] != '"' {
				end++
			}
			put(text[i:end])
			if bytes.ContainsAny(text[i:end], "{}") {
				key = ""
			}
			i = end
			continue
		}
		end := stringEnd(text, i)
		raw := text[i:end]
		i = end
		if isKey(text[end:]) {
			_ = json.Unmarshal(raw, &key) // the whole was valid
			put(raw)
			continue
		}
		put(f(raw, key))
	}
}

// scrubString is a string of JSON without lines of source.
func scrubString(raw []byte, key string) []byte {
	if isSource(raw, key) {
		return []byte(`""`)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return []byte(`""`)
	}
	var clean string
	if nested := strings.TrimLeft(s, " \n"); nested != "" && strings.ContainsRune("{[", rune(nested[0])) && json.Valid([]byte(s)) {
		clean = string(scrubJSON([]byte(s))) // JSON in a string, as of inductor_provenance
	} else {
		clean = scrubText(s)
	}
	if clean == s {
		return raw
	}
	text, err := json.Marshal(clean)
	if err != nil {
		return []byte(`""`)
	}
	return text
}

// stringEnd is where a string of JSON that begins at i ends.
func stringEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(text)
}

func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " ")
	return len(rest) > 0 && rest[0] == ':'
}

var (
	// breakCode is the code of a kind of break.
	breakCode = regexp.MustCompile(`^"GB[0-9]{1,6}"$`)
	// recordStart is what comes before the JSON of a record: nothing of the program.
	recordStart = regexp.MustCompile(`^(\[rank\d+\]:)?[A-Z]\d{4} [0-9:.]+ +\d+ [^\s\]]+:\d+\] $`)
	// stackLine is a line of a Python stack, after which the source stands; those of an exception group have a bar before them.
	stackLine = regexp.MustCompile(`^[\s|]*File "[^"]*", line \d+(, in .*)?$`)
	// comment begins what a guard or message says of the line that asked for it: the line itself, and its place.
	comment = regexp.MustCompile(`\s# `)
	// placeComment is such a place.
	placeComment = regexp.MustCompile(`^\S+:\d+ in `)
)

// scrubText takes the lines of source out of text: those after the lines of a stack, and those
// that guards have as comments and messages on conditions name.
func scrubText(s string) string {
	if !strings.Contains(s, "File \"") && !strings.Contains(s, " # ") && !strings.Contains(s, "Caused by: ") {
		return s
	}
	lines := strings.Split(s, "\n")
	out := lines[:0]
	source := map[string]bool{}
	depth := -1 // of the last stack line, -1: none
	for _, l := range lines {
		indent := len(l) - len(strings.TrimLeft(l, " \t|"))
		if stackLine.MatchString(l) {
			depth = indent
			out = append(out, l)
			continue
		}
		if depth >= 0 && indent > depth {
			source[strings.TrimSpace(l)] = true // or the marks below it
			continue
		}
		depth = -1
		out = append(out, withoutComments(l))
	}
	for i, l := range out { // "Developer debug context: ", where that is the line itself
		if at := strings.Index(l, ": "); at >= 0 && source[strings.TrimSpace(l[at+2:])] {
			out[i] = l[:at+1]
		}
	}
	return strings.Join(out, "\n")
}

// causedBy is before the line of the program that a message on a condition names.
const causedBy = "Caused by: "

// withoutComments leaves out of the comments of a line what is no place, "x == 1  # if x: y()  # model.py:2 in f (torch.py:3 in g)",
// and what comes between a place and another: ") and if x: y()  # model.py:2 in f".
func withoutComments(l string) string {
	parts := comment.Split(l, -1)
	if before, _, found := strings.Cut(parts[0], causedBy); found {
		parts[0] = before + strings.TrimSpace(causedBy)
	}
	var out strings.Builder
	out.WriteString(parts[0])
	for i, p := range parts[1:] {
		if !placeComment.MatchString(p) {
			continue
		}
		if at := strings.LastIndex(p, ") and "); at >= 0 && i+2 < len(parts) {
			p = p[:at+1]
		}
		out.WriteString(" # " + p)
	}
	return out.String()
}
