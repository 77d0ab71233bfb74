"""The calculator: the native program's source as a WASI module, asked through its standard input and output."""
import json
import threading
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, WasiConfig, WasmtimeError

from ._answer import Answer


@lru_cache(maxsize=1)
def _compiled():
    config = Config()
    try:
        # Kept in the user's cache folder, so that the next process has it at once.
        config.cache = True
    except WasmtimeError:
        pass
    engine = Engine(config)
    linker = Linker(engine)
    linker.define_wasi()
    return engine, linker, Module.from_file(engine, str(Path(__file__).with_name("calculator.wasm")))


_compiling = threading.Lock()


def answers(verb, lines):
    """The program's answers to `lines`, a line each; every call has memory of its own."""
    with _compiling:
        engine, linker, module = _compiled()
    store, wasi = Store(engine), WasiConfig()
    with TemporaryDirectory(prefix="shardscope-") as folder:
        stdin, stdout = Path(folder, "in"), Path(folder, "out")
        stdin.write_bytes("".join(f"{line}\n" for line in lines).encode())
        wasi.argv = ["shardscope", verb]
        wasi.stdin_file, wasi.stdout_file = str(stdin), str(stdout)
        store.set_wasi(wasi)
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        except ExitTrap as end:
            if end.code:
                raise RuntimeError(f"the calculator ended with status {end.code}") from None
        return stdout.read_bytes().decode().split("\n")[:-1]


def _plain(value):
    """What numbers and arrays of numpy, and answers, hold."""
    if isinstance(value, Answer):
        return value.data
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a request holds no {type(value).__name__}")


def written(request):
    """A request as JSON."""
    return json.dumps(request, default=_plain, allow_nan=False)
