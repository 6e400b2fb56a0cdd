"""Compares the options of a man page with those of --help: names, arguments, and
that the page's description begins with the words of --help."""
import re
import sys


def plain(roff):
    text = re.sub(r"\\f.", "", roff)
    return text.replace("\\-", "-")


def man_options(path):
    options, name, inside = {}, None, False
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith(".SH "):
            inside = line == ".SH OPTIONS"
        if not inside:
            continue
        if line.startswith((".B ", ".BR ", ".BI ")) and "--" in plain(line):
            words = plain(line.split(" ", 1)[1]).replace('", "', ",").replace(" ", "")
            words = words.replace('","', ",").replace('"', "")
            long = words[words.index("--"):]
            if long not in options and name is None:
                name = long
                options[name] = ""
                continue
        if name is not None and line.startswith(".TP"):
            name = None
        elif name is not None:
            options[name] += plain(line) + " "
            if not line.startswith("."):
                pass
        if line.startswith(".TP"):
            name = None
    return options


def help_options(path):
    options = {}
    for line in open(path, encoding="utf-8"):
        m = re.match(r"  (?:-\w,|   \s?)\s*(--[\w-]+(?:=\S+)?)\s+(.*)$", line)
        if m:
            options[m.group(1)] = m.group(2)
    return options


def main():
    man, help_ = man_options(sys.argv[1]), help_options(sys.argv[2])
    bad = 0
    if len(help_) < 20:
        print("only %d options found in --help" % len(help_))
        bad = 1
    for name in sorted(set(man) ^ set(help_)):
        print("%s is only in %s" % (name, "the man page" if name in man else "--help"))
        bad = 1
    for name in sorted(set(man) & set(help_)):
        if not man[name].startswith(help_[name].rstrip(".")):
            print("%s: man page says %r, --help says %r" % (name, man[name], help_[name]))
            bad = 1
    return bad


sys.exit(main())
