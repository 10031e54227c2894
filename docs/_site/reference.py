"""What mkdocstrings is told of plait: the public names, as the running package has them.

Many are made by records and tables (`sin = unary(...)`), of which the source alone says neither the
parameters nor the documentation.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys
import types
from typing import Any

import griffe

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from docstrings import convert  # noqa: E402

from tests.test_exports import PUBLIC, exported  # noqa: E402

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.VAR_POSITIONAL: griffe.ParameterKind.var_positional,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
}


class Runtime(griffe.Extension):
    """Puts the exported names of every public package in the place of what griffe read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        modules = {name: importlib.import_module(name) for name in PUBLIC}
        names = {name for package in PUBLIC for name in exported(modules[package])}
        for package in PUBLIC:
            _fill(pkg, package, modules[package], names)


def _fill(pkg: griffe.Module, package: str, module: types.ModuleType, names: set[str]) -> None:
    made = pkg[package.partition(".")[2]] if "." in package else pkg
    for name in list(made.members):
        if not isinstance(made.members[name], griffe.Module):
            made.del_member(name)
    made.imports.clear()  # what is imported does not count as public
    made.docstring = _docstring(module.__doc__, (), package, names, made)
    for full in exported(module):
        name = full.removeprefix(f"{package}.")
        value = getattr(module, name)
        if not isinstance(value, types.ModuleType):
            made.set_member(name, _member(name, value, package, names, made))


def _member(name: str, value: Any, package: str, names: set[str], parent: Any) -> griffe.Object:
    if isinstance(value, type):
        return _class(name, value, package, names, parent)
    if callable(value):
        return _function(name, value, package, names, parent)
    text = getattr(value, "__doc__", None) if type(value).__module__.startswith("plait") else None
    made = griffe.Attribute(name, value=_shown(value), lineno=1, parent=parent)
    made.docstring = _docstring(text or "", (), package, names, made)
    return made


def _function(name: str, value: Any, package: str, names: set[str], parent: Any) -> griffe.Function:
    parameters = _parameters(value)
    made = griffe.Function(name, parameters=parameters, lineno=1, parent=parent)
    described = [p.name for p in parameters]
    made.docstring = _docstring(_text(value), described, package, names, made)
    return made


def _class(name: str, value: type, package: str, names: set[str], parent: Any) -> griffe.Class:
    made = griffe.Class(name, lineno=1, parent=parent)
    parameters = _parameters(value)
    described = [p.name for p in parameters if p.name != "self"]
    made.docstring = _docstring(_text(value), described, package, names, made)
    if not issubclass(value, BaseException) and len(described):
        init = griffe.Function("__init__", parameters=parameters, lineno=1, parent=made)
        made.set_member("__init__", init)
    for method, member in vars(value).items() if _is_ours(value) else ():
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if method[0] == "_" or not getattr(plain, "__doc__", None):
            continue
        if isinstance(plain, property):
            made.set_member(method, _attribute(method, plain.__doc__ or "", package, names, made))
        elif callable(plain):
            made.set_member(method, _function(method, plain, package, names, made))
    return made


def _attribute(
    name: str, text: str, package: str, names: set[str], parent: Any
) -> griffe.Attribute:
    made = griffe.Attribute(name, lineno=1, parent=parent)
    made.docstring = _docstring(text, (), package, names, made)
    return made


def _is_ours(value: Any) -> bool:
    return getattr(value, "__module__", "").startswith("plait")


def _text(value: Any) -> str:
    """The documentation of a thing; not what Python says of the class of any such thing."""
    text = getattr(value, "__doc__", None) or ""
    return "" if text == type(value).__doc__ else text


def _parameters(value: Any) -> griffe.Parameters:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return griffe.Parameters()
    return griffe.Parameters(
        *(
            griffe.Parameter(
                p.name,
                annotation=None if p.annotation in ("Any", p.empty, Any) else _annotation(p),
                kind=_KINDS[p.kind],
                default=None if p.default is p.empty else _shown(p.default),
            )
            for p in signature.parameters.values()
        )
    )


def _annotation(parameter: inspect.Parameter) -> str:
    text = parameter.annotation
    return text if isinstance(text, str) else inspect.formatannotation(text)


def _shown(value: Any) -> str:
    """A default as a reader would write it."""
    if isinstance(value, type) or inspect.isfunction(value):
        return value.__name__
    text = repr(value)
    return "..." if text.startswith("<object object") else text


def _docstring(
    text: str | None, parameters: Any, package: str, names: set[str], parent: Any
) -> griffe.Docstring | None:
    def link(name: str) -> str | None:
        for full in (f"{package}.{name}", f"plait.{name}", name):
            if full in names and full != parent.path:
                return full
        return None

    return griffe.Docstring(convert(text or "", parameters, link), lineno=1, parent=parent)
