"""Secrets are replaced while being written, and each replacement is known."""

import json

import pytest

from runners.evidence.secrets import Redactor, from_environment


def redactor(**values: str) -> Redactor:
    return Redactor(values)


def test_a_declared_value_is_replaced_wherever_it_stands() -> None:
    clean, found = redactor(TOKEN="s3cr3t-value").redact(b"a s3cr3t-value b s3cr3t-value")

    assert clean == b"a [redacted value:TOKEN] b [redacted value:TOKEN]"
    assert [item.rule for item in found] == ["value:TOKEN"] * 2


def test_offsets_are_those_of_the_written_bytes() -> None:
    clean, found = redactor(A="aaaaaaaa", B="bbbbbbbb").redact(b"x aaaaaaaa y bbbbbbbb", base=100)

    # "x " is 2 long; "[redacted value:A]" is 18 long, " y " 3: the second mark is at 2 + 18 + 3 = 23
    assert [item.offset for item in found] == [102, 123]
    assert clean[2:].startswith(b"[redacted value:A]")
    assert clean[23:].startswith(b"[redacted value:B]")


@pytest.mark.parametrize(
    ("text", "rule", "secret"),
    [
        ("Authorization: Bearer abc.def-123", "authorization_header", "abc.def-123"),
        ('{"authorization": "Basic dXNlcjpwYXNz"}', "authorization_header", "dXNlcjpwYXNz"),
        ("sent bearer 0123456789abcdef0", "bearer", "0123456789abcdef0"),
        ("token hf_AbCdEfGhIjKlMnOpQr", "huggingface", "hf_AbCdEfGhIjKlMnOpQr"),
        ("OPENAI sk-proj-0123456789abcdef", "sk_key", "sk-proj-0123456789abcdef"),
        ("postgresql://assay:geheim@db/assay", "url_password", "geheim"),
        ("Namespace(api_key='0123456789abcdef', port=1)", "api_key", "0123456789abcdef"),
        ("--api-key 0123456789abcdef", "api_key", "0123456789abcdef"),
    ],
)
def test_known_forms_are_replaced(text: str, rule: str, secret: str) -> None:
    clean, found = redactor().redact(text.encode())

    assert secret.encode() not in clean
    assert [item.rule for item in found] == [f"form:{rule}"]


@pytest.mark.parametrize(
    "text",
    [
        "use_cls_token=True max_tokens=128 eos_token_id=2",
        "api_key=None",
        "sk-learn 1.5",
        "http://127.0.0.1:8000/v1",
        "hf_hub",
        "bearer of news",
    ],
)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert redactor().redact(text.encode()) == (text.encode(), [])


def test_a_json_document_stays_one_and_names_the_place() -> None:
    document = {"args": ["--key", 'quoted"value!'], "port": 8000, "none": None}

    clean, found = redactor(KEY='quoted"value!').document(document)

    assert json.loads(json.dumps(clean))["args"][1] == "[redacted value:KEY]"
    assert found == [("/args/1", "value:KEY")]
    assert clean["port"] == 8000


def test_the_json_escaped_form_of_a_value_is_found_in_text() -> None:
    line = json.dumps({"key": 'quoted"value!'}).encode()

    assert b"value!" not in redactor(KEY='quoted"value!').redact(line)[0]


def test_a_value_too_short_to_be_told_from_text_is_named_and_not_replaced() -> None:
    short = redactor(PIN="12")

    assert short.too_short == ["PIN"]
    assert short.redact(b"12 of 12")[0] == b"12 of 12"


def test_the_longer_of_two_overlapping_values_wins() -> None:
    clean, _ = redactor(A="secret", B="secret-and-more").redact(b"secret-and-more")

    assert clean == b"[redacted value:B]"


def test_only_declared_names_are_taken_from_the_environment() -> None:
    environment = {"DECLARED": "value-one", "OTHER": "value-two"}
    clean, _ = from_environment(["DECLARED", "UNSET"], environment).redact(b"value-one value-two")

    assert clean == b"[redacted value:DECLARED] value-two"


def test_a_mask_keeps_the_length_and_leaves_known_forms() -> None:
    clean, found = redactor(KEY="top-secret-value").mask(b"top-secret-value, hf_AbCdEfGhIjKlMnOpQr")

    assert clean == b"****************, hf_AbCdEfGhIjKlMnOpQr"  # 16 characters
    assert [(item.offset, item.rule) for item in found] == [(0, "value:KEY")]
    assert not redactor().knows_values
