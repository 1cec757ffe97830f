"""`children()` looks at fewer members than there are; it must not miss one."""

import pytest

from watchkeeper.promql import nodes, parse, walk

EXPRESSIONS = [
    'sum by (a, b) (rate(x{a="b", c=~"d"}[5m] offset 1m)) / on (a) group_left (c) (y @ 100 > bool 1)',
    "topk(3, -x) or (absent(y) unless fill_in) and count_values('v', z)",
    "x[1h:5m] offset (1m + 2m) @ start()",
    "rate(x[step() * 2])",
    "a + fill_left(0) b",
]
DASHBOARD = ['rate($metric{a="$b", $c}[$__rate_interval] offset $d)', "sum by ($x) (${y}_total) > $z", "x[${n}m:$s]"]


@pytest.mark.parametrize(("text", "variables"), [*((e, False) for e in EXPRESSIONS), *((e, True) for e in DASHBOARD)])
def test_no_child_is_missed(text, variables):
    for node in walk(parse(text, variables=variables)):
        members = [getattr(node, name) for name in node._fields]
        flat = [item for member in members for item in (member if isinstance(member, tuple) else (member,))]
        assert list(map(id, node.children())) == [id(item) for item in flat if isinstance(item, nodes.Node)]
