"""Writes hf_bias.json: distance buckets, ALiBi slopes, sinusoidal rows and rows of learned tables.

t5: `runs` are [first relative position, bucket] for key - query from -3000 to 3000. The script
stops if Hugging Face's float32 logarithm gives another bucket than exact integers at any of them.
alibi: the float32 slope of every head. sinusoidal: rows at a few positions. rows: the row of a
learned table that each token reads, found by filling a table with its own row numbers.
"""

import types
import warnings

import torch
import transformers
from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_alibi
from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding as FsmtEmbedding
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
from transformers.models.pegasus.modeling_pegasus import PegasusSinusoidalPositionalEmbedding
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wavlm.modeling_wavlm import WavLMAttention
from transformers.models.whisper.modeling_whisper import sinusoids
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

import golden_io

REACH = 3000


def exact_bucket(relative, bidirectional, buckets, max_distance):
    """The bucket in integers: log(n/e)/log(D/e)*(B-e) >= k exactly where (n/e)^(B-e) >= (D/e)^k."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if relative > 0 else 0
        distance = abs(relative)
    else:
        distance = max(-relative, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    wide = buckets - exact
    k = 0
    while (
        k < wide - 1 and distance**wide * exact ** (k + 1) >= max_distance ** (k + 1) * exact**wide
    ):
        k += 1
    return first + exact + k


def t5():
    relative = torch.arange(-REACH, REACH + 1)
    cases = []
    for buckets, max_distance in (
        (32, 128),
        (64, 128),
        (32, 256),
        (16, 128),
        (8, 20),
        (12, 100),
        (320, 800),
        (256, 1024),
    ):
        for bidirectional in (True, False):
            found = T5Attention._relative_position_bucket(
                relative, bidirectional, buckets, max_distance
            ).tolist()
            runs = []
            for where, bucket in zip(relative.tolist(), found, strict=True):
                if not runs or runs[-1][1] != bucket:
                    runs.append([where, bucket])
                assert bucket == exact_bucket(where, bidirectional, buckets, max_distance), where
            spec = {
                "method": "t5_bias",
                "num_heads": 8,
                "relative_attention_num_buckets": buckets,
                "relative_attention_max_distance": max_distance,
                "bidirectional": bidirectional,
            }
            if (buckets, max_distance, bidirectional) == (320, 800, True):
                stub = types.SimpleNamespace(num_buckets=buckets, max_distance=max_distance)
                assert WavLMAttention._relative_positions_bucket(stub, relative).tolist() == found
            cases.append({"spec": spec, "runs": runs})
    return cases


def alibi():
    cases = []
    mask = torch.ones(1, 2)
    for heads in (*range(1, 41), 66, 71, 112):
        slopes = build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1]
        cases.append(
            {
                "source": "bloom",
                "spec": {"method": "alibi", "num_heads": heads, "alibi_bias_max": 8},
                "slopes": golden_io.float32_list(slopes),
            }
        )
    for most in (8, 16):
        for heads in (*range(1, 41), 66, 71, 112):
            slopes = -build_mpt_alibi_tensor(heads, 2, most)[:, 0, 0]
            cases.append(
                {
                    "source": "mpt",
                    "spec": {"method": "alibi", "num_heads": heads, "alibi_bias_max": most},
                    "slopes": golden_io.float32_list(slopes),
                }
            )
    for heads in (12, 71):
        slopes = falcon_alibi(mask, heads, torch.float32)[:, 0, 1]
        cases.append(
            {
                "source": "falcon",
                "note": "bfloat16 slopes; the model also divides the bias by sqrt(head_dim)",
                "spec": {"method": "alibi", "num_heads": heads, "alibi_bias_max": 8},
                "slopes": golden_io.float32_list(slopes),
            }
        )
    return cases


def sinusoidal():
    positions = [0, 1, 2, 7, 255, 1023]
    count = positions[-1] + 1
    half = "first half sin, second half cos, "
    cases = []

    def add(source, formula, dim, table, rows=positions):
        cases.append(
            {
                "source": source,
                "formula": formula,
                "dim": dim,
                "positions": positions,
                "rows": golden_io.float32_list(table[rows]),
            }
        )

    for dim in (4, 8, 10, 32):
        for source, cls in (
            ("marian", MarianSinusoidalPositionalEmbedding),
            ("pegasus", PegasusSinusoidalPositionalEmbedding),
        ):
            add(
                source,
                half + "inv_freq 10000^(-2i/dim), float64",
                dim,
                cls(count, dim).create_weight(),
            )
        add(
            "xlm",
            "interleaved sin and cos, inv_freq 10000^(-2i/dim), float64",
            dim,
            create_sinusoidal_embeddings(count, dim, torch.empty(count, dim)),
        )
        add("whisper", half + "inv_freq 10000^(-i/(dim/2-1)), float32", dim, sinusoids(count, dim))
        table = M2M100SinusoidalPositionalEmbedding(count, dim, padding_idx=1).weights
        add(
            "m2m_100",
            half + "inv_freq 10000^(-i/(dim/2-1)), float32; token m reads row m + 2",
            dim,
            table,
            [p + 2 for p in positions],
        )
        add(
            "musicgen",
            "first half cos, second half sin, inv_freq 10000^(-i/(dim/2-1)), float32",
            dim,
            MusicgenSinusoidalPositionalEmbedding(count, dim).weights,
        )
    add(
        "m2m_100",
        half
        + "inv_freq 10000^(-i/(floor(dim/2)-1)), float32, last column 0; token m reads row m + 2",
        9,
        M2M100SinusoidalPositionalEmbedding(count, 9, padding_idx=1).weights,
        [p + 2 for p in positions],
    )
    return cases


def numbered(embedding):
    """A learned table whose row r holds r, so that what is read names the row."""
    embedding.weight.data = torch.arange(len(embedding.weight), dtype=torch.float32)[:, None]
    return embedding


def rows():
    masks = [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1, 0, 0]]
    cases = []
    for mask in masks:
        for cache_length in (0, 2):
            read = numbered(OPTLearnedPositionalEmbedding(16, 1))(
                torch.tensor([mask]), cache_length
            )
            cases.append(
                {
                    "source": "opt",
                    "offset": 2,
                    "attention_mask": mask,
                    "cache_length": cache_length,
                    "rows": read[0, :, 0].int().tolist(),
                }
            )
    for tokens, cache_length in ((4, 0), (1, 9)):
        read = numbered(BartLearnedPositionalEmbedding(16, 1))(torch.zeros(1, tokens), cache_length)
        cases.append(
            {
                "source": "bart",
                "offset": 2,
                "tokens": tokens,
                "cache_length": cache_length,
                "rows": read[0, :, 0].int().tolist(),
            }
        )
    for padding in (1, 0):
        for ids in (
            [5, 6, 7, 8],
            [padding, padding, 5, 6],
            [5, 6, padding, padding],
            [5, padding, 6, 7],
        ):
            for cache_length in (0, 3):
                found = RobertaEmbeddings.create_position_ids_from_input_ids(
                    torch.tensor([ids]), padding, cache_length
                )
                case = {
                    "source": "roberta",
                    "pad_token_id": padding,
                    "input_ids": ids,
                    "cache_length": cache_length,
                }
                cases.append(case | {"rows": found[0].tolist()})
            found = FsmtEmbedding.make_positions(torch.tensor([ids]), padding)
            cases.append(
                {
                    "source": "fsmt",
                    "pad_token_id": padding,
                    "input_ids": ids,
                    "cache_length": 0,
                    "rows": found[0].tolist(),
                }
            )
    found = RobertaEmbeddings.create_position_ids_from_inputs_embeds(torch.zeros(1, 4, 2), 1)
    cases.append(
        {
            "source": "roberta inputs_embeds",
            "pad_token_id": 1,
            "tokens": 4,
            "rows": found[0].tolist(),
        }
    )
    return cases


def main():
    golden_io.check_versions()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    golden_io.write(
        "hf_bias.json",
        "make_hf_bias.py",
        t5=t5(),
        alibi=alibi(),
        sinusoidal=sinusoidal(),
        rows=rows(),
    )


if __name__ == "__main__":
    main()
