"""EfficientNet-Lite0 without its classifier: images to 1,280 numbers.

The architecture is that of Tan & Le (2019), "EfficientNet", section 4, in the variant "Lite": no
squeeze-excitation, ReLU6 instead of Swish, stem and head of fixed width. Batch normalisation is
folded into the convolutions (Jacob et al. 2018, "Quantization and training of neural networks",
section 3.2), because the network is only applied, never trained here.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

N_FEATURES = 1_280
_STEM, _BATCH_NORM_EPSILON = 32, 1e-3
# Table 1 of the paper: repetitions, kernel, stride, expansion, output channels.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class _Convolution(nn.Conv2d):
    """A convolution padded as TensorFlow does ("SAME"), because the weights come from there: with
    stride 2, the right and lower edges can get one row more than the others."""

    def forward(self, input: Tensor) -> Tensor:
        before_h, after_h = self._padding(input.shape[-2])
        before_w, after_w = self._padding(input.shape[-1])
        if (before_h, before_w) != (after_h, after_w):
            input = functional.pad(input, (before_w, after_w, before_h, after_h))
            before_h = before_w = 0
        return functional.conv2d(
            input, self.weight, self.bias, self.stride, (before_h, before_w), 1, self.groups
        )

    def _padding(self, size: int) -> tuple[int, int]:
        kernel, stride = self.kernel_size[0], self.stride[0]
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        return total // 2, total - total // 2


class _Block(nn.Module):
    """MBConv (Sandler et al. 2018, "MobileNetV2"): expand, filter by channel, project."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.expand = _Convolution(inputs, inner, 1) if expansion > 1 else None
        self.depthwise = _Convolution(inner, inner, kernel, stride, groups=inner)
        self.project = _Convolution(inner, outputs, 1)
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, input: Tensor) -> Tensor:
        inner = input if self.expand is None else functional.relu6(self.expand(input))
        output: Tensor = self.project(functional.relu6(self.depthwise(inner)))
        return output + input if self.is_residual else output


class EfficientNetLite(nn.Module):
    """(N, 3, H, W) scaled pixels to (N, 1280): the mean of the last layer over the image."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _Convolution(3, _STEM, 3, 2)
        blocks, channels = [], _STEM
        for repeats, kernel, stride, expansion, outputs in _STAGES:
            for k in range(repeats):
                first = k == 0
                blocks.append(_Block(channels, outputs, kernel, stride if first else 1, expansion))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = _Convolution(channels, N_FEATURES, 1)

    def forward(self, input: Tensor) -> Tensor:
        inner = self.blocks(functional.relu6(self.stem(input)))
        return functional.relu6(self.head(inner)).mean((2, 3))


def folded_weights(original: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of `EfficientNetLite` from those of the package efficientnet-lite-pytorch.

    The classifier is left out. Raises KeyError if a tensor is missing.
    """
    folded: dict[str, Tensor] = {}

    def add(name: str, convolution: str, norm: str) -> None:
        scale = original[f"{norm}.weight"].double()
        scale = scale / torch.sqrt(original[f"{norm}.running_var"].double() + _BATCH_NORM_EPSILON)
        weight = original[f"{convolution}.weight"].double() * scale[:, None, None, None]
        bias = original[f"{norm}.bias"].double()
        bias = bias - original[f"{norm}.running_mean"].double() * scale
        folded[f"{name}.weight"] = weight.float().contiguous()
        folded[f"{name}.bias"] = bias.float()

    add("stem", "_conv_stem", "_bn0")
    for k in range(sum(stage[0] for stage in _STAGES)):
        block = f"_blocks.{k}"
        if f"{block}._expand_conv.weight" in original:
            add(f"blocks.{k}.expand", f"{block}._expand_conv", f"{block}._bn0")
        add(f"blocks.{k}.depthwise", f"{block}._depthwise_conv", f"{block}._bn1")
        add(f"blocks.{k}.project", f"{block}._project_conv", f"{block}._bn2")
    add("head", "_conv_head", "_bn1")
    return folded
