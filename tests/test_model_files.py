import json
import pickle
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

import brgcl
from brgcl import BRGCL, BRGCLConfig
from brgcl.atomic_files import read_tensors, write_tensors
from brgcl.errors import InputError
from brgcl.model_files import LEARNED

QUICK = {"epochs": 3, "hidden": 16, "dim": 8, "warmup_epochs": 1}
PLAIN = QUICK | {"reported": "prototypes"}  # nothing looks for clusters after training


def bare(data: Data, **changes) -> Data:
    """The same attributes and edges, nothing else."""
    return Data(**({"x": data.x, "edge_index": data.edge_index} | changes))


@pytest.fixture(scope="module")
def data() -> Data:
    return brgcl.make_graph(120, num_classes=3, num_features=40, labels_per_class=8)


@pytest.fixture(scope="module")
def model(data) -> BRGCL:
    return BRGCL(**QUICK).fit(data)


@pytest.fixture
def saved(model, tmp_path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder: Path, change) -> None:
    """Write the stored model again after `change(settings, tensors)`."""
    file = folder / "model.safetensors"
    tensors, settings = read_tensors(file)
    change(settings, tensors)
    write_tensors(file, tensors, settings)


def test_attributes_have_to_be_called_as_in_training(data, tmp_path):
    named = data.clone()
    named.feature_names = [f"a{i}" for i in range(40)]
    BRGCL(**QUICK).fit(named).save(tmp_path / "model")
    loaded = BRGCL.load(tmp_path / "model")
    assert loaded.feature_names_in_ == named.feature_names
    z = loaded.transform(named)
    assert torch.equal(loaded.transform(bare(data)), z)  # a matrix has no names
    named.feature_names = [*named.feature_names[:38], "a39", "a38"]
    with pytest.raises(InputError, match=r"attribute 39 is 'a39' but .* fitted with 'a38' there"):
        loaded.transform(named)
    named.feature_names = ["a0"]
    with pytest.raises(InputError, match="feature_names has 1 entries but the graph has 40"):
        loaded.transform(named)
    rewrite(tmp_path / "model", lambda settings, _: settings.update(feature_names=["a0"]))
    with pytest.raises(InputError, match=r"is damaged \(1 names of 40 attributes\)"):
        BRGCL.load(tmp_path / "model")


def test_a_loaded_model_transforms_bit_for_bit(model, saved, data):
    loaded = BRGCL.load(saved)
    assert torch.equal(loaded.transform(data), model.transform(data))
    for name in LEARNED:
        assert torch.equal(getattr(loaded, name), getattr(model, name)), name
    assert loaded.config == model.config
    assert loaded.history_ == model.history_
    assert loaded.num_prototypes_ == model.num_prototypes_
    assert loaded.num_prototypes_capped_ == model.num_prototypes_capped_
    assert torch.equal(loaded.pseudo_labels_, model.pseudo_labels_)
    assert str(loaded.clustering_) == str(model.clustering_)
    assert loaded.clustering_.numbers == model.clustering_.numbers
    assert torch.equal(loaded.cluster(3), model.cluster(3))


@pytest.mark.parametrize(
    "settings",
    [
        {"num_layers": 1},
        {"num_layers": 3, "activation": "prelu"},
        {"patience": 1},
        {"encoder": "sage", "num_layers": 1},
        {"encoder": "gat", "num_layers": 3},
        {"encoder": "gin"},
    ],
)
def test_every_kind_of_encoder_survives_the_disk(data, tmp_path, settings):
    model = BRGCL(**(PLAIN | settings)).fit(data)
    model.save(tmp_path)
    assert torch.equal(BRGCL.load(tmp_path).transform(data), model.representations_)


def test_standardized_attributes_survive_the_disk(data, tmp_path):
    x = torch.randn(120, 5, generator=torch.Generator().manual_seed(0))
    model = BRGCL(**PLAIN).fit(bare(data, x=x))
    model.save(tmp_path)
    part = bare(data, x=x).subgraph(torch.arange(30))
    assert torch.equal(BRGCL.load(tmp_path).transform(part), model.transform(part))


def test_the_folder_holds_safetensors_and_json_and_no_pickle(model, data, tmp_path, monkeypatch):
    def forbidden(*arguments, **options):
        raise AssertionError("a pickle was written or read")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    model.save(tmp_path)
    assert torch.equal(BRGCL.load(tmp_path).transform(data), model.representations_)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    stored = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert BRGCLConfig(**stored) == BRGCLConfig(**QUICK)


