"""Workloads that were predicted before they were measured: convolutions, recurrent layers, a U-Net and mixed precision first.

WORKLOADS maps a name to (build, step): build(device) returns any state, step(state) does the work once. Random weights, no downloads.
"""
import torch
from torch import nn
from torch.nn import functional as F

bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32

def training(make, inputs, loss_of, optimizer=torch.optim.AdamW, amp=None, scaled=False, passes=2, accumulate=1):
    def build(device):
        model = make(device).train()
        return dict(model=model, inputs=inputs(device), optimizer=optimizer(model.parameters()), scaler=torch.amp.GradScaler("cuda", enabled=scaled))
    def step(state):
        for _ in range(passes):
            for _ in range(accumulate):
                with torch.autocast("cuda", dtype=amp or bf16, enabled=amp is not None):
                    loss = loss_of(state["model"], *state["inputs"])
                state["scaler"].scale(loss).backward()
            state["scaler"].step(state["optimizer"])
            state["scaler"].update()
            state["optimizer"].zero_grad(set_to_none=True)
    return build, step

def inference(make, inputs, amp=None):
    def build(device): return dict(model=make(device).eval(), inputs=inputs(device))
    def step(state):
        with torch.no_grad(), torch.autocast("cuda", dtype=amp or bf16, enabled=amp is not None): return state["model"](*state["inputs"])
    return build, step

def images(batch, size, dtype=f32, last=False, classes=1000):
    def make(device):
        x = torch.randn(batch, 3, size, size, device=device, dtype=dtype)
        return x.to(memory_format=torch.channels_last) if last else x, torch.randint(0, classes, (batch,), device=device)
    return make

def tokens(batch, length, vocabulary): return lambda device: (torch.randint(0, vocabulary, (batch, length), device=device),)
def classify(model, x, y): return F.cross_entropy(model(x), y)

def torchvision(name, dtype=f32, last=False):
    def make(device):
        import torchvision
        model = getattr(torchvision.models, name)().to(device, dtype)
        return model.to(memory_format=torch.channels_last) if last else model
    return make

class Residual(nn.Module):
    def __init__(self, ins, outs):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(8, ins), nn.SiLU(), nn.Conv2d(ins, outs, 3, padding=1), nn.GroupNorm(8, outs), nn.SiLU(), nn.Conv2d(outs, outs, 3, padding=1))
        self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()
    def forward(self, x): return self.skip(x) + self.body(x)

class SelfAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.norm, self.mix, self.out, self.heads = nn.GroupNorm(8, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1), heads
    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.mix(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w))

class UNet(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.stem, self.first, self.second = nn.Conv2d(4, width, 3, padding=1), Residual(width, width), Residual(width, 2 * width)
        self.down, self.middle = nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1), nn.Sequential(Residual(2 * width, 4 * width), SelfAttention(4 * width))
        self.up = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.third, self.out = Residual(4 * width, width), nn.Conv2d(width, 4, 3, padding=1)
    def forward(self, x):
        a = self.second(self.first(self.stem(x)))
        return self.out(self.third(torch.cat((self.up(self.middle(self.down(a))), a), 1)))

class Tagger(nn.Module):
    def __init__(self, kind, vocabulary=8000, width=384, layers=2, both=True):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = getattr(nn, kind)(width, width, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(2 * width if both else width, 64)
    def forward(self, x): return self.head(self.layers(self.embed(x))[0])

class Decoder(nn.Module):
    def __init__(self, vocabulary=32000, width=1024, layers=8, heads=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
        self.body, self.norm, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), device=x.device)
        return self.head(self.norm(self.body(self.embed(x), mask=mask, is_causal=True)))

def next_token(model, x): return F.cross_entropy(model(x).flatten(0, 1).float(), x.flatten())
def tag(model, x): return F.cross_entropy(model(x).flatten(0, 1), x.flatten() % 64)
def on(make): return lambda device: make().to(device)

def transformers_model(config, auto="AutoModelForCausalLM", dtype=bf16, **settings):
    def make(device):
        import transformers
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device): return getattr(transformers, auto).from_config(getattr(transformers, config)(**settings))
        finally: torch.set_default_dtype(f32)
    return make

def language_loss(model, x): return model(input_ids=x, labels=x, use_cache=False).loss

LLAMA = dict(vocab_size=64000, hidden_size=2560, intermediate_size=6912, num_hidden_layers=12, num_attention_heads=20, num_key_value_heads=4, head_dim=128)
MIXTRAL = dict(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16, num_key_value_heads=4, num_local_experts=8)

WORKLOADS = {
    "resnet34-train-f32-64": training(torchvision("resnet34"), images(64, 224), classify, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "resnet50-train-amp-last-96": training(torchvision("resnet50", last=True), images(96, 224, last=True), classify, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), amp=bf16),
    "resnet101-fwd-f16-64": inference(torchvision("resnet101", f16), lambda d: images(64, 224, f16)(d)[:1]),
    "densenet121-fwd-f32-32": inference(torchvision("densenet121"), lambda d: images(32, 224)(d)[:1]),
    "unet-train-amp-4x64": training(on(UNet), lambda d: (torch.randn(4, 4, 64, 64, device=d),), lambda m, x: F.mse_loss(m(x), x), amp=bf16),
    "unet-fwd-bf16-8x64": inference(lambda d: UNet().to(d, bf16), lambda d: (torch.randn(8, 4, 64, 64, device=d, dtype=bf16),)),
    "lstm-train-f32-64x100": training(on(lambda: Tagger("LSTM")), tokens(64, 100, 8000), tag),
    "gru-train-f32-32x200": training(on(lambda: Tagger("GRU", layers=1, both=False)), tokens(32, 200, 8000), tag),
    "encoder-train-f32-8x512": training(on(Decoder), tokens(8, 512, 32000), next_token),
    "encoder-train-f16-scaled-8x512": training(on(Decoder), tokens(8, 512, 32000), next_token, amp=f16, scaled=True),
    "encoder-train-amp-accumulate-4x512": training(on(Decoder), tokens(4, 512, 32000), next_token, amp=bf16, accumulate=4),
    "llama2b-train-bf16-fused-2x2048": training(transformers_model("LlamaConfig", **LLAMA), tokens(2, 2048, 64000), language_loss, lambda p: torch.optim.AdamW(p, fused=True)),
    "llama2b-train-amp-1x2048": training(transformers_model("LlamaConfig", dtype=f32, **LLAMA), tokens(1, 2048, 64000), language_loss, amp=bf16),
    "mixtral-train-bf16-2x1024": training(transformers_model("MixtralConfig", **MIXTRAL), tokens(2, 1024, 32000), language_loss),
    "vit-fwd-f32-64": inference(torchvision("vit_b_16"), lambda d: images(64, 224)(d)[:1]),
    "bert-train-amp-16x512": training(transformers_model("BertConfig", "AutoModelForMaskedLM", f32), tokens(16, 512, 30522), lambda m, x: m(input_ids=x, labels=x).loss, amp=bf16),
}
