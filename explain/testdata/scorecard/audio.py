# Blind, second set: spectrogram features with padding, a filter bank and trimming of silence.
# fix 1: branch-on-tensor
# fix 1: mask-select
# fix 1: item-slice
# fix 4: size-every-call
import os, math, torch
torch.manual_seed(0)

class MelSpec:
    def __init__(self, n_fft=32, hop=8, n_mels=6):
        self.n_fft, self.hop = n_fft, hop
        self.window = torch.hann_window(n_fft)
        self.fb = torch.rand(n_fft // 2 + 1, n_mels)
        self.cache = {}
    def __call__(self, wav, gain_db=0.0):
        pad = (self.hop - wav.shape[-1] % self.hop) % self.hop
        if pad:
            wav = torch.nn.functional.pad(wav, (0, pad))
        if gain_db:
            wav = wav * 10 ** (gain_db / 20)
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs() ** 2
        mel = (spec.transpose(-1, -2) @ self.fb).clamp(min=1e-10).log10()
        return mel

def trim(wav, threshold):
    return wav.abs() > threshold #+1
    loud = wav.abs() > threshold #-1
    if not loud.any(): #-1
        return wav #-1
    keep = loud.nonzero() #-1
    return wav[keep[0, 0]:keep[-1, 0] + 1] #-1

mel = torch.compile(MelSpec(), backend="eager")
cut = torch.compile(trim, backend="eager")
# again
for n in (64, 96, 100):
    wav = torch.sin(torch.arange(n) * 0.3)
    torch._dynamo.maybe_mark_dynamic(wav, 0) #+4
    print(tuple(mel(wav).shape), "%.3f" % mel(wav, gain_db=6.0).mean()) #+4
    print(tuple(mel(wav).shape), "%.3f" % mel(wav, gain_db=6.0).mean()) #-4
wav = torch.cat([torch.zeros(5), torch.ones(7), torch.zeros(3)])
keep = cut(wav, 0.5).nonzero() #+1
print((wav[keep[0, 0]:keep[-1, 0] + 1] if len(keep) else wav).shape) #+1
print(cut(wav, 0.5).shape) #-1
