package pyhook

import (
	"os/exec"
	"strings"
	"testing"
)

// rule holds numerics_run to the cases of backends/numerics.
const rule = `import json, sys
import torch
sys.path.insert(0, "py")
from tcdbg_hooks import numerics_run as runs

def tensor(words, dtype):
    return None if words is None else torch.tensor([float(w) for w in words], dtype=torch.float64).to(dtype)

n = 0
for case in json.load(open("../../backends/numerics/testdata/rule.json")):
    dtype = getattr(torch, case["dtype"])
    got, want = tensor(case["got"], dtype), tensor(case["want"], dtype)
    c = runs.Compared("output 0", got, want, tensor(case.get("exact"), torch.float64))
    if "noisy" in case:
        c.weigh(got, want, [tensor(case["noisy"], dtype)])
    if c.faulty != case["faulty"] or c.undecided != case.get("undecided", False):
        print(case["name"], c.faulty, c.undecided)
    n += 1
print(n, "cases")
`

// The rule by which results are equal is the same in Python as in Go.
func TestNumericsRule(t *testing.T) {
	out, err := exec.Command(python(t, "torch"), "-c", rule).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || text != "18 cases" {
		t.Errorf("%v\n%s", err, text)
	}
}
