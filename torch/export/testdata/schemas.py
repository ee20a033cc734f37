# This program writes ../schemas.txt: the operators of aten that a program in Go may be exported with, as
# PyTorch declares them. Run it with PyTorch 2.15: python schemas.py > ../schemas.txt
import re

import torch

LEFT_OUT = re.compile(
    "backward|quant|fbgemm|mkldnn|cudnn|miopen|sparse|nested|_like_|rnn|lstm|gru|(?<!lift_fresh)_copy$|fft_|cudart|mps|xpu|cuda|storage|"
    "^sym_|^size$|^record|^is_|^_(?!softmax|log_softmax|unsafe_view|native_batch_norm|adaptive_avg)"
)
TYPES = re.compile(r"Dimname|\bt\[|\bcomplex\b|Storage|Stream|Tensor\([a-z]!\) out|Tensor\(b!\)|\bDict\b|\bstr\[|__torch__")

for schema in sorted(str(s) for s in torch._C._jit_get_all_schemas()):
    if not schema.startswith("aten::"):
        continue
    schema = schema.removeprefix("aten::")
    name = re.match(r"[A-Za-z0-9_]+", schema).group()
    if LEFT_OUT.search(name) or TYPES.search(schema) or "Tensor" not in schema.rsplit("->", 1)[1]:
        continue
    if not re.search(r"Tensor|ScalarType\?", schema.rsplit("->", 1)[0]):
        continue
    print(re.sub(r"\([a-z*!| >-]+\)", "", schema.replace("SymInt", "int")))
