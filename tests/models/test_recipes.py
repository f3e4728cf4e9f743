"""Every recipe runs on a tiny random model of its architecture, and feeds it what the model's card says."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError
from trueval.models import Embedder, Reranker
from trueval.models.loading import DTYPES, load_embedder, load_model, load_reranker
from trueval.models.model_location import find_model
from trueval.models.recipes import RECIPES, find_recipe
from trueval.numerics import storage_dtype
from trueval.scoring import maxsim, product, sigmoid, softmax

RERANKERS = [name for name, recipe in RECIPES.items() if recipe.kind in ("yes-no", "classifier", "cross-encoder")]
POOLED = [name for name, recipe in RECIPES.items() if recipe.kind in ("embedder", "sentence-transformer")]


def test_every_recipe_has_a_tiny_model_and_a_source(tiny):
    assert set(tiny.BUILDERS) == set(RECIPES)
    assert all(recipe.source for recipe in RECIPES.values())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RERANKERS)
def test_rerankers_return_raw_logits_in_their_dtype(folder_of, tiny, name, dtype):
    model = load_reranker(f"{name}:{folder_of(name)}", dtype=dtype, device="cpu")
    assert isinstance(model, Reranker)
    logits = model.logits(tiny.QUERY, tiny.DOCUMENTS)
    labels = {"softmax": 2, "sigmoid": 1}[model.scoring]
    assert logits.shape == (3, labels)
    assert logits.dtype == storage_dtype(dtype)
    assert len(np.unique(logits.astype(np.float32), axis=0)) == 3
    score = softmax if labels == 2 else sigmoid
    assert np.array_equal(model.scores(tiny.QUERY, tiny.DOCUMENTS), score(logits, "float32"))
    assert model.logits(tiny.QUERY, []).shape == (0, labels)
    settings = model.settings()
    assert (settings["dtype"], settings["batch_size"], settings["recipe"]) == (dtype, 32, name)


@pytest.mark.parametrize("name", RERANKERS)
def test_padding_and_order_do_not_change_logits_beyond_rounding(folder_of, tiny, name):
    model = load_reranker(f"{name}:{folder_of(name)}", dtype="float32", device="cpu", batch_size=2)
    together = model.logits(tiny.QUERY, tiny.DOCUMENTS)
    alone = np.concatenate([model.logits(tiny.QUERY, [document]) for document in tiny.DOCUMENTS])
    reversed_ = model.logits(tiny.QUERY, tiny.DOCUMENTS[::-1])[::-1]
    assert np.allclose(together, alone, atol=2e-5)
    assert np.allclose(together, reversed_, atol=2e-5)


@pytest.mark.parametrize("name", RERANKERS)
def test_tokens_of_pairs_are_those_that_the_network_is_fed(folder_of, tiny, name):
    model = load_reranker(f"{name}:{folder_of(name)}", dtype="float32", device="cpu", max_length=230)
    fed = []

    def watch(_, given, named):
        fed.extend((given[0] if given else named)["attention_mask"].sum(dim=1).tolist())

    hook = (model.model[0] if model.recipe.kind == "cross-encoder" else model.model).register_forward_pre_hook(
        watch, with_kwargs=True
    )
    long = "heat moves from the hot to the cold part of a flow, " * 20
    pairs = [(tiny.QUERY, document) for document in [*tiny.DOCUMENTS, "", long]]
    found = model.pair_tokens(pairs)
    assert not fed  # nothing is scored
    for pair in pairs:
        model.pair_logits([pair])
    hook.remove()
    assert found.read.tolist() == fed
    assert found.whole[:4].tolist() == fed[:4]
    assert found.read[4] == 230 < found.whole[4]
    assert model.pair_tokens([]).read.shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POOLED)
def test_embedders_return_unit_vectors_in_their_dtype(folder_of, tiny, name, dtype):
    model = load_embedder(f"{name}:{folder_of(name)}", dtype=dtype, device="cpu")
    assert isinstance(model, Embedder)
    documents = model.embed_documents(tiny.DOCUMENTS)
    queries = model.embed_queries([tiny.QUERY])
    assert documents.shape == (3, 32)
    assert model.dimension == 32
    assert documents.dtype == queries.dtype == storage_dtype(dtype)
    lengths = np.linalg.norm(documents.astype(np.float64), axis=1)
    assert np.abs(lengths - 1).max() < {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    scores = product(queries, documents, "float32")
    assert scores.shape == (1, 3)
    assert len(np.unique(scores)) == 3
    assert model.embed_documents([]).shape[0] == 0


@pytest.mark.parametrize("name", POOLED)
def test_padding_and_order_do_not_change_embeddings_beyond_rounding(folder_of, tiny, name):
    model = load_embedder(f"{name}:{folder_of(name)}", dtype="float32", device="cpu", batch_size=2)
    together = model.embed_documents(tiny.DOCUMENTS)
    alone = np.concatenate([model.embed_documents([document]) for document in tiny.DOCUMENTS])
    assert np.allclose(together, alone, atol=2e-5)
    assert np.allclose(together, model.embed_documents(tiny.DOCUMENTS[::-1])[::-1], atol=2e-5)


def test_half_a_character_is_read_as_a_question_mark(folder_of):
    """Tokenizers refuse a lone surrogate, which JSON can hold."""
    model = load_embedder(f"sentence-transformer:{folder_of('all-MiniLM-L6-v2')}", dtype="float32")
    halves, marks = (model.embed_queries([f"wing {letter}"]) for letter in ("\ud800", "?"))
    assert np.array_equal(halves, marks)


def test_late_interaction_gives_a_vector_per_token(folder_of, tiny):
    model = load_embedder(f"late-interaction:{folder_of('late-interaction')}", dtype="bfloat16", device="cpu")
    documents = model.embed_documents([*tiny.DOCUMENTS, ""])
    counts = [len(model.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in tiny.DOCUMENTS]
    assert [len(tokens) for tokens in documents] == [*counts, 2]
    assert all(tokens.dtype == storage_dtype("bfloat16") for tokens in documents)
    scores = maxsim(model.embed_queries([tiny.QUERY])[0], documents, "float32")
    assert scores.shape == (4,)
    assert len(np.unique(scores)) == 4
    itself = maxsim(documents[1], documents, "float32")
    assert itself.argmax() == 1
    assert model.embed_documents([]) == []


@pytest.mark.parametrize("recipe", ["multi-vector", "sparse-encoder"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_models_of_sentence_transformers_6_are_theirs(folder_of, tiny, recipe, dtype):
    """Outputs bit for bit, with padding in the batch; scores as by their similarity, which upcasts."""
    import sentence_transformers
    import torch

    place = str(folder_of(recipe))
    kind = {"multi-vector": "MultiVectorEncoder", "sparse-encoder": "SparseEncoder"}[recipe]
    theirs = getattr(sentence_transformers, kind)(place, device="cpu", model_kwargs={"dtype": getattr(torch, dtype)})
    model = load_embedder(f"{recipe}:{place}", dtype=dtype, device="cpu")
    queries, documents = theirs.encode_query([tiny.QUERY]), theirs.encode_document(tiny.DOCUMENTS)
    found = model.embed_documents(tiny.DOCUMENTS)
    for own, other in zip(found, documents, strict=True):
        assert own.dtype == storage_dtype(dtype)
        dense = other.to_dense() if other.is_sparse else other
        assert np.array_equal(own.astype(np.float32), dense.float().numpy())
    scores = model.scores(tiny.QUERY, tiny.DOCUMENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sparse products are new in torch
        expected = theirs.similarity(queries, documents)[0].float().numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-5 if dtype == "float32" else 2e-2)
    assert (scores.argsort() == expected.argsort()).all()


# What a model is fed, read from the tensors it gets.


def fed(model, call):
    """The texts, decoded, that `call` feeds to the model of `model`."""
    seen = []
    network = model.model
    hook = network.register_forward_pre_hook(lambda _, __, inputs: seen.append(inputs), with_kwargs=True)
    call()
    hook.remove()
    ids, mask = seen[0]["input_ids"], seen[0]["attention_mask"].bool()
    return [model.tokenizer.decode(row[kept]) for row, kept in zip(ids, mask, strict=True)], mask


def test_qwen_reranker_is_fed_the_prompt_of_its_card(folder_of, tiny):
    """Qwen3-Reranker-0.6B, model card, Transformers Usage: prefix, format_instruction, suffix; padding on the left."""
    model = load_reranker(f"Qwen3-Reranker-0.6B:{folder_of('Qwen3-Reranker-0.6B')}", device="cpu")
    texts, mask = fed(model, lambda: model.logits(tiny.QUERY, tiny.DOCUMENTS[:2]))
    assert texts[1] == (
        "<|im_start|>system\n"
        "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
        'Note that the answer can only be "yes" or "no".<|im_end|>\n'
        "<|im_start|>user\n"
        "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
        "<Query>: what keeps a wing in the air?\n"
        "<Document>: lift<|im_end|>\n"
        "<|im_start|>assistant\n"
        "<think>\n\n</think>\n\n"
    )
    assert mask[:, -1].all()
    assert not mask[1, 0]


def test_qwen_reranker_reads_no_and_yes_at_the_last_position(folder_of, tiny):
    torch = pytest.importorskip("torch")
    model = load_reranker(f"Qwen3-Reranker-0.6B:{folder_of('Qwen3-Reranker-0.6B')}", dtype="float32", device="cpu")
    texts, _ = fed(model, lambda: model.logits(tiny.QUERY, tiny.DOCUMENTS[:1]))
    ids = torch.tensor([model.tokenizer.encode(texts[0], add_special_tokens=False)])
    with torch.inference_mode():
        last = model.model(input_ids=ids).logits[0, -1]
    expected = [last[model.tokenizer.convert_tokens_to_ids(answer)].item() for answer in ("no", "yes")]
    assert np.allclose(model.logits(tiny.QUERY, tiny.DOCUMENTS[:1])[0], expected, atol=2e-5)


def test_qwen_reranker_truncates_the_pair_and_never_the_prompt(folder_of, tiny):
    place = f"Qwen3-Reranker-0.6B:{folder_of('Qwen3-Reranker-0.6B')}"
    whole = load_reranker(place, device="cpu")
    room = len(whole.prefix) + len(whole.suffix) + 60
    model = load_reranker(place, device="cpu", max_length=room, instruction="Find wings")
    texts, mask = fed(model, lambda: model.logits(tiny.QUERY, ["wing " * 300]))
    assert int(mask.sum()) == room
    assert texts[0].startswith(model.recipe.prefix + "<Instruct>: Find wings\n<Query>: what")
    assert texts[0].endswith(model.recipe.suffix)


def test_qwen_embedder_instructs_queries_alone_and_ends_every_text(folder_of, tiny):
    """Qwen3-Embedding-0.6B, model card, get_detailed_instruct and last_token_pool."""
    torch = pytest.importorskip("torch")
    model = load_embedder(f"Qwen3-Embedding-0.6B:{folder_of('Qwen3-Embedding-0.6B')}", dtype="float32", device="cpu")
    task = "Given a web search query, retrieve relevant passages that answer the query"
    texts, mask = fed(model, lambda: model.embed_queries([tiny.QUERY, "lift"]))
    assert texts[0] == f"Instruct: {task}\nQuery:{tiny.QUERY}<|endoftext|>"
    assert mask[:, -1].all()
    documents, _ = fed(model, lambda: model.embed_documents(tiny.DOCUMENTS[:1]))
    assert documents == ["lift<|endoftext|>"]
    with torch.inference_mode():
        ids = torch.tensor([model.tokenizer("lift")["input_ids"]])
        last = model.model(input_ids=ids).last_hidden_state[0, -1]
    assert np.allclose(model.embed_documents(["lift"])[0], torch.nn.functional.normalize(last, dim=0), atol=1e-6)


def test_qwen_embedder_ends_texts_itself_where_the_tokenizer_does_not(tiny, tmp_path):
    folder = tiny.qwen(tmp_path, causal=False)
    tiny.qwen_tokenizer(ends=False).save_pretrained(folder)
    model = load_embedder(f"Qwen3-Embedding-0.6B:{folder}", device="cpu", max_length=8)
    texts, mask = fed(model, lambda: model.embed_documents(["wing " * 50]))
    assert texts[0].endswith("<|endoftext|>")
    assert mask.shape == (1, 8)


def test_e5_is_fed_its_prefixes_and_averages_what_is_not_padding(folder_of, tiny):
    """multilingual-e5-large, model card: each input starts with "query: " or "passage: "; average_pool; normalize."""
    torch = pytest.importorskip("torch")
    model = load_embedder(f"multilingual-e5-large:{folder_of('multilingual-e5-large')}", dtype="float32", device="cpu")
    queries, _ = fed(model, lambda: model.embed_queries(["lift"]))
    documents, _ = fed(model, lambda: model.embed_documents(tiny.DOCUMENTS))
    assert queries == ["<s>query: lift</s>"]
    assert documents[2] == "<s>passage: lift</s>"
    with torch.inference_mode():
        ids = torch.tensor([model.tokenizer("passage: lift")["input_ids"]])
        mean = model.model(input_ids=ids).last_hidden_state[0].mean(dim=0)
    assert np.allclose(model.embed_documents(tiny.DOCUMENTS)[0], torch.nn.functional.normalize(mean, dim=0), atol=2e-5)


@pytest.mark.parametrize(("name", "longest"), [("bge-reranker-v2-m3", 512), ("gte-multilingual-reranker-base", 512)])
def test_classifiers_are_fed_pairs_cut_at_the_length_of_their_card(folder_of, tiny, name, longest):
    model = load_reranker(f"{name}:{folder_of(name)}", device="cpu")
    texts, _ = fed(model, lambda: model.logits("air", ["lift"]))
    assert texts == ["<s>air</s></s>lift</s>"]
    _, mask = fed(model, lambda: model.logits(tiny.QUERY, ["wing " * 2000]))
    assert mask.shape == (1, longest)


def test_prompts_take_texts_with_braces_as_they_are(folder_of):
    model = load_embedder(f"multilingual-e5-large:{folder_of('multilingual-e5-large')}", device="cpu")
    queries, _ = fed(model, lambda: model.embed_queries(["{query} {0}"]))
    assert queries == ["<s>query: {query} {0}</s>"]


def test_a_sentence_transformer_keeps_its_own_prompts(folder_of, tiny):
    library = pytest.importorskip("sentence_transformers")
    folder = folder_of("sentence-transformer")
    own = library.SentenceTransformer(str(folder), device="cpu")
    model = load_embedder(str(folder), dtype="float32", device="cpu")
    assert np.allclose(model.embed_queries(["lift"]), own.encode("query: lift", normalize_embeddings=True), atol=1e-6)
    expected = own.encode(["passage: lift"], normalize_embeddings=True)
    assert np.allclose(model.embed_documents(["lift"]), expected, atol=1e-6)


# Names and places.


def test_recipes_are_found_by_name_and_hub_id_in_any_case():
    assert find_recipe("BGE-Reranker-v2-M3") is RECIPES["bge-reranker-v2-m3"]
    assert find_recipe("intfloat/multilingual-e5-large").query == "query: {query}"


def test_an_unknown_recipe_offers_the_nearest():
    with pytest.raises(
        InputError, match=r"no recipe for the model 'Qwen3-Reranker'.*Did you mean 'Qwen3-Reranker-0.6B'"
    ):
        load_model("Qwen3-Reranker")
    with pytest.raises(InputError, match='as in "cross-encoder:some/model"'):
        load_model("some/model")
    with pytest.raises(InputError, match="fits many models"):
        load_model("cross-encoder")


def test_folders_say_their_recipe(folder_of):
    assert find_model(str(folder_of("cross-encoder"))).recipe is RECIPES["cross-encoder"]
    assert find_model(str(folder_of("sentence-transformer"))).recipe is RECIPES["sentence-transformer"]
    assert find_model(str(folder_of("multilingual-e5-large"))).recipe is RECIPES["sentence-transformer"]
    with pytest.raises(InputError, match="Qwen3ForCausalLM does not say how the model scores"):
        find_model(str(folder_of("Qwen3-Reranker-0.6B")))


def test_a_folder_without_files_is_refused_and_the_files_are_named(folder_of, tmp_path):
    with pytest.raises(InputError, match=r"no config.json and no model.safetensors and no tokenizer.json"):
        load_model(str(tmp_path))
    source = folder_of("cross-encoder")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    with pytest.raises(InputError, match=r"the model folder has no tokenizer\.json"):
        load_model(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="cannot load it"):
        load_model(str(tmp_path), device="cpu")
    with pytest.raises(InputError, match="must be a folder"):
        load_model(str(tmp_path / "config.json"))


def test_a_wrong_number_of_labels_is_refused(tiny, tmp_path, folder_of):
    with pytest.raises(InputError, match=r"takes sigmoid of 1 label\(s\). The model has 2"):
        load_model(f"bge-reranker-v2-m3:{folder_of('cross-encoder')}", device="cpu")
    three = tiny.bert(tmp_path, labels=3)
    with pytest.raises(InputError, match="The model has 3"):
        load_model(str(three), device="cpu")


def test_a_classifier_without_trained_head_is_refused(folder_of):
    folder = folder_of("multilingual-e5-large")
    with pytest.raises(InputError, match="hold no weights for classifier"):
        load_model(f"bge-reranker-v2-m3:{folder}", device="cpu")
    with pytest.raises(InputError, match="hold a XLMRobertaModel, which has no trained head"):
        load_model(f"cross-encoder:{folder}", device="cpu")


def test_the_role_must_fit(folder_of):
    with pytest.raises(InputError, match="is an embedder"):
        load_reranker(str(folder_of("sentence-transformer")), device="cpu")
    with pytest.raises(InputError, match="is a reranker"):
        load_embedder(str(folder_of("cross-encoder")), device="cpu")


def test_an_unknown_dtype_is_refused(folder_of):
    with pytest.raises(PolicyError, match=r"one of float32, bfloat16, float16. Got 'int8'"):
        load_model(str(folder_of("cross-encoder")), dtype="int8")


def test_answers_that_the_tokenizer_lacks_are_refused(tiny, folder_of, tmp_path):
    folder = tiny.save(tmp_path, *_causal_with_bert_tokenizer(tiny))
    with pytest.raises(InputError, match="no token for one of"):
        load_model(f"Qwen3-Reranker-0.6B:{folder}", device="cpu")


def _causal_with_bert_tokenizer(tiny):
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "[PAD]": 1, "maybe": 2}, unk_token="[UNK]"))
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]")
    config = transformers.Qwen3Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=8, vocab_size=3
    )
    return transformers.Qwen3ForCausalLM(config), tokens


def test_a_recipe_takes_the_model_of_another_recipe_where_that_one_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("trueval.models.model_location.minilm_folder", lambda: tmp_path / "installed")
    found = find_model("late-interaction:all-MiniLM-L6-v2")
    assert (found.path, found.recipe.name) == (str(tmp_path / "installed"), "late-interaction")
    assert find_model("all-MiniLM-L6-v2").path == find_model("sentence-transformer:ALL-minilm-L6-v2").path == found.path
    assert find_model("cross-encoder:bge-reranker-v2-m3").path == "BAAI/bge-reranker-v2-m3"
    assert find_model("cross-encoder:somebody/model").path == "somebody/model"
    assert find_model("all-MiniLM-L6-v2", "late-interaction").path == found.path
