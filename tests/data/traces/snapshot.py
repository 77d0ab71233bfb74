"""Writes snapshot_two.pickle.gz, snapshot_one.pickle and the same as JSON, packed: the form of
torch.cuda.memory._snapshot(), with made sizes. Prints the peak of allocated and of reserved bytes of the fullest
device, and what it held at its peak by where it was allocated, for the test beside it.

Form: PyTorch torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot. Frames are shared between events, as there.
"""
import gzip
import json
import pickle
import random

FRAMES = {
    "loading": [{"name": "to", "filename": "torch/nn/modules/module.py", "line": 1}],
    "forward": [{"name": "linear", "filename": "torch/nn/functional.py", "line": 2},
                {"name": "forward", "filename": "model.py", "line": 3}],
    "backward": [{"name": "_engine_run_backward", "filename": "torch/autograd/graph.py", "line": 4},
                 {"name": "backward", "filename": "torch/_tensor.py", "line": 5}],
    "optimizer": [{"name": "_init_group", "filename": "torch/optim/adam.py", "line": 6},
                  {"name": "step", "filename": "torch/optim/adam.py", "line": 7}],
}


def history(rng, count):
    """Events of one device, its peaks and what is held at the peak."""
    events, alive, held, most, at_peak = [], [], 0, 0, {}
    reserved = 1 << 30
    events.append({"action": "segment_alloc", "addr": 0x7F0000000000, "size": reserved, "stream": 0, "frames": []})
    address = 0x7F0000000000
    for at in range(count):
        if alive and rng.random() < 0.45:
            addr, size, place = alive.pop(rng.randrange(len(alive)))
            for action in ("free_requested", "free_completed"):
                events.append({"action": action, "addr": addr, "size": size, "stream": 0, "frames": FRAMES[place]})
            held -= size
        else:
            place = rng.choice(list(FRAMES))
            size = 512 * rng.randrange(1, 4000)
            events.append({"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": FRAMES[place],
                           "time_us": 1_700_000_000_000_000 + at, "compile_context": None})
            alive.append((address, size, place))
            address += size
            held += size
            if held >= most:
                most = held
                at_peak = {name: sum(one[1] for one in alive if one[2] == name) for name in FRAMES}
    blocks = [{"size": size, "state": "active_allocated", "frames": FRAMES[place]} for _, size, place in alive]
    segment = {"device": 0, "address": 0x7F0000000000, "total_size": reserved, "allocated_size": held,
               "segment_pool_id": (0, 0), "is_expandable": False, "blocks": blocks}
    return events, segment, most, reserved, at_peak


def snapshot(seed, counts):
    rng = random.Random(seed)
    traces, segments, fullest = [], [], (0, 0, {})
    for device, count in enumerate(counts):
        events, segment, most, reserved, at_peak = history(rng, count)
        traces.append(events)
        segments.append({**segment, "device": device})
        fullest = max(fullest, (most, reserved, at_peak), key=lambda one: one[0])
    return {"segments": segments, "device_traces": traces, "allocator_settings": {"max_split_size": -1},
            "external_annotations": []}, fullest


for name, seed, counts, protocol in (("two", 1, (1400, 0, 300), 4), ("one", 2, (40,), 2)):
    value, (most, reserved, at_peak) = snapshot(seed, counts)
    pickled, packed = pickle.dumps(value, protocol), gzip.compress(json.dumps(value).encode(), mtime=0)
    files = {"one": ("pickle", pickled), "two": ("pickle.gz", gzip.compress(pickled, mtime=0))}
    for ending, text in (files[name], ("json.gz", packed)):
        with open(f"snapshot_{name}.{ending}", "wb") as file:
            file.write(text)
    print(name, most, reserved, at_peak)
