package advice

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"tcdbg/tracer/breaks"
)

// TestSentencesAreWhole: what is not known of a finding leaves no hole in the sentence.
func TestSentencesAreWhole(t *testing.T) {
	hole := regexp.MustCompile(`^ |  | \(\)| [,:;.](\s|$)`)
	said := map[string]bool{}
	check := func(base Finding) {
		for _, f := range variants(base) {
			row, ok := For(&f)
			if !ok || said[row.ID] {
				continue
			}
			if text := row.Text(&f); hole.MatchString(text) {
				said[row.ID] = true
				t.Errorf("row %s, guard %q, code %q: %q", row.ID, f.Guard, f.Code, text)
			}
		}
	}
	for _, cause := range breaks.RecompileCauses() { // a guard says of what to what it changed, but not of what the user calls it
		check(Finding{Kind: Recompile, Guard: cause.Kind, Function: "forward", Expected: "2", Actual: "3"})
	}
	for _, code := range breaks.Codes() {
		for _, of := range []bool{false, true} {
			check(Finding{Kind: Break, Code: code, Go: of, Function: "forward", Line: "y = f(x)"})
			check(Finding{Kind: Failure, Code: code, Go: of, Function: "forward", Line: "y = f(x)"})
		}
	}
}

// variants are f with each of its flags and texts set alone, but for its name.
func variants(f Finding) []Finding {
	out := []Finding{f}
	typ := reflect.TypeFor[Finding]()
	for i := range typ.NumField() {
		v := f
		field := reflect.ValueOf(&v).Elem().Field(i)
		switch {
		case typ.Field(i).Name == "Name" || !field.IsZero():
			continue
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
		case field.Type() == reflect.TypeFor[string]():
			field.SetString(strings.ToLower(typ.Field(i).Name))
		default:
			continue
		}
		out = append(out, v)
	}
	return out
}
