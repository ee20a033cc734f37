package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// foundFixtures are programs with forward and backward graphs, breaks, dynamic sizes, control flow, products and convolutions.
var foundFixtures = []string{"bar", "mlp", "condgraph", "convnorm", "epilogue", "accumulate", "batches", "models_squeezenet"}

var (
	recordHead = regexp.MustCompile(`(?m)^[VDIW]\d{4} [\d:.]+ \d+ `)
	recordVary = regexp.MustCompile(`"has_payload": "[0-9a-f]{32}"|"us":\d+|"ts": ?\d+`)
	ofInductor = regexp.MustCompile(`^\S+ \{"(inductor_|artifact": \{"encoding":"json","name":"tcdbg_` +
		`(pass_step|schedule|fusion_step|together|memory_plan|provenance|triton_code|autotuning)")`)
)

// inductorRecords are the records of a trace that the inductor and its passes have written, without their times.
func inductorRecords(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range recordHead.Split(string(text), -1) {
		if ofInductor.MatchString(r) {
			out = append(out, recordVary.ReplaceAllString(r, ""))
		}
	}
	return out
}

// TestFoundGraphsAreRecorded: a program whose graphs are found before they are compiled writes the records that it wrote when they
// were compiled, byte for byte and in the same order, and so the same logs.
func TestFoundGraphsAreRecorded(t *testing.T) {
	needCompiler(t)
	for _, name := range test.Some(t, 2, foundFixtures) {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, "TCDBG_CHECK=0", "TORCH_LOGS=output_code,schedule,fusion,ir_pre_fusion,ir_post_fusion")
			run := func(want string) (records []string, log string) {
				s.state = t.TempDir()
				_, stderr, code := s.run(t, "run", "--plain", "fixtures/"+name+"/model.go")
				if code != 0 {
					t.Fatalf("exit %d\n%s", code, stderr)
				}
				records = inductorRecords(t, s.trace())
				if report, _, _ := s.run(t, "report", "last"); !strings.Contains(report, "fx_graph "+want) {
					t.Errorf("no %s in\n%s", want, report)
				}
				return records, recordHead.ReplaceAllString(stderr, "")
			}
			cold, coldLog := run("miss")
			warm, warmLog := run("hit")
			if len(cold) < 10 || len(cold) != len(warm) {
				t.Fatalf("%d records, and then %d", len(cold), len(warm))
			}
			for i := range cold {
				if cold[i] != warm[i] {
					t.Fatalf("record %d is\n%.2000s\nand was\n%.2000s", i, warm[i], cold[i])
				}
			}
			if len(coldLog) < 1000 || coldLog != warmLog {
				t.Errorf("logs of %d and %d bytes differ", len(coldLog), len(warmLog))
			}
		})
	}
}
