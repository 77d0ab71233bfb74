"""The calculator: the native program's source as a WASI module, asked through its standard input and output."""
import json
import math
import threading
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, Trap, TrapCode, WasiConfig, WasmtimeError

from ._answer import Answer


@lru_cache(maxsize=1)
def _compiled():
    config = Config()
    # The program looks at the engine's clock, so that a call can be ended.
    config.epoch_interruption = True
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

TICK_S = 0.05
_limit_s = 600.0


def set_timeout(seconds):
    """Seconds after which a call ends with `TimeoutError`: 600 unless set, None for no limit."""
    global _limit_s
    if seconds is not None and not seconds > 0:
        raise ValueError("a time-out is a number of seconds above 0, or None")
    _limit_s = seconds


class _Clock:
    """Moves an engine's clock on while calls run: every call has its own deadline in its ticks."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0

    def __enter__(self):
        with self.lock:
            self.running += 1
            if self.running == 1:
                self.stopped = threading.Event()
                threading.Thread(target=self.tick, args=(self.stopped,), daemon=True).start()

    def __exit__(self, *_):
        with self.lock:
            self.running -= 1
            if self.running == 0:
                self.stopped.set()

    def tick(self, stopped):
        engine = _compiled()[0]
        while not stopped.wait(TICK_S):
            engine.increment_epoch()


_clock = _Clock()
# Ticks of a call without a limit: some thousand years.
_NEVER = 2**40


def answers(verb, lines):
    """The program's answers to `lines`, a line each; every call has memory of its own."""
    limit_s = _limit_s
    with _compiling:
        engine, linker, module = _compiled()
    store, wasi = Store(engine), WasiConfig()
    store.set_epoch_deadline(_NEVER if limit_s is None else max(1, math.ceil(limit_s / TICK_S)))
    with TemporaryDirectory(prefix="shardscope-") as folder:
        stdin, stdout = Path(folder, "in"), Path(folder, "out")
        stdin.write_bytes("".join(f"{line}\n" for line in lines).encode())
        wasi.argv = ["shardscope", verb]
        wasi.stdin_file, wasi.stdout_file = str(stdin), str(stdout)
        store.set_wasi(wasi)
        try:
            with _clock:
                linker.instantiate(store, module).exports(store)["_start"](store)
        except ExitTrap as end:
            if end.code:
                raise RuntimeError(f"the calculator ended with status {end.code}") from None
        except Trap as trap:
            if trap.trap_code != TrapCode.INTERRUPT:
                raise
            raise TimeoutError(f"the calculator took more than {limit_s:g} s") from None
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
