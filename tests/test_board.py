"""The table of boards, and the rates of links in the documents."""

from __future__ import annotations

import re

from rbdhw.board import BOARDS, UART
from tests.support.documents import ROOT

PAGE = (ROOT / "docs/boards.md").read_text()


def test_rates_of_links_in_the_documents() -> None:
    rows = re.findall(r"^\| (.*) \| ([\d,]+) packets/s \| computed \|$", PAGE, re.MULTILINE)
    rates = {title: int(rate.replace(",", "")) for title, rate in rows}
    assert rates == {board.link.title: int(board.link.packets_per_second(64)) for board in BOARDS.values()}


def test_a_packet_takes_its_overhead() -> None:
    assert UART.packets_per_second(60) == 92_160 / 64


def test_the_documents_have_every_board() -> None:
    firsts = "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))
    assert set(re.findall(r"`([\w-]+)`", firsts)) >= set(BOARDS)
