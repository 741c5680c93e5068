"""Records by pointer: a native function gets the address of a record, where Numba would hand on each field.

Numba takes named tuples apart: the records of a flow are 900 numbers, handed on in every call of every
function. Without that, flows take a tenth less time, those of small networks a quarter less, and compilation
a fifth less.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    types,
    unbox,
)


def by_pointer(record: type) -> type:
    """A class of named tuples whose fields native code reads where they are, and never sets."""

    def type_of(value: Any, c: Any) -> Pointer:
        fields = [typeof_impl(field, c) for field in value]
        return Pointer(record.__name__, tuple(zip(value._fields, fields, strict=True)))

    typeof_impl.register(record, type_of)
    return record


class Pointer(types.Type):
    """The address of a record with these fields."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]):
        self.fields = fields
        self.target = Target(name, fields)
        super().__init__(name=f"Pointer({self.target.name})")


class Target(types.Type):
    """The record itself, which no variable holds."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]):
        self.fields = fields
        super().__init__(name=f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})")


@register_model(Target)
class _TargetModel(models.StructModel):
    def __init__(self, manager: Any, kind: Target):
        super().__init__(manager, kind, kind.fields)


@register_model(Pointer)
class _PointerModel(models.PointerModel):
    def __init__(self, manager: Any, kind: Pointer):
        self._pointee_model = manager.lookup(kind.target)
        models.PrimitiveModel.__init__(self, manager, kind, self._pointee_model.get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Pointer

    def generic_resolve(self, kind: Pointer, field: str) -> types.Type | None:
        return dict(kind.fields).get(field)


@lower_getattr_generic(Pointer)
def _read(context: Any, builder: Any, kind: Pointer, pointer: Any, field: str) -> Any:
    """The value of a field."""
    place = [name for name, _ in kind.fields].index(field)
    value = _load(builder, cgutils.gep_inbounds(builder, pointer, 0, place))
    return impl_ret_borrowed(context, builder, dict(kind.fields)[field], value)


def _load(builder: Any, pointer: Any) -> Any:
    """What a pointer points at, number by number: no record changes during a call, so that each is read
    once, before loops, though the arrays that it describes change in them."""
    pointee = pointer.type.pointee
    if not hasattr(pointee, "elements"):
        return _constant(builder, pointer)
    count = len(pointee.elements) if not hasattr(pointee, "count") else pointee.count
    parts = [_load(builder, cgutils.gep_inbounds(builder, pointer, 0, i)) for i in range(count)]
    value = pointee(None)
    for i, part in enumerate(parts):
        value = builder.insert_value(value, part, i)
    return value


def _constant(builder: Any, pointer: Any) -> Any:
    value = builder.load(pointer)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@unbox(Pointer)
def _from_python(kind: Pointer, record: Any, c: Any) -> NativeValue:
    """The fields of a named tuple, in a record on the stack of the function that calls native code."""
    pointer = cgutils.alloca_once(c.builder, c.context.get_value_type(kind.target))
    natives = []
    for i, (_, field) in enumerate(kind.fields):
        native = c.unbox(field, c.pyapi.tuple_getitem(record, i))
        c.builder.store(native.value, cgutils.gep_inbounds(c.builder, pointer, 0, i))
        natives.append((field, native))

    def cleanup() -> None:
        for field, native in natives:
            if native.cleanup is not None:
                native.cleanup()
            if c.context.enable_nrt:
                c.context.nrt.decref(c.builder, field, native.value)

    failed = cgutils.false_bit
    for _, native in natives:
        failed = c.builder.or_(failed, native.is_error)
    return NativeValue(pointer, is_error=failed, cleanup=cleanup)
