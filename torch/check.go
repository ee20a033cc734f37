package torch

import "tcdbg/torch/internal/refusal"

// Check panics unless cond holds, as torch._check does. In a compiled function it tells the
// compiler what is known of a number that was read out of a tensor: Check(n >= 2) decides the
// branches on n that follow from it, and is tested when the graph runs.
func Check(cond bool, message ...string) {
	if cond {
		return
	}
	text := "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an " +
		"enhancement request to PyTorch.)"
	if len(message) > 0 {
		text = message[0]
	}
	refusal.Fail("_check", "RuntimeError", "%s", text)
}
