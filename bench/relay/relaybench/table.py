"""Text tables for people."""


def table(head, rows):
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def number(value, digits=3):
    """About `digits` significant digits, thousands separated."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    decimals = max(0, digits - 1 - (len(str(int(abs(value)))) - 1))
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.") else text


def with_spread(found):
    return f"{number(found['median'])} [{number(found['min'])} .. {number(found['max'])}]"
