"""Builds the wheel: the calculator as a WASI module, the face in shardscope/, and its classes of answers, which are made
from the JavaScript package's types (src/web/javascript/api.d.ts). `pip wheel tools/python` calls it; nothing else is needed.
"""
import base64
import hashlib
import json
import keyword
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROFILE, TARGET = "wheel", "wasm32-wasip1"


def said(file, key):
    """The text of `key = "text"` in a TOML file."""
    return re.search(rf'^{key} = \[?"(.*)"\]?$', file.read_text(encoding="utf-8"), re.M)[1]


def module():
    """The calculator, built: the native program's own source, for WASI."""
    subprocess.run([ROOT / "tools/setup", "wasi"], stdout=sys.stderr, check=True)
    cargo = ["cargo", "build", "--locked", "--quiet", "--profile", PROFILE, "--target", TARGET, "--example", "headless"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (target / TARGET / PROFILE / "examples/headless.wasm").read_bytes()


class Types:
    """Reads interfaces of TypeScript, of the few forms that api.d.ts has, and writes them as dataclasses."""

    NO_ANSWERS = {"Run", "Refusal"}
    SIMPLE = {"number": "float", "string": "str", "boolean": "bool", "null": "None", "unknown": "Any", "Run": "Dict[str, Any]"}

    def __init__(self, declarations):
        text = re.sub(r"/\*.*?\*/", "", declarations, flags=re.S)
        self.written = []
        for name, body in re.findall(r"^export interface (\w+) (\{.*?\n?\})(?=\n)", text, re.M | re.S):
            self.tokens = re.findall(r'\w+|"[^"]*"|\S', body)
            if name not in self.NO_ANSWERS and not name.endswith("Request"):
                self.type(name)

    def take(self, token):
        """True where the next token is `token`, which is passed over."""
        found = self.tokens[:1] == [token]
        if found:
            self.tokens.pop(0)
        return found

    def type(self, name):
        """The next type as Python's; an object within it becomes the class `name`."""
        options = []
        while not options or self.take("|"):
            options.append(self.one(name))
        literals = [option for option in options if option.startswith('"')]
        rest = [option for option in options if option not in literals]
        rest += [f"Literal[{', '.join(literals)}]"] if literals else []
        return rest[0] if len(rest) == 1 else f"Union[{', '.join(rest)}]"

    def one(self, name):
        if self.take("("):
            found = self.type(name)
            self.take(")")
        elif self.take("["):
            items = []
            while not self.take("]"):
                items.append(self.type(name))
                self.take(",")
            found = f"Tuple[{', '.join(items)}]"
        elif self.take("{"):
            found = self.members(name)
        else:
            word = self.tokens.pop(0)
            found = self.SIMPLE.get(word, word)
        while self.take("["):
            self.take("]")
            found = f"List[{found}]"
        return found

    def members(self, name):
        fields = []
        while not self.take("}"):
            if self.take("["):
                del self.tokens[: self.tokens.index("]") + 2]
                self.type(name)
                found = "Dict[str, Any]"
            else:
                key, optional = self.tokens.pop(0), self.take("?")
                self.take(":")
                kind = self.type(name + "".join(part.capitalize() for part in key.split("_")))
                key += "_" if keyword.iskeyword(key) else ""
                fields.append((optional, f"    {key}: Optional[{kind}] = None" if optional else f"    {key}: {kind}"))
            self.take(";")
        if not fields:
            return found
        lines = [line for _, line in sorted(fields, key=lambda field: field[0])]
        self.written.append(f"@dataclass(repr=False)\nclass {name}(Answer):\n" + "\n".join(lines) + "\n")
        return name

    def __str__(self):
        head = '"""Answers of the calculator, made from src/web/javascript/api.d.ts."""\n'
        # Names that are declared further below are looked up when they are needed.
        head += "from __future__ import annotations\n\nfrom dataclasses import dataclass\nfrom typing import Any, Dict, List, Literal, Optional, Tuple, Union\n\n"
        return head + "from ._answer import Answer\n\n\n" + "\n\n".join(self.written)


def build_wheel(folder, _settings=None, _metadata=None):
    """The hook of PEP 517: writes the wheel into `folder`; its name."""
    project = HERE / "pyproject.toml"
    name, version = said(project, "name"), said(ROOT / "Cargo.toml", "version")
    about = {
        "Metadata-Version": "2.4", "Name": name, "Version": version, "Summary": said(project, "description"),
        "License-Expression": said(project, "license"), "License-File": "LICENSE\nLicense-File: licences.txt",
        "Keywords": "llm-training,gpu-memory,pipeline-parallelism,megatron,fsdp", "Requires-Python": said(project, "requires-python"), "Requires-Dist": said(project, "dependencies"),
    }
    # Addresses that the owner has given; none while owner.json is empty.
    places = json.loads((ROOT / "owner.json").read_text(encoding="utf-8"))
    labels = {"Repository": places["repository"], "Homepage": places["homepage"]}
    urls = "".join(f"Project-URL: {label}, {address}\n" for label, address in labels.items() if address)
    head = "".join(f"{key}: {value}\n" for key, value in about.items()) + urls + "Description-Content-Type: text/markdown\n\n"
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/{file.name}": file.read_bytes() for file in sorted((HERE / name).glob("*.py"))}
    types = str(Types((ROOT / "src/web/javascript/api.d.ts").read_text(encoding="utf-8")))
    files.update({
        # The published runs of the scoreboard.
        **{f"{name}/data/{file.name}": file.read_bytes() for file in sorted((ROOT / "public/data").glob("*.csv"))},
        f"{name}/types.py": types.encode(),
        f"{name}/py.typed": b"",
        f"{name}/calculator.wasm": module(),
        f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{info}/licenses/licences.txt": subprocess.run(["node", "tools/licences.mjs"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout,
        f"{info}/METADATA": (head + (HERE / "README.md").read_text(encoding="utf-8")).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: shardscope\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    })
    digest = {file: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for file, data in files.items()}
    record = [f"{file},sha256={digest[file]},{len(data)}\n" for file, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            # The same bytes on every day.
            archive.writestr(zipfile.ZipInfo(file), data, zipfile.ZIP_DEFLATED)
    return wheel


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    print(Path(sys.argv[1], build_wheel(sys.argv[1])))
