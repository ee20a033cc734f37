package render

import (
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestJSONIsDocumented: docs/report-json.md has a row for every field of the
// JSON report, and none for a field that is not there.
func TestJSONIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/report-json.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .").FindAllStringSubmatch(string(doc), -1) {
		if documented[m[1]] {
			t.Errorf("%s has two rows", m[1])
		}
		documented[m[1]] = true
	}
	fields := map[string]bool{}
	jsonFields(reflect.TypeOf(jsonReport{}), "", fields)
	for _, name := range sortedKeys(fields) {
		if !documented[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, name := range sortedKeys(documented) {
		if !fields[name] {
			t.Errorf("%s is documented, but no field", name)
		}
	}
}

// sharedTypes are described once, under a name of their own.
var sharedTypes = map[reflect.Type]string{
	reflect.TypeOf(logs.Pos{}): "place", reflect.TypeOf(jsonFix{}): "fix", reflect.TypeOf(jsonID{}): "compile",
	reflect.TypeOf(explain.Totals{}): "totals", reflect.TypeOf(logs.NumericsValue{}): "difference",
}

// jsonFields collects the paths of all fields: frames[].compiles[].status.
func jsonFields(typ reflect.Type, prefix string, into map[string]bool) {
	for ; typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice; typ = typ.Elem() {
		if typ.Kind() == reflect.Slice {
			prefix += "[]"
		}
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeOf(time.Time{}) {
		return
	}
	if name, shared := sharedTypes[typ]; shared {
		prefix = name
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous:
			jsonFields(f.Type, prefix, into)
		default:
			path := strings.TrimPrefix(prefix+"."+name, ".")
			into[path] = true
			jsonFields(f.Type, path, into)
		}
	}
}

func sortedKeys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
