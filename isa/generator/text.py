"""What the emitters share: the banner and string literals."""


def banner(comment, sources):
    return (f"{comment} Generated from {sources} by isa/generate.py. Do not edit; build again to regenerate.\n")


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
