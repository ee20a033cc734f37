"""An LSTM whose entry, which guards on no module, is met by modules that come after it."""
import torch
import torch.nn as nn

torch.manual_seed(0)
lstm = torch.compile(nn.LSTM(8, 8, batch_first=True), backend="aot_eager")
gru = torch.compile(nn.GRU(8, 8, batch_first=True), backend="aot_eager")
norm = torch.compile(nn.LayerNorm(8), backend="aot_eager")
x = torch.randn(2, 5, 8)
y, _ = lstm(x)
y = norm(x)
y, _ = gru(x)
with torch.no_grad():
    y = norm(x)
    y, _ = lstm(x)
y, _ = lstm(torch.randn(3, 7, 8))
