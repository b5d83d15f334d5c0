# SPDX-License-Identifier: Apache-2.0
# As much of gdb's Python as goref uses (gdb 13 and later), for mypy only.

from types import SimpleNamespace
from typing import Any, Literal, overload

class error(RuntimeError): ...
class GdbError(Exception): ...

COMMAND_DATA: int
COMMAND_STATUS: int
COMPLETE_NONE: int
COMPLETE_FILENAME: int
PARAM_BOOLEAN: int
PARAM_ENUM: int
PARAM_STRING_NOESCAPE: int
PARAM_UINTEGER: int
STDERR: int
VERSION: str
TYPE_CODE_CHAR: int
TYPE_CODE_ENUM: int
TYPE_CODE_INT: int
TYPE_CODE_PTR: int
TYPE_CODE_REF: int

class Command:
    def __init__(
        self,
        name: str,
        command_class: int,
        completer_class: int = ...,
        prefix: bool = ...,
    ) -> None: ...
    def dont_repeat(self) -> None: ...

class Parameter:
    value: Any
    def __init__(
        self,
        name: str,
        command_class: int,
        parameter_class: int,
        enum_sequence: list[str] = ...,
    ) -> None: ...

class Type:
    code: int
    def strip_typedefs(self) -> Type: ...

class Value:
    type: Type
    address: Value | None
    def __int__(self) -> int: ...

class Frame:
    def is_valid(self) -> bool: ...
    def read_register(self, name: str) -> Value: ...
    def select(self) -> None: ...

class InferiorThread:
    num: int
    ptid: tuple[int, int, int]
    def is_running(self) -> bool: ...
    def is_valid(self) -> bool: ...
    def switch(self) -> None: ...

class Objfile:
    filename: str | None
    owner: Objfile | None

class Inferior:
    was_attached: bool
    num: int
    pid: int
    connection: Any
    connection_num: int | None
    progspace: Any
    def threads(self) -> tuple[InferiorThread, ...]: ...
    def read_memory(self, address: int, length: int) -> memoryview: ...

events: SimpleNamespace

def architecture_names() -> list[str]: ...
def convenience_variable(name: str) -> Value | None: ...
@overload
def execute(
    command: str, from_tty: bool = ..., *, to_string: Literal[True]
) -> str: ...
@overload
def execute(command: str, from_tty: bool = ...) -> None: ...
def flush(stream: int = ...) -> None: ...
def newest_frame() -> Frame: ...
def objfiles() -> list[Objfile]: ...
def parameter(name: str) -> Any: ...
def string_to_argv(text: str) -> list[str]: ...
def parse_and_eval(expression: str) -> Value: ...
def selected_frame() -> Frame: ...
def selected_inferior() -> Inferior: ...
def selected_thread() -> InferiorThread | None: ...
def write(text: str, stream: int = ...) -> None: ...
