"""The tests of the shop. Run them with: python test_orders.py"""

import sys

from orders import read_orders, subtotals, total
from report import lines


def equal(got, expected):
    assert got == expected, f"expected {expected}, got {got}"


def test_names_are_read_as_utf8():
    equal(read_orders()[2]["customer"], "李雷")


def test_two_orders_of_one_customer_are_added():
    equal(subtotals(read_orders())["Zoë"], 27.0)


def test_a_small_order_pays_shipping():
    equal(total(10.00), 14.90)


def test_an_order_of_exactly_50_ships_free():
    equal(total(50.00), 50.00)


def test_the_report_has_a_line_for_each_customer():
    equal(len(lines()), 4)


if __name__ == "__main__":
    tests = [test for name, test in list(globals().items()) if name.startswith("test_")]
    failed = 0
    for test in tests:
        try:
            test()
        except AssertionError as problem:
            failed += 1
            print(f"FAIL {test.__name__}: {problem}")
    print(f"{len(tests) - failed} of {len(tests)} tests passed")
    sys.exit(1 if failed else 0)
