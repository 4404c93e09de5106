"""The shipped study of two engines: its sweep makes the engine the one declared variable."""

from assay.analysis.comparability.comparison import Standing, compare_runs
from experiments.compose import compose_sweep
from experiments.plan import plan
from tests.assay.analysis.comparability.runs import run


def test_a_difference_of_the_two_belongs_to_the_engine_as_a_whole() -> None:
    specs = plan(compose_sweep(["study=smollm2_two_engines", "engine=torch_bf16,vllm"]))
    by_key = {
        spec.document["engine"]["key"]: run(
            spec.document["engine"]["key"],
            spec=spec.document,
            variables=frozenset(spec.variables),
        )
        for spec in specs
    }

    found = compare_runs([by_key["torch"], by_key["vllm"]])

    assert found.standing is Standing.joint
    assert found.pairs[0].attributed_to == "engine as a whole"
    assert all(path.startswith("engine.") for path in found.pairs[0].identity.moved)
