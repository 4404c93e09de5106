"""Model families by ``model_type``, the class names that declare them, and the reader of each."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.analysis.perfmodel.reading import (
    blocks_by_search,
    deepseek,
    encoder_decoder,
    gemma,
    gemma3n,
    gpt_like,
    kimi_linear,
    mamba_hybrids,
    mimo,
    minimax,
    mixtures,
    nemotron_h,
    pure_mamba,
    qwen_next,
    short_convolutions,
)
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.llama_like import read_llama_like
from assay.analysis.perfmodel.structure import Structure

Reader = Callable[[Fields, str], Structure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """``classes``: names under ``architectures`` that are this family's causal decoder."""

    read: Reader
    classes: tuple[str, ...]


def _family(read: Reader, *classes: str) -> Family:
    return Family(read=read, classes=classes)


FAMILIES: dict[str, Family] = {
    "llama": _family(read_llama_like, "LlamaForCausalLM"),
    "mistral": _family(read_llama_like, "MistralForCausalLM"),
    "phi3": _family(read_llama_like, "Phi3ForCausalLM"),
    "qwen2": _family(read_llama_like, "Qwen2ForCausalLM"),
    "qwen2_moe": _family(read_llama_like, "Qwen2MoeForCausalLM"),
    "qwen3": _family(read_llama_like, "Qwen3ForCausalLM"),
    "qwen3_moe": _family(read_llama_like, "Qwen3MoeForCausalLM"),
    "gemma": _family(read_llama_like, "GemmaForCausalLM"),
    "granite": _family(read_llama_like, "GraniteForCausalLM"),
    "olmo2": _family(read_llama_like, "Olmo2ForCausalLM"),
    "smollm3": _family(read_llama_like, "SmolLM3ForCausalLM"),
    "seed_oss": _family(read_llama_like, "SeedOssForCausalLM"),
    "qwen3_vl_text": _family(read_llama_like),
    "qwen3_vl_moe_text": _family(read_llama_like),
    "mixtral": _family(read_llama_like, "MixtralForCausalLM"),
    "gpt_oss": _family(read_llama_like, "GptOssForCausalLM"),
    "phimoe": _family(mixtures.read_phimoe, "PhiMoEForCausalLM", "PhimoeForCausalLM"),
    "glm4_moe": _family(mixtures.read_glm4_moe, "Glm4MoeForCausalLM"),
    "minimax_m2": _family(mixtures.read_minimax_m2, "MiniMaxM2ForCausalLM"),
    "llama4_text": _family(mixtures.read_llama4, "Llama4ForCausalLM"),
    "gemma2": _family(gemma.read_gemma2, "Gemma2ForCausalLM"),
    "gemma3_text": _family(gemma.read_gemma3, "Gemma3ForCausalLM"),
    "gemma3n_text": _family(gemma3n.read_gemma3n, "Gemma3nForCausalLM"),
    "gemma4_text": _family(gemma.read_gemma4, "Gemma4ForCausalLM"),
    "deepseek_v2": _family(deepseek.read_latent, "DeepseekV2ForCausalLM"),
    "deepseek_v3": _family(deepseek.read_latent, "DeepseekV3ForCausalLM"),
    "deepseek_v32": _family(deepseek.read_latent, "DeepseekV32ForCausalLM"),
    "kimi_k2": _family(deepseek.read_latent, "DeepseekV3ForCausalLM"),
    "glm_moe_dsa": _family(deepseek.read_latent, "GlmMoeDsaForCausalLM"),
    "minicpm3": _family(deepseek.read_minicpm3, "MiniCPM3ForCausalLM"),
    "qwen3_next": _family(qwen_next.read_qwen3_next, "Qwen3NextForCausalLM"),
    "qwen3_5_text": _family(qwen_next.read_qwen3_5, "Qwen3_5ForCausalLM"),
    "qwen3_5_moe_text": _family(qwen_next.read_qwen3_5, "Qwen3_5MoeForCausalLM"),
    "nemotron_h": _family(nemotron_h.read_nemotron_h, "NemotronHForCausalLM"),
    "minimax": _family(minimax.read_minimax, "MiniMaxForCausalLM"),
    "minimax_text_01": _family(minimax.read_minimax, "MiniMaxText01ForCausalLM"),
    "minimax_m1": _family(minimax.read_minimax, "MiniMaxM1ForCausalLM"),
    "mimo_v2_flash": _family(mimo.read_mimo, "MiMoV2FlashForCausalLM"),
    "nemotron-nas": _family(blocks_by_search.read_blocks, "DeciLMForCausalLM"),
    "t5": _family(encoder_decoder.read_t5, "T5ForConditionalGeneration"),
    "mt5": _family(encoder_decoder.read_t5, "MT5ForConditionalGeneration"),
    "gpt2": _family(gpt_like.read_gpt2, "GPT2LMHeadModel"),
    "gpt_bigcode": _family(gpt_like.read_gpt_bigcode, "GPTBigCodeForCausalLM"),
    "gpt_neox": _family(gpt_like.read_gpt_neox, "GPTNeoXForCausalLM"),
    "starcoder2": _family(gpt_like.read_starcoder2, "Starcoder2ForCausalLM"),
    "falcon": _family(gpt_like.read_falcon, "FalconForCausalLM"),
    "mpt": _family(gpt_like.read_mpt, "MptForCausalLM"),
    "qwen": _family(gpt_like.read_qwen, "QWenLMHeadModel"),
    "chatglm": _family(gpt_like.read_chatglm, "ChatGLMModel", "ChatGLMForConditionalGeneration"),
    "lfm2": _family(short_convolutions.read_lfm2, "Lfm2ForCausalLM"),
    "lfm2_moe": _family(short_convolutions.read_lfm2, "Lfm2MoeForCausalLM"),
    "kimi_linear": _family(kimi_linear.read_kimi_linear, "KimiLinearForCausalLM"),
    "mamba": _family(pure_mamba.read_mamba, "MambaForCausalLM"),
    "mamba2": _family(pure_mamba.read_mamba2, "Mamba2ForCausalLM"),
    "jamba": _family(mamba_hybrids.read_jamba, "JambaForCausalLM"),
    "falcon_h1": _family(mamba_hybrids.read_falcon_h1, "FalconH1ForCausalLM"),
}
