"""Documents of people: text, Markdown, HTML, PDF and Word become chunks with their headings as breadcrumbs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.retrieval.chunking.chunks import Chunker
from trueval.retrieval.chunking.corpus_chunks import ChunkedCorpus, chunk_corpus

need("pypdf", "docx", extra="retrieval")

HTML = """<!doctype html><html><head><title>Bridges</title><style>p {}</style></head><body><nav>Home</nav>
<h1>Old <em>arches</em></h1><p>Stone   carries
more.</p><h2>Load</h2><ul><li>A truck.</li><li>Two &amp; a half.</li></ul><script>var x = "no";</script>
<table><tr><th>Year</th><td>1840</td></tr></table></body></html>"""


def chunked(place: Path, tmp_path: Path, **settings: Any) -> tuple[list[dict[str, Any]], ChunkedCorpus]:
    out = tmp_path / "chunks.jsonl"
    found = chunk_corpus(place, out, Chunker(**settings))
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()], found


def texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["_id"]: row["text"] for row in rows}


def pdf(pages: list[str], outline: dict[int, str], *, password: str = "", title: str = "") -> bytes:
    """A PDF whose pages show a line of text each, made by the library's own writer."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for words in pages:
        page = writer.add_blank_page(300, 200)
        font = DictionaryObject(
            {
                NameObject(f"/{key}"): NameObject(f"/{value}")
                for key, value in {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}.items()
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 100 Td ({words}) Tj ET".encode() if words else b"")
        page[NameObject("/Contents")] = writer._add_object(stream)
    for page_number, name in outline.items():
        writer.add_outline_item(title=name, page_number=page_number)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password)
    held = io.BytesIO()
    writer.write(held)
    return held.getvalue()


def test_markdown_and_text_keep_their_headings_and_paths(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("---\ntags: x\n---\n# Wings\n\nLift.\n\n## Drag\n\nForce.\n", encoding="utf-8")
    (folder / "deep" / "b.txt").write_bytes("\ufeffÉcoulement.\r\nFin.".encode())
    rows, found = chunked(folder, tmp_path)
    assert texts(rows) == {
        "a.md#0": "Wings\nLift.",
        "a.md#1": "Wings › Drag\nForce.",
        "deep/b.txt#0": "b\nÉcoulement.\nFin.",
    }
    assert found.notes == []


def test_html_has_its_blocks_and_headings_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(HTML, encoding="utf-8")
    rows, _ = chunked(tmp_path / "page.html", tmp_path)
    assert texts(rows) == {
        "page.html#0": "Old arches\nStone carries more.",
        "page.html#1": "Old arches › Load\nA truck.\nTwo & a half.\n\nYear 1840",
    }


def test_pdf_has_its_pages_and_its_outline(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(
        pdf(["First words.", "Second words."], {0: "One", 1: "Two"}, title="A  report")
    )
    rows, _ = chunked(tmp_path / "report.pdf", tmp_path)
    assert texts(rows) == {
        "report.pdf#0": "A report › One\nFirst words.",
        "report.pdf#1": "A report › Two\nSecond words.",
    }


def test_word_has_its_headings_and_tables_in_order(tmp_path: Path) -> None:
    import docx

    file = docx.Document()
    file.add_heading("Manual", 0)
    file.add_paragraph("Read this.")
    file.add_heading("Parts", 1)
    table = file.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "bolt", "4"
    file.save(str(tmp_path / "manual.docx"))
    rows, _ = chunked(tmp_path / "manual.docx", tmp_path)
    assert list(texts(rows).values()) == ["Manual\nRead this.", "Parts\nbolt | 4"]


def test_what_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.txt").write_text("Words.", encoding="utf-8")
    (folder / "latin.txt").write_bytes("Été".encode("latin-1"))
    (folder / "scan.pdf").write_bytes(pdf(["", ""], {}))
    (folder / "secret.pdf").write_bytes(pdf(["Words."], {}, password="x"))
    (folder / "damaged.docx").write_bytes(b"PK\x03\x04 nothing")
    (folder / "picture.png").write_bytes(b"x")
    (folder / ".hidden.txt").write_text("no", encoding="utf-8")
    rows, found = chunked(folder, tmp_path)
    assert list(texts(rows)) == ["good.txt#0"]
    (note,) = found.notes
    assert note.startswith(f"{folder}: 5 files were skipped: picture.png: not a document; ")
    assert "damaged.docx: no Word document that can be read" in note
    assert "latin.txt: not UTF-8 at byte 0; save it as UTF-8" in note
    assert note.endswith("; and 2 more.")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("scan.pdf", pdf([""], {}), "scan.pdf: no text in it, as in scans; run OCR first"),
        ("secret.pdf", pdf(["Words."], {}, password="x"), "secret.pdf: encrypted; remove its password"),
        ("broken.pdf", b"%PDF-1.4 nothing", "broken.pdf: no PDF that can be read"),
        ("empty.md", b"\n\n", "empty.md: no text in it"),
    ],
)
def test_a_file_that_is_all_there_is_is_an_error(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match="no document could be read") as caught:
        chunked(tmp_path / name, tmp_path)
    assert words in str(caught.value)
    assert not (tmp_path / "chunks.jsonl").exists()


def test_a_collection_with_a_readme_is_a_collection(tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "Words."}\n', encoding="utf-8")
    (folder / "README.md").write_text("# About", encoding="utf-8")
    rows, _ = chunked(folder, tmp_path)
    assert list(texts(rows)) == ["d#0"]
