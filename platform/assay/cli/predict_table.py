"""The answer of ``assay predict`` as text: a summary, the state by class, operators, experts, ranks and
notes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.analysis.perfmodel.units import bandwidth_text, capacity_text


def table(answer: Mapping[str, Any]) -> str:
    """Sections with a blank line between them; the JSON has every figure."""
    sections = [
        _aligned(_summary(answer)),
        _state(answer["state"]["entries"]),
        _operators(answer["decode"]),
        *([_experts(answer["experts"])] if answer["experts"] else []),
        *([_ranks(answer["parallel"])] if answer["parallel"]["layout"]["devices"] > 1 else []),
        "\n".join(f"- {text}" for text in (*answer["assumptions"], *answer["not_modelled"])),
    ]
    return "\n\n".join(sections)


def _summary(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    state, weights, memory = answer["state"], answer["weights"], answer["memory"]
    rows = [
        ("parameters", f"{answer['parameters']['total']:,}"),
        ("structure", _layers(answer["structure"])),
        ("state", f"{state['bytes_per_token']:,} B a token ({state['dtype']}, {state['dtype_source']}), "
                  f"{capacity_text(state['bytes_at_context'])} at context"),
        ("weights", f"{capacity_text(weights['bytes'])}, {weights['bits_per_parameter']:.2f} bits each"),
        ("precisions", _precisions(answer["precisions"])),
        ("decode step", _work(answer["decode"])),
        ("prompt", _work(answer["prefill"])),
    ]  # fmt: skip
    if answer["device"]:
        found, ridge = answer["device"], answer["decode"]["ridge"]
        rows += [
            ("device", f"{found['name']}, {bandwidth_text(found['bandwidth_bytes_per_s'])}, ridge at "
                       f"{found['ridge_flops_per_byte']:.0f} FLOP/byte, batch {ridge['batch_weights_only']} "
                       "by weights alone"),
            ("memory", f"{memory['fits']}, for {memory['sequences_that_fit']} sequences at most"),
        ]  # fmt: skip
    if memory["granted"]:
        granted = memory["granted"]
        rows.append(
            ("KV pool", f"{granted['blocks']:,} blocks of {granted['block_tokens']} tokens")
        )
    return rows


def _precisions(four: Mapping[str, Any]) -> str:
    return (
        f"weights {four['weights']}, activations {four['activations']}, K/V {four['kv']}, "
        f"accumulation {four['accumulation'] or 'unknown'}"
    )


def _work(work: Mapping[str, Any]) -> str:
    bound = (
        "no device named"
        if work["bound_s"] is None
        else f"at least {work['bound_s'] * 1e3:.3f} ms, {work['bound_by']} ({work['memory_level']})"
    )
    return f"{work['flops'] / 1e9:.2f} GFLOP, {work['bytes'] / 1e9:.3f} GB; {bound}"


def _layers(structure: Mapping[str, Any]) -> str:
    """Layers by kind, and the heads where all attention layers have the same."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in structure["kinds"].items())
    text = f"{structure['layers']} layers ({kinds})"
    if structure["h_kv"] is None or structure["d_head"] is None:
        return text
    return f"{text}, {structure['h']} heads, {structure['h_kv']} KV heads of {structure['d_head']}"


def _state(entries: Sequence[Mapping[str, Any]]) -> str:
    return _columns(
        ("state of a sequence", "layers", "growth", "logical", "layout", "measured"),
        [
            (
                entry["kind"],
                str(entry["layers"]),
                entry["growth"],
                *(_size(entry[column]["bytes"]) for column in ("logical", "layout", "measured")),
            )
            for entry in entries
        ],
    )


def _operators(decode: Mapping[str, Any]) -> str:
    return _columns(
        ("operator of a decode step", "rows", "GFLOP", "MB", "FLOP/byte", "bound ms", "by", "form"),
        [
            (
                row["name"],
                str(row["rows"]),
                f"{row['useful_flops'] / 1e9:.3f}",
                f"{row['bytes'] / 1e6:.2f}",
                "-"
                if row["intensity_flops_per_byte"] is None
                else f"{row['intensity_flops_per_byte']:.2f}",
                "-" if row["bound_s"] is None else f"{row['bound_s'] * 1e3:.4f}",
                row["bound_by"] or "-",
                row["form"] or "",
            )
            for row in decode["operators"]
        ],
    )


def _experts(experts: Mapping[str, Any]) -> str:
    compute, storage, transfer = (experts[name] for name in ("compute", "storage", "transfer"))
    rows = [
        ("experts, compute", f"{compute['flops_per_token'] / 1e9:.2f} GFLOP a token: {compute['label']}"),
        ("experts, storage", f"{capacity_text(storage['bytes'])}: {storage['label']}"),
        ("experts, transfer", f"{capacity_text(transfer['bytes_per_layer'])} a layer, "
                              f"{transfer['layers']} layers: {transfer['label']}"),
        *(("experts, read", f"{layer['experts_read']:.1f} of {layer['experts']} in {layer['count']} layers: "
                            f"{experts['label']}") for layer in experts["layers"]),
    ]  # fmt: skip
    return _aligned(rows)


def _ranks(parallel: Mapping[str, Any]) -> str:
    ranks = _columns(
        ("rank of stage", "layers", "weights", "state", "bound ms"),
        [
            (
                str(rank["stage"]),
                f"{rank['layers'][0]}-{rank['layers'][1]}",
                _size(rank["weight_bytes"]),
                _size(rank["sequences"] * rank["state_bytes_per_sequence"]),
                "-" if rank["bound_s"] is None else f"{rank['bound_s'] * 1e3:.3f}",
            )
            for rank in parallel["ranks"]
        ],
    )
    messages = _columns(
        ("message", "kind", "account", "times", "KiB moved", "ms a step"),
        [
            (
                message["what"],
                message["kind"],
                message["account"],
                f"{message['times']:g}",
                f"{message['moved_bytes'] / 1024:.1f}",
                "-" if message["seconds"] is None else f"{message['seconds'] * 1e3:.3f}",
            )
            for message in parallel["messages"]
        ],
    )
    rate = parallel["tokens_per_s_at_most"]
    last = f"no rate: {parallel['missing']}" if rate is None else f"at most {rate:,.0f} token/s"
    return f"{ranks}\n\n{messages}\n\n{last}"


def _size(size: int | None) -> str:
    return "-" if size is None else capacity_text(size)


def _aligned(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def _columns(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell, numbers and names alike to the left."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
