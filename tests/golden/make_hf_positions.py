"""Writes positions.json: the position ids that Hugging Face makes.

mrope: a sequence as parts, ["text", tokens], ["image", [t, h, w]] or ["video", [t, h, w]] with the
grid in patches, and the [3, tokens] ids of get_rope_index; `delta` is what is added to a later
token's index to get its position. Qwen3-VL writes every frame of a video as a part with t = 1
between timestamps. This version moves on by max(h, w) / merge after a part, whatever t is, so text
after a video may repeat positions of the video; such cases also have `positions_max_plus_one`: the
same parts from Hugging Face's get_vision_position_ids, each begun at the largest id before it plus
one, as the paper says and as versions 4 did.
mask: generate()'s ids from a padding mask. packed: the collator's ids from lengths, and the
boundaries found again from the ids.
"""

import types
import warnings

import torch
import transformers
from transformers.generation.utils import GenerationMixin
from transformers.modeling_flash_attention_utils import prepare_fa_kwargs_from_position_ids
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel

import golden_io

KIND = {"text": 0, "image": 1, "video": 2}


def rope_index(model, rows, merge, mask=None, **vision):
    """get_rope_index of a model class for rows of parts, without weights."""
    config = types.SimpleNamespace(
        spatial_merge_size=merge, tokens_per_second=vision.pop("tokens_per_second", None)
    )
    stub = types.SimpleNamespace(config=types.SimpleNamespace(vision_config=config))
    stub.get_vision_position_ids = types.MethodType(model.get_vision_position_ids, stub)
    kinds, grids = [], {"image": [], "video": []}
    for parts in rows:
        row = []
        for kind, size in parts:
            count = size if kind == "text" else size[0] * (size[1] // merge) * (size[2] // merge)
            row += [KIND[kind]] * count
            if kind != "text":
                grids[kind].append(size)
        kinds.append(row)
    width = max(map(len, kinds))
    attention = None
    if mask is not None:
        sides = {
            "left": lambda n: [0] * (width - n) + [1] * n,
            "right": lambda n: [1] * n + [0] * (width - n),
        }
        attention = torch.tensor([sides[mask](len(row)) for row in kinds])
        kinds = [
            [0] * (width - len(r)) + r if mask == "left" else r + [0] * (width - len(r))
            for r in kinds
        ]
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    found, delta = model.get_rope_index(
        stub,
        ids,
        torch.tensor(kinds),
        image_grid_thw=torch.tensor(grids["image"]) if grids["image"] else None,
        video_grid_thw=torch.tensor(grids["video"]) if grids["video"] else None,
        attention_mask=attention,
        **vision,
    )
    return found.tolist(), delta[:, 0].tolist(), attention


def max_plus_one(model, parts, merge, tokens_per_second=None, second_per_grid_ts=None):
    """[3][tokens]: every part begins one past the largest id so far."""
    blocks, start = [], 0
    seconds = iter(second_per_grid_ts if second_per_grid_ts is not None else [1] * len(parts))
    for kind, size in parts:
        if kind == "text":
            block = (torch.arange(size) + start).expand(3, -1)
        else:
            step = tokens_per_second * next(seconds) if kind == "video" and tokens_per_second else 1
            block = model.get_vision_position_ids(None, start, torch.tensor(size), 1, merge, step)
        blocks.append(block)
        start = int(block.max()) + 1
    return torch.cat(blocks, dim=1).tolist()


def mrope():
    cases = []

    def add(name, model, rows, merge=2, mask=None, **vision):
        given = dict(vision)
        if "second_per_grid_ts" in vision:
            vision["second_per_grid_ts"] = torch.tensor(vision["second_per_grid_ts"])
        found, delta, attention = rope_index(model, rows, merge, mask, **vision)
        case = {
            "name": name,
            "model_type": {
                Qwen2VLModel: "qwen2_vl",
                Qwen2_5_VLModel: "qwen2_5_vl",
                Qwen3VLModel: "qwen3_vl",
            }[model],
        }
        case |= {"spatial_merge_size": merge, **given, "rows": rows}
        if attention is not None:
            case |= {"padding": mask, "attention_mask": attention.tolist()}
        case |= {
            "positions": [[axis[b] for axis in found] for b in range(len(rows))],
            "delta": delta,
        }
        if attention is None:
            other = max_plus_one(model, rows[0], merge, **vision)
            if other != case["positions"][0]:
                case["positions_max_plus_one"] = [other]
        cases.append(case)

    text, image = ["text", 5], ["image", [1, 4, 6]]
    for model in (Qwen2VLModel, Qwen2_5_VLModel, Qwen3VLModel):
        more = {"tokens_per_second": 2} if model is Qwen2_5_VLModel else {}
        label = model.__name__.removesuffix("Model")
        add(f"{label} text", model, [[text]], **more)
        add(f"{label} image first", model, [[image, ["text", 2]]], **more)
        add(f"{label} image", model, [[text, image, ["text", 3]]], **more)
        add(
            f"{label} tall image, merge 1",
            model,
            [[["text", 1], ["image", [1, 5, 2]], ["text", 2]]],
            1,
            **more,
        )
        add(
            f"{label} two images",
            model,
            [[text, image, ["text", 1], ["image", [1, 2, 8]], ["text", 2]]],
            **more,
        )
        add(
            f"{label} square then one token",
            model,
            [[["text", 3], ["image", [1, 8, 8]], ["text", 1]]],
            **more,
        )
        for side in ("left", "right"):
            add(
                f"{label} batch padded {side}",
                model,
                [[text, image, ["text", 3]], [["text", 4]]],
                mask=side,
                **more,
            )
    video = ["video", [3, 4, 4]]
    for model in (Qwen2VLModel, Qwen2_5_VLModel):
        more = {"tokens_per_second": 2} if model is Qwen2_5_VLModel else {}
        label = model.__name__.removesuffix("Model")
        add(f"{label} video", model, [[text, video, ["text", 3]]], **more)
        add(
            f"{label} image and video",
            model,
            [[text, image, ["text", 2], video, ["text", 2]]],
            **more,
        )
    for seconds in (0.5, 1.0, 1.5, 2.0):
        add(
            f"Qwen2_5_VL video {seconds} s a grid",
            Qwen2_5_VLModel,
            [[text, video, ["text", 3]]],
            tokens_per_second=2,
            second_per_grid_ts=[seconds],
        )
    add(
        "Qwen2_5_VL video 25 tokens a second",
        Qwen2_5_VLModel,
        [[["text", 1], ["video", [4, 2, 4]], ["text", 2]]],
        tokens_per_second=25,
        second_per_grid_ts=[0.1],
    )
    add(
        "Qwen2_5_VL long video passes the text after it",
        Qwen2_5_VLModel,
        [[["text", 1], ["video", [6, 2, 2]], ["text", 2]]],
        tokens_per_second=4,
        second_per_grid_ts=[1.0],
    )
    frame = ["video", [1, 4, 4]]
    add(
        "Qwen3VL frames between timestamps",
        Qwen3VLModel,
        [[text, ["text", 4], frame, ["text", 4], frame, ["text", 4], frame, ["text", 3]]],
    )
    add(
        "Qwen3VL image and frames",
        Qwen3VLModel,
        [[text, image, ["text", 3], frame, ["text", 3], frame, ["text", 2]]],
    )
    return cases


def mask():
    cases = []
    for row in (
        [1, 1, 1, 1, 1],
        [0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
        [1, 0, 1, 1, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0],
    ):
        found = GenerationMixin._prepare_position_ids_for_generation(
            None, torch.zeros(1, len(row)), {"attention_mask": torch.tensor([row])}
        )
        cases.append({"attention_mask": row, "position_ids": found[0].tolist()})
    return cases


def packed():
    cases = []
    collator = transformers.DataCollatorWithFlattening(return_tensors="pt")
    for lengths in ([4], [3, 2, 1], [1, 1, 5], [2, 7, 3, 4]):
        found = collator(
            [{"input_ids": list(range(n)), "labels": list(range(n))} for n in lengths]
        )["position_ids"]
        (cumulative, _), (longest, _) = prepare_fa_kwargs_from_position_ids(found)
        cases.append(
            {
                "lengths": lengths,
                "position_ids": found[0].tolist(),
                "cu_seq_lens": cumulative.tolist(),
                "max_length": int(longest),
            }
        )
    return cases


def main():
    golden_io.check_versions()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    golden_io.write(
        "positions.json", "make_hf_positions.py", mrope=mrope(), mask=mask(), packed=packed()
    )


if __name__ == "__main__":
    main()
