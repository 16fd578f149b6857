"""Names of signals: inputs and results after their words, other values after host and quantity."""

from dataclasses import replace

from rbdhw.explore.algorithm_search import make_plan
from rbdhw.fixed.program import Kind
from rbdhw.options.build import BuildOptions
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.values import value_names
from rbdhw.scalar import Region


def program_of(*functions: str):
    options = BuildOptions(functions=functions, width=18, samples=256)
    return make_plan(load_urdf(path("toy")), options).program


def named(program, hosts=None):
    return value_names(program, range(len(program.operations)), hosts or {})


def test_words_name_inputs_and_results() -> None:
    program = program_of("id")
    names = named(program)
    assert {names[word.value] for word in program.inputs} == {
        word.name.replace("[", "_").rstrip("]") for word in program.inputs
    }
    assert [names[word.value] for word in program.outputs["id"]] == ["id_tau_0", "id_tau_1"]


def test_the_first_function_names_a_shared_result() -> None:
    program = program_of("minv", "fd")
    names = named(program)
    shared = {w.value for w in program.outputs["fd"]} & {w.value for w in program.outputs["minv"]}
    first = next(iter(program.outputs))
    for word in program.outputs[first]:
        assert names[word.value].startswith(f"{first}_")
    assert all(names[value].startswith(first) for value in shared)


def test_sines_are_called_after_their_angle() -> None:
    program = program_of("id")
    names = named(program)
    turning = [k for k, operation in enumerate(program.operations) if operation.kind in (Kind.SIN, Kind.COS)]
    assert {names[k] for k in turning} <= {
        f"{program.operations[k].region}__{program.operations[k].kind.value}_q_{i}"
        for k in turning
        for i in (0, 1)
    }


def test_hosts_and_quantities_name_the_rest_and_numbers_tell_parts_apart() -> None:
    program = program_of("id")
    sums = [k for k, operation in enumerate(program.operations) if operation.kind is Kind.ADD]
    results = {word.value for word in program.outputs["id"]}
    first, second, third = [k for k in sums if k not in results][:3]
    region = Region("rnea_forward", 1, "eta_z")
    operations = list(program.operations)
    for k in (first, second):
        operations[k] = replace(operations[k], region=region)
    operations[third] = replace(operations[third], region=Region("rnea_forward", 1))
    names = named(replace(program, operations=tuple(operations)), {third: Region("composite", 0)})
    assert names[second] == "rnea_forward_1__eta_z"
    assert names[first] == f"rnea_forward_1__eta_z_v{first}"
    assert names[third] == f"composite_0__v{third}"
    assert len(set(names.values())) == len(names)
