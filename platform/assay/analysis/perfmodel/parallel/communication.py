"""Which messages one step of a laid-out model needs.

Tensor parallel: an all-reduce of the hidden vectors after each mixer and each feed-forward, one after the
embedding, a gather of the sampled logits. Experts: where the tokens already lie on every rank of the group
the all-reduce serves them too; where experts are shared by data-parallel replicas, each layer dispatches
and combines. Pipeline: a send at each boundary. Data-parallel replicas that share nothing send nothing.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import FeedForward
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.messages import Account, Message, MessageKind
from assay.analysis.perfmodel.parallel.routing import RoutingPayload, routing_payload
from assay.analysis.perfmodel.parallel.shards import experts_of
from assay.analysis.perfmodel.structure import Structure

ASSUMPTIONS = (
    "communication: no message overlaps with compute or with another one",
    "routing: independent and uniform, so that (n - 1) / n of the choices leave the rank; "
    "no padding, no metadata, one send a choice",
    "blocks whose mixer and feed-forward run side by side need one all-reduce instead of two",
)


def step_messages(
    structure: Structure, layout: Layout, *, rows: int, sampled: int, element_bytes: int
) -> list[Message]:
    """Messages of one step of one replica with ``rows`` tokens, of which ``sampled`` get logits."""
    hidden = rows * structure.d_model * element_bytes
    return [
        *_tensor(structure, layout, hidden=hidden, logits=sampled * structure.vocabulary * element_bytes),
        *_experts(structure, layout, rows=rows, hidden=hidden, element_bytes=element_bytes),
        *_pipeline(layout, hidden=hidden),
    ]  # fmt: skip


def layer_routing(
    structure: Structure, *, rows: int, element_bytes: int, layout: Layout
) -> RoutingPayload | None:
    """Payload of one layer with experts, with what the layout states of it; None without experts."""
    for layer, _ in structure.kinds():
        experts = experts_of(layer.feed_forward)
        if experts is not None:
            found = routing_payload(
                tokens=rows,
                d_model=structure.d_model,
                element_bytes=element_bytes,
                chosen=experts.chosen,
            )
            spread = layout.expert
            return RoutingPayload(
                bytes=found.bytes,
                cross_device_share=0.0 if spread == 1 else (spread - 1) / spread,
                batch_scope="per rank",
            )
    return None


def _tensor(structure: Structure, layout: Layout, *, hidden: int, logits: int) -> list[Message]:
    if layout.tensor == 1:
        return []
    reduced = 0
    for layer, count in structure.kinds():
        split = not _dispatches(layer.feed_forward, layout)
        reduced += count * (
            int(layer.mixer is not None) + int(layer.feed_forward is not None and split)
        )
    return [
        _collective(layout, "hidden vectors of every layer", MessageKind.ALL_REDUCE, hidden, reduced),
        _collective(layout, "embedding", MessageKind.ALL_REDUCE, hidden, 1),
        _collective(layout, "sampled logits", MessageKind.ALL_GATHER, logits, 1),
    ]  # fmt: skip


def _experts(
    structure: Structure, layout: Layout, *, rows: int, hidden: int, element_bytes: int
) -> list[Message]:
    """Dispatch and combine of each layer whose experts data-parallel replicas share."""
    found = []
    for layer, count in structure.kinds():
        experts = experts_of(layer.feed_forward)
        if experts is None or not _dispatches(experts, layout):
            continue
        each_way = int(rows * structure.d_model * element_bytes * experts.chosen / layout.tensor)
        account = Account.IN_DOMAIN if layout.experts_in_domain() else Account.ACROSS_DOMAINS
        found += [
            Message(
                what=f"{way} of routed tokens",
                kind=MessageKind.ALL_TO_ALL,
                payload_bytes=each_way,
                ranks=layout.expert,
                times=count,
                account=account,
            )
            for way in ("dispatch", "combine")
        ]
        if layout.tensor > 1:
            found.append(
                _collective(layout, "combined tokens", MessageKind.ALL_GATHER, hidden, count)
            )
    return found


def _pipeline(layout: Layout, *, hidden: int) -> list[Message]:
    crossing = layout.crossing_boundaries()
    by_account = {
        Account.IN_DOMAIN: layout.pipeline - 1 - crossing,
        Account.ACROSS_DOMAINS: crossing,
    }
    return [
        Message(
            what="hidden vectors to the next stage",
            kind=MessageKind.SEND,
            payload_bytes=hidden,
            ranks=2,
            times=times,
            account=account,
        )
        for account, times in by_account.items()
        if times
    ]


def _collective(layout: Layout, what: str, kind: MessageKind, payload: int, times: int) -> Message:
    account = Account.IN_DOMAIN if layout.tensor_in_domain() else Account.ACROSS_DOMAINS
    return Message(
        what=what,
        kind=kind,
        payload_bytes=payload,
        ranks=layout.tensor,
        times=times,
        account=account,
    )


def _dispatches(feed_forward: FeedForward | None, layout: Layout) -> bool:
    """Whether tokens must be sent to experts: only where replicas with other tokens share them."""
    return experts_of(feed_forward) is not None and layout.expert > layout.tensor
