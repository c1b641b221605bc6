import pytest

from devcluster.controllers import quantity


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], "0"),
        ([("8", 1), ("24", 4)], "104"),
        ([("40G", 1), ("200G", 4)], "840G"),
        ([("16Gi", 1), ("512Mi", 1)], "16896Mi"),
        ([("500m", 1), ("1", 1)], "1500m"),
    ],
)
def test_sums_keep_the_unit_where_they_can(parts, text):
    assert quantity.total(parts) == text


def test_what_is_no_quantity_is_said():
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.parse("many")
