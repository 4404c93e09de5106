"""Output of TensorRT-LLM in the forms of its documentation, issues and pull requests; never seen here."""

START = """\
[TensorRT-LLM] TensorRT LLM version: 1.2.1
[TensorRT-LLM][INFO] KV cache block reuse is disabled
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).
[12/20/2025-04:21:10] [TRT-LLM] [I] max_seq_len=8224, max_num_requests=64, max_num_tokens=8192, max_batch_size=64
"""  # noqa: E501 - as it is printed
# The two orders of fields, and the first line's missing device time.
EARLIER = (
    "[12/20/2025-04:21:12] [TRT-LLM] [I] iter = 1, global_rank = 0, rank = 0, currank_total_requests = 1/1, "
    "host_step_time = 75.25ms, prev_device_step_time = N/A, timestamp = 2025-12-20 04:21:12, "
    "num_scheduled_requests: 1, states = {'num_ctx_requests': 1, 'num_ctx_tokens': 38, "
    "'num_generation_tokens': 0}\n"
)
LATER = (
    "[12/20/2025-04:21:13] [TRT-LLM] [I] [_torch][RANK 0] iter = 198, global_rank = 0, rank = 0, "
    "num_scheduled_requests = 10, kv_cache_util = 0.112, currank_total_requests = 0/1, "
    "host_step_time = 5.0ms, prev_device_step_time = 4.1ms, timestamp = 12-20-2025 04:21:13, "
    "states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 16}\n"
)
LEFT = "[12/20/2025-04:21:14] [TRT-LLM] [I] Address(host='127.0.0.1', port=60652) is disconnected, abort 2\n"
STATISTICS = """[
{"iter": 7, "iterLatencyMS": 12.5, "numActiveRequests": 3, "numQueuedRequests": 2,
 "kvCacheStats": {"usedNumBlocks": 64, "maxNumBlocks": 256, "tokensPerBlock": 32, "reusedBlocks": 6,
                  "missedBlocks": 18, "cacheHitRate": 0.25},
 "inflightBatchingStats": {"numContextRequests": 1, "numGenRequests": 2, "numPausedRequests": 1}},
{"iter": 8, "iterLatencyMS": 4.0, "numActiveRequests": 2}
]"""
PROMETHEUS = """\
# TYPE trtllm_request_success_total counter
trtllm_request_success_total{finished_reason="length",model_name="m"} 3.0
trtllm_request_success_total{finished_reason="stop",model_name="m"} 1.0
# TYPE trtllm_time_to_first_token_seconds histogram
trtllm_time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 4.0
trtllm_time_to_first_token_seconds_count{model_name="m"} 4.0
trtllm_time_to_first_token_seconds_sum{model_name="m"} 0.5
"""