@pytest.mark.parametrize("path", ["file", "file/folder"])
def test_a_file_in_the_way_of_a_saved_model_is_named(model, tmp_path, path):
    """Defect 29: `save(file)` is an input error, and the file stays."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"file.*' is a file, not a folder; give another path"):
        model.save(tmp_path / path)
    assert (tmp_path / "file").read_text() == "mine"


def test_settings_of_another_program_are_not_replaced(model, tmp_path):
    (tmp_path / "config.json").write_text("mine")
    with pytest.raises(InputError, match=r"has a config.json that is of no model"):
        model.save(tmp_path)
    assert (tmp_path / "config.json").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1
    model.save(tmp_path / "model")
    model.save(tmp_path / "model")


def test_a_model_saved_with_a_setting_that_is_gone_is_loaded(saved, model, data):
    """Defect 31b: `products` is gone, since not every processor that offers it allows it."""
    rewrite(saved, lambda settings, tensors: settings["config"].update(products="bfloat16"))
    assert torch.equal(BRGCL.load(saved).transform(data), model.representations_)
    with pytest.raises(TypeError, match="products"):
        BRGCL(products="bfloat16")


def test_saving_again_replaces_the_model(saved, data):
    other = BRGCL(**(PLAIN | {"dim": 4})).fit(data)
    other.save(saved)
    assert torch.equal(BRGCL.load(saved).transform(data), other.representations_)


def test_a_model_trained_on_a_gpu_is_loaded_where_there_is_none(saved, model, data, monkeypatch):
    rewrite(saved, lambda settings, tensors: settings["config"].update(device="cuda"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="device must be 'cpu' on this machine, got 'cuda'"):
        BRGCL.load(saved)
    loaded = BRGCL.load(saved, device="cpu")
    assert torch.equal(loaded.transform(data), model.representations_)
    assert loaded.device == "cpu"


def test_load_says_that_there_is_no_model(tmp_path):
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=r"no model in .*model\.safetensors' is not there"):
            BRGCL.load(path)


def test_load_refuses_a_truncated_file(saved):
    file = saved / "model.safetensors"
    whole = file.read_bytes()
    for length in (0, 5, 200, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"is damaged .*; save the model again"):
            BRGCL.load(saved)


def test_load_refuses_a_pickle(saved):
    torch.save({"weights": torch.ones(3)}, saved / "model.safetensors")
    with pytest.raises(InputError, match="is damaged"):
        BRGCL.load(saved)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"brgcl": '{"format": "other-2"}'}])
def test_load_refuses_a_file_of_another_program(saved, metadata):
    safetensors.torch.save_file({"w": torch.ones(2)}, saved / "model.safetensors", metadata)
    with pytest.raises(InputError, match="is not a brgcl model of this version"):
        BRGCL.load(saved)


def test_load_refuses_settings_that_are_no_json(saved):
    metadata = {"brgcl": '{"format": "brgcl-mod'}
    safetensors.torch.save_file({"w": torch.ones(2)}, saved / "model.safetensors", metadata)
    with pytest.raises(InputError, match="is damaged"):
        BRGCL.load(saved)


DAMAGES = {
    "a tensor is missing": lambda settings, tensors: tensors.pop("encoder.weights.0"),
    "a result is missing": lambda settings, tensors: tensors.pop("prototypes_"),
    "another width": lambda settings, tensors: settings["config"].update(hidden=17),
    "no settings": lambda settings, tensors: settings.pop("config"),
    "an odd epoch": lambda settings, tensors: settings["history"].append({"epoch": 4}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_load_refuses_a_file_whose_parts_do_not_fit(saved, damage):
    rewrite(saved, DAMAGES[damage])
    with pytest.raises(InputError, match="is damaged") as caught:
        BRGCL.load(saved)
    assert "\n" not in str(caught.value)


def test_load_refuses_unknown_and_wrong_settings(saved):
    rewrite(saved, lambda settings, tensors: settings["config"].update(taus=1))
    with pytest.raises(InputError, match=r"unknown setting 'taus'; did you mean 'tau'\?"):
        BRGCL.load(saved)
    rewrite(saved, lambda settings, tensors: settings.update(config={"tau": -1}))
    with pytest.raises(InputError, match="tau must be a number above 0"):
        BRGCL.load(saved)


# A module of the user


def module(hidden=16):
    torch.manual_seed(0)
    return GraphSAGE(40, hidden, num_layers=2, out_channels=8, dropout=0.3)


@pytest.fixture
def own(data, tmp_path) -> BRGCL:
    model = BRGCL(**PLAIN, encoder=module()).fit(data)
    model.save(tmp_path / "own")
    return model


def test_of_a_module_the_weights_are_stored_and_the_code_is_asked_for(own, data, tmp_path):
    with pytest.raises(InputError, match=r"trained with an encoder of the user, GraphSAGE, whose"):
        BRGCL.load(tmp_path / "own")
    given = module()
    for weight in given.parameters():
        nn.init.zeros_(weight)
    loaded = BRGCL.load(tmp_path / "own", encoder=given)
    assert torch.equal(loaded.transform(data), own.representations_)
    assert loaded.encoder is given
    assert not any(bool(weight.any()) for weight in given.parameters())  # a copy has the weights


def test_saving_a_module_says_what_is_not_in_the_file(own, tmp_path, caplog):
    caplog.set_level("INFO", logger="brgcl")
    own.save(tmp_path / "again")
    assert "the weights of GraphSAGE are saved but not its code" in caplog.text
    assert {file.suffix for file in (tmp_path / "again").iterdir()} == {".safetensors", ".json"}


def test_a_module_of_another_shape_is_refused(own, saved, tmp_path):
    with pytest.raises(InputError, match="the module does not fit the weights of GraphSAGE"):
        BRGCL.load(tmp_path / "own", encoder=module(hidden=5))
    with pytest.raises(InputError, match="the model has the encoder 'gcn'; give no other"):
        BRGCL.load(saved, encoder=module())


class Tied(nn.Module):
    """One linear map under two names."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(40, 8)
        self.second = self.first

    def forward(self, x, edge_index):
        return self.first(x) + self.second(x)


def test_a_module_whose_parts_share_weights_is_stored(data, tmp_path):
    model = BRGCL(**PLAIN, encoder=Tied()).fit(data)
    model.save(tmp_path)
    assert torch.equal(BRGCL.load(tmp_path, encoder=Tied()).transform(data), model.transform(data))
