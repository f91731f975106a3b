"""Show files of the repository that pages link to, such as source code, on pages of their own."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((\.\./[^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".toml": "toml", ".html": "html", ".json": "json", ".js": "js"}


def linked_files(text):
    """Files outside docs/ that a page links to, by their path in the repository."""
    return {target.removeprefix("../").rstrip("/") for target, _ in LINK.findall(text)}


def source_page(path):
    """Where the site shows a file of the repository."""
    return f"source/{path}.md"


def on_files(files, config):
    """Add a page for every file that is linked."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    for path in sorted(linked_files(text)):
        file = ROOT / path
        if file.suffix == ".md":
            page = LINK.sub("]", file.read_text(encoding="utf-8"))
            page = re.sub(r"\]\((?!https?:)[^)\s]+\)", "]", page)
        elif file.is_dir():
            names = sorted(p.name for p in file.iterdir() if not p.name.startswith(("_", ".")))
            page = f"# {path}\n\n" + "\n".join(f"- `{name}`" for name in names)
        else:
            code = file.read_text(encoding="utf-8").replace("```", "`\u200b``")
            language = LANGUAGES.get(file.suffix, "text")
            page = f'# {path}\n\n```{language} linenums="1"\n{code}\n```\n'
        files.append(File.generated(config, source_page(path), content=page))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lead links to files of the repository to their pages."""
    here = posixpath.dirname(page.file.src_uri)

    def lead(match):
        target = source_page(match[1].removeprefix("../").rstrip("/"))
        return f"]({posixpath.relpath(target, here or '.')})"

    return LINK.sub(lead, markdown)
