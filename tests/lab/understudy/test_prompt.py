"""What stands in a prompt."""

from s02_tool_use.lab.understudy.prompt import paths_in, speaks_chinese


def test_file_names_are_found_in_a_text():
    assert paths_in("Read README.md, data/orders.csv and `名单.txt`, e.g. version 3.11 or http://a.b/c.html.") == [
        "README.md",
        "data/orders.csv",
        "名单.txt",
    ]
    assert paths_in("请读取README.md的内容") == ["README.md"]
    assert paths_in("Show me ./orders.py's tests") == ["orders.py"]
    assert paths_in("Replace '4.90' by '5.90'") == []


def test_the_language_is_that_of_the_words_around_names_and_quotations():
    assert speaks_chinese("README.md 里有什么？")
    assert speaks_chinese("`ls` 是什么")
    assert not speaks_chinese("Search for 龙井")
    assert not speaks_chinese("")
