"""The notation of --verify-diagnostics."""

from __future__ import annotations

from xpu_shark.compiler.expected_diagnostics import Diagnostic, expectations, mismatches


def problems(source: str, *said: Diagnostic, first_line: int = 1) -> list[str]:
    return mismatches(expectations(source, first_line), said, "f.mlir")


def at(line: int, kind: str = "error", message: str = "bad op") -> Diagnostic:
    return Diagnostic(kind, message, "f.mlir", line, 3)


def test_text_may_be_part_of_the_message() -> None:
    assert problems("foo // expected-error {{bad}}", at(1)) == []


def test_places_count_from_the_comment() -> None:
    assert problems("// expected-error @+1 {{bad}}\nfoo", at(2)) == []
    assert problems("foo\n// expected-error @-1 {{bad}}", at(1)) == []
    assert problems("foo\n// expected-error @above {{bad}}", at(1)) == []


def test_below_skips_other_comments_of_the_kind() -> None:
    source = "// expected-error @below {{bad}}\n// expected-remark @below {{hm}}\nfoo"
    assert problems(source, at(3), at(3, "remark", "hm")) == []


def test_lines_count_from_the_first_line_of_the_part() -> None:
    assert problems("\nfoo // expected-error {{bad}}", at(12), first_line=11) == []


def test_a_diagnostic_without_a_place_is_expected_at_unknown() -> None:
    assert problems("// expected-error @unknown {{bad}}", Diagnostic("error", "bad op")) == []


def test_several_comments_fit_on_one_line() -> None:
    source = "foo // expected-error {{bad}} expected-note {{here}}"
    assert problems(source, at(1), at(1, "note", "see here")) == []


def test_a_regex_is_only_what_stands_in_inner_braces() -> None:
    source = "foo // expected-error-re {{takes {{[0-9]+}} ns (a.b)}}"
    assert problems(source, at(1, message="takes 17 ns (a.b)")) == []
    assert len(problems(source, at(1, message="takes 17 ns (axb)"))) == 2


def test_each_comment_stands_for_one_diagnostic() -> None:
    assert problems("foo // expected-error {{bad}}", at(1), at(1)) == [
        "unexpected: f.mlir:1:3: error: bad op"
    ]


def test_kind_line_and_text_all_have_to_match() -> None:
    for said in (at(1, "warning"), at(2), at(1, message="good op")):
        assert problems("foo // expected-error {{bad}}", said) == [
            f"unexpected: {said}",
            'missing: f.mlir:1: error "bad"',
        ]
