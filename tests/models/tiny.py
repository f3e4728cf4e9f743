"""Tiny random models of the architectures that recipes name, saved to disk, and tokenizers made on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "what keeps a wing in the air?"
DOCUMENTS = [
    "lift",
    "the wing pushes air down and the air pushes the wing up",
    "yes and no: heat moves from the hot to the cold part of a flow, slowly, and never the other way round",
]
_CORPUS = [
    QUERY,
    *DOCUMENTS,
    "yes",
    "no",
    "yes",
    "no",
    "query: passage: Instruct: Query: Document: system user assistant",
]
_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def tokenizer(specials: list[str], *, pair: str = "", single: str = "", **names: str):
    """A byte-level tokenizer, trained on a few lines; templates as the tokenizers library writes them."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=specials,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(_CORPUS * 3, trainer)
    if single:
        model.post_processor = tokenizers.processors.TemplateProcessing(
            single=single, pair=pair, special_tokens=[(name, model.token_to_id(name)) for name in specials]
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=model, model_max_length=512, **names)


def bert_tokenizer():
    return tokenizer(
        ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
    )


def roberta_tokenizer():
    return tokenizer(
        ["<s>", "<pad>", "</s>", "<unk>"],
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
    )


def qwen_tokenizer(*, ends: bool):
    """The one of the reranker adds nothing to a text, the one of the embedder ends it."""
    end = "$A <|endoftext|>" if ends else ""
    return tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        single=end,
        pair=end and "$A $B <|endoftext|>",
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
    )


def save(folder: Path, model, tokens) -> Path:
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def _seeded(build, config):
    torch = pytest.importorskip("torch")
    torch.manual_seed(11)
    model = build(config).eval()
    for name, weight in model.named_parameters():
        if weight.dim() > 1:  # larger than the usual 0.02, so that texts differ by more than rounding
            torch.nn.init.normal_(weight, std=0.3 if "embed" in name else 0.15)
    return model


def qwen(folder: Path, *, causal: bool) -> Path:
    transformers = pytest.importorskip("transformers")
    tokens = qwen_tokenizer(ends=not causal)
    config = transformers.Qwen3Config(
        **_SIZES, num_key_value_heads=2, head_dim=8, vocab_size=len(tokens), max_position_embeddings=1024
    )
    build = transformers.Qwen3ForCausalLM if causal else transformers.Qwen3Model
    return save(folder, _seeded(build, config), tokens)


def roberta(folder: Path, *, labels: int | None) -> Path:
    transformers = pytest.importorskip("transformers")
    tokens = roberta_tokenizer()
    options = {} if labels is None else {"num_labels": labels}
    config = transformers.XLMRobertaConfig(
        **_SIZES, vocab_size=len(tokens), max_position_embeddings=514, pad_token_id=1, type_vocab_size=1, **options
    )
    build = transformers.XLMRobertaModel if labels is None else transformers.XLMRobertaForSequenceClassification
    return save(folder, _seeded(build, config), tokens)


def gte(folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    if not hasattr(transformers, "GteConfig"):
        pytest.skip("this version of transformers needs the code of the model's authors for the architecture of gte")
    tokens = roberta_tokenizer()
    config = transformers.GteConfig(**_SIZES, vocab_size=len(tokens), max_position_embeddings=512, num_labels=1)
    return save(folder, _seeded(transformers.GteForSequenceClassification, config), tokens)


def bert(folder: Path, *, labels: int | None = None) -> Path:
    transformers = pytest.importorskip("transformers")
    tokens = bert_tokenizer()
    options = {} if labels is None else {"num_labels": labels}
    config = transformers.BertConfig(**_SIZES, vocab_size=len(tokens), max_position_embeddings=512, **options)
    build = transformers.BertModel if labels is None else transformers.BertForSequenceClassification
    return save(folder, _seeded(build, config), tokens)


def sentence_transformer(folder: Path) -> Path:
    library = pytest.importorskip("sentence_transformers")
    bert(folder / "base")
    prompts = {"query": "query: ", "document": "passage: "}
    model = library.SentenceTransformer(str(folder / "base"), prompts=prompts, device="cpu")
    model.save_pretrained(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def sparse_encoder(folder: Path) -> Path:
    """A tiny SPLADE: a masked language model whose largest logit of each word is its weight."""
    library, transformers = pytest.importorskip("sentence_transformers"), pytest.importorskip("transformers")
    tokens = bert_tokenizer()
    tokens.add_special_tokens({"mask_token": "[MASK]"})
    config = transformers.BertConfig(**_SIZES, vocab_size=len(tokens), max_position_embeddings=512)
    save(folder / "base", _seeded(transformers.BertForMaskedLM, config), tokens)
    model = library.SparseEncoder(str(folder / "base"), device="cpu")
    model.save_pretrained(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


def multi_vector(folder: Path) -> Path:
    library = pytest.importorskip("sentence_transformers")
    bert(folder / "base")
    model = library.MultiVectorEncoder(str(folder / "base"), device="cpu")
    model.save_pretrained(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


BUILDERS = {
    "Qwen3-Reranker-0.6B": lambda folder: qwen(folder, causal=True),
    "bge-reranker-v2-m3": lambda folder: roberta(folder, labels=1),
    "gte-multilingual-reranker-base": gte,
    "Qwen3-Embedding-0.6B": lambda folder: qwen(folder, causal=False),
    "multilingual-e5-large": lambda folder: roberta(folder, labels=None),
    "all-MiniLM-L6-v2": bert,
    "cross-encoder": lambda folder: bert(folder, labels=2),
    "sentence-transformer": sentence_transformer,
    "late-interaction": bert,
    "sparse-encoder": sparse_encoder,
    "multi-vector": multi_vector,
}
"""How to make a tiny model for every recipe."""
