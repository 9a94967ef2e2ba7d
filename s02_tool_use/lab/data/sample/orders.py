"""Reads the shop's orders and computes what each customer pays."""

import csv

SHIPPING = 4.90
FREE_SHIPPING_FROM = 50.00


def read_orders(path="data/orders.csv"):
    """Return the lines of the file as dicts: customer, tea, grams, price_per_100g."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def subtotals(orders):
    """Return what each customer's tea costs, without shipping: {customer: amount}."""
    sums = {}
    for order in orders:
        price = int(order["grams"]) / 100 * float(order["price_per_100g"])
        sums[order["customer"]] = sums.get(order["customer"], 0) + price
    return sums


def total(subtotal):
    """Return what a customer pays: the tea, and shipping unless the order is large enough."""
    if subtotal > FREE_SHIPPING_FROM:
        return round(subtotal, 2)
    return round(subtotal + SHIPPING, 2)
