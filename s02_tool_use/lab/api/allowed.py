"""What a request may hold by its headers and by its model: versions, betas and what they bring, levels of effort."""

import re
from collections.abc import Collection

from ...history.system import version_of

VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")  # of the API

_OF_THE_SDK = """
    admin-user-sign-out-2026-10-08 advisor-tool-2026-03-01 agent-memory-2026-07-22 analytics-usage-cost-2026-08-24
    cache-diagnosis-2026-04-07 ce-claude-code-managed-settings-2026-10-06 ce-plugins-2026-09-01
    ce-user-management-2026-07-13 code-execution-2025-05-22 compact-2026-01-12 compact-2026-09-04
    computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24 context-1m-2025-08-07
    context-management-2025-06-27 dev-full-thinking-2025-05-14 dreaming-2026-04-21 efs-2026-10-01
    experimental-claude-tag-2026-10-21 extended-cache-ttl-2025-04-11 fallback-credit-2026-06-01
    fallback-credit-2026-07-01 fast-mode-2026-02-01 files-api-2025-04-14 google-managed-data-controls-2026-09-01
    inline-tools-2026-09-15 interleaved-thinking-2025-05-14 managed-agents-2026-04-01 mcp-client-2025-04-04
    mcp-client-2025-11-20 mcp-client-2026-09-15 mcp-tunnels-2026-06-22 message-batches-2024-09-24
    message-threads-2026-08-12 mid-conversation-output-config-2026-07-01 mid-conversation-system-clear-at-2026-08-21
    mid-conversation-tool-changes-2026-07-01 model-context-window-exceeded-2025-08-26 output-128k-2025-02-19
    output-300k-2026-03-24 pdfs-2024-09-25 prompt-caching-2024-07-31 server-side-fallback-2026-06-01
    server-side-fallback-2026-07-01 skills-2025-10-02 spend-limit-reads-2026-09-26 structured-outputs-2025-11-13
    task-budgets-2026-03-13 telemetry-destinations-2026-08-11 thinking-binding-controls-2026-08-01
    thinking-display-updates-2026-08-18 thinking-token-count-2026-05-13 token-counting-2024-11-01
    token-efficient-tools-2025-02-19 user-profiles-2026-03-24 user-profiles-2026-08-18 user-profiles-2026-09-04
    user-profiles-billing-2026-10-01 webhooks-2026-10-07
"""
# Sent by Claude Code 2.1 and other clients, and accepted; the SDK does not list them, or no longer.
_OF_CLIENTS = """
    advanced-tool-use-2025-11-20 afk-mode-2026-01-31 auto-mode-classifier-2026-07-16 cache-keepalive-2026-09-03
    ccr-byoc-2025-07-29 ccr-triggers-2026-01-30 claude-code-20250219 claude-code-side-query-2026-09-29
    code-execution-2025-08-25 context-hint-2026-04-09 dangerous-tool-use-2026-09-03 effort-2025-11-24
    environments-2025-11-01 fine-grained-tool-streaming-2025-05-14 max-tokens-3-5-sonnet-2024-07-15
    mcp-servers-2025-12-04 messages-2023-12-15 mid-conversation-system-2026-04-07 oauth-2025-04-20
    oidc-federation-2026-04-01 per-turn-control-2026-07-01 program-use-case-ids-2026-09-17
    prompt-caching-evict-2026-05-12 prompt-caching-scope-2026-01-05 redact-thinking-2026-02-12
    request-tags-2026-08-21 resumption-2026-10-08 structured-outputs-2025-12-15 subagent-review-2026-11-17
    summarize-connector-text-2026-03-13 thinking-resumption-2026-07-17 timing-2026-09-09 tool-examples-2025-10-29
    tool-provenance-2026-10-26 tool-search-tool-2025-10-19 tools-2024-04-04 tools-2024-05-16 web-fetch-2025-09-10
    web-search-2025-03-05 web-search-results-only-2026-11-15
"""
BETAS = frozenset((_OF_THE_SDK + _OF_CLIENTS).split())

# A beta, without its date -> the fields, types of tools and types of blocks that it brings.
BRINGS = {
    "advisor-tool": "advisor_20260301 advisor_tool_result",
    "compact": "compaction context_management",
    "computer-use": "bash_20241022 computer_20241022 computer_20250124 computer_20251124 text_editor_20241022",
    "context-management": "context_management",
    "fallback-credit": "fallback_credit_token",
    "inline-tools": "tool_addition tool_removal",
    "mcp-client": "mcp_servers mcp_toolset mcp_tool_use mcp_tool_result mcp_tool_listing",
    "mid-conversation-system-clear-at": "clear_at",
    "mid-conversation-tool-changes": "tool_addition tool_removal",
    "prompt-caching-scope": "scope",
    "server-side-fallback": "fallbacks fallback",
    "structured-outputs": "output_format",
    "task-budgets": "task_budget",
    "thinking-binding-controls": "block_binding",
    "user-profiles-billing": "billing_policy",
}
NEED_A_BETA = frozenset(name for names in BRINGS.values() for name in names.split())


def lacking(betas: Collection[str] | None) -> frozenset[str]:
    """What a request with these betas may not hold. None: they are not known, so only what is never sent without."""
    if betas is None:
        return frozenset({"scope"})
    families = {re.sub(r"-\d{4}-\d\d-\d\d$", "", beta) for beta in betas}
    return NEED_A_BETA - {name for family in families for name in BRINGS.get(family, "").split()}


def effort_levels(model: str) -> list[str]:
    """From the models of 4.7 on: all. Those of 4.6 lack one, and before them only one model has any."""
    version = version_of(model)
    if version is None or version >= (4, 7):
        return ["high", "low", "max", "medium", "xhigh"]
    if version == (4, 6):
        return ["high", "low", "max", "medium"]
    return ["high", "low", "medium"] if version == (4, 5) and "opus" in model else []
