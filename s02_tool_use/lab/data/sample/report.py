"""Prints one line for each customer: name and what they pay."""

from orders import read_orders, subtotals, total


def lines():
    return [f"{customer}: {total(amount):.2f}" for customer, amount in sorted(subtotals(read_orders()).items())]


if __name__ == "__main__":
    print("\n".join(lines()))
