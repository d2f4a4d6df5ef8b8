"""Build the site, or README.md, without Quarto.

python .ci/docs.py                  the site, in _docs
python .ci/docs.py --readme [FILE]  README.md, or another file, from nbs/index.ipynb

Copies of the notebooks are executed, nbdev turns them into pages with signatures and links, smalldocs renders the pages.
The result needs no server and no other host: links are relative, maths and search come along.
"""
import json, multiprocessing, os, re, shutil, subprocess, sys, tarfile, time
from pathlib import Path

import yaml
from execnb.nbio import read_nb, write_nb
from execnb.shell import CaptureShell
from nbdev.config import get_config
from nbdev.doclinks import _nbpath2html
from nbdev.process import NBProcessor
from nbdev.quarto import refresh_quarto_yml
from nbdev.serve import proc_nbs

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT)) # worker processes inherit it
BUILD = ROOT / 'build' / 'nbs'
SHOWN_AS_CODE = ('tests/', 'benchmarks/') # their readers want the code, not signatures
KATEX_VERSION = '0.16.11'
KATEX = f'https://cdn.jsdelivr.net/npm/katex@{KATEX_VERSION}/dist' # where smalldocs' pages look for it
FETCH = 'const r = await fetch(offset + "search.json");\n      index = await r.json();'
LOAD = """index = await new Promise((done, fail) => {
        const s = document.createElement("script");
        Object.assign(s, { src: offset + "search.js", onload: () => done(window.siteIndex), onerror: fail });
        document.head.append(s);
      });"""


def skipped(cell, flags):
    "Whether `nbdev_test` would leave this cell out too"
    if cell.cell_type != 'code' or 'nbdev_export(' in cell.source: return True
    directives = getattr(cell, 'directives_', None) or {}
    return directives.get('eval:', [''])[0].lower() == 'false' or bool(flags & directives.keys())


def mark(cell, shown):
    "Tell nbdev what to leave as it is: code that is to be shown, and examples with imports, which it would run once more and out of order"
    if shown: cell.source = re.sub(r'^#\| *exports?\n', '', cell.source)
    is_example = cell.cell_type == 'code' and not re.search(r'^#\| *(export|exec_doc)', cell.source, re.M)
    if is_example and re.search(r'^ *(import|from) ', cell.source, re.M): cell.source = f'#| eval: false\n{cell.source}'


def execute(name):
    "Fill in the outputs of the copy of one notebook; the text of the error, if there is one"
    source, flags = ROOT / 'nbs' / name, set(get_config(path=ROOT).tst_flags.split())
    os.environ['IN_TEST'] = '1' # nbdev_export() in a notebook does nothing
    os.chdir(source.parent)
    notebook, marked = read_nb(source), NBProcessor(source, process=True).nb
    shell = CaptureShell(source)
    try: shell.run_all(notebook, exc_stop=True, preproc=lambda cell: skipped(marked.cells[cell.idx_], flags))
    except Exception: return shell.prettytb(fname=source)
    for cell in notebook.cells: mark(cell, name.startswith(SHOWN_AS_CODE))
    (BUILD / name).parent.mkdir(parents=True, exist_ok=True)
    write_nb(notebook, BUILD / name)


def execute_all(names):
    "Execute notebooks two at a time, each in a process of its own"
    with multiprocessing.get_context('spawn').Pool(2, maxtasksperchild=1) as pool:
        for error in pool.imap(execute, names, chunksize=1):
            if error: sys.exit(error)


def output_text(output):
    "What a cell printed or showed, as text"
    if output['output_type'] == 'stream': return ''.join(output['text'])
    data = output['data']
    if any(kind.startswith('image/') for kind in data): sys.exit('index.ipynb: a figure cannot go into README.md')
    return ''.join(data.get('text/plain', '')) + '\n'


def readme_text(notebook):
    "An executed notebook as Markdown: prose as it is, code in fences, outputs below their code"
    parts = []
    for cell in notebook.cells:
        source = ''.join(cell.source)
        if cell.cell_type == 'markdown': parts.append(source)
        elif not re.search(r'^#\| *hide', source, re.M):
            parts.append(f"```python\n{re.sub(r'^#[|].*$', '', source, flags=re.M).strip()}\n```")
            if shown := ''.join(map(output_text, cell.outputs)).rstrip(): parts.append(f'```text\n{shown}\n```')
    return '\n\n'.join(o.strip() for o in parts) + '\n'


def expand(contents, left):
    "The sidebar's entries with each glob replaced by its notebooks in the order of their names, and empty sections gone"
    out = []
    for entry in contents:
        if isinstance(entry, dict):
            if inner := expand(entry['contents'], left): out.append({**entry, 'contents': inner})
            continue
        glob = entry.lstrip('/')
        for name in sorted(o for o in left if Path(o).match(glob) and o.count('/') == glob.count('/')):
            left.remove(name)
            out.append(page_name(name))
    return out


def page_name(name):
    "The name that nbdev's links use: estimate/01_weights.ipynb is linked as estimate/weights.html"
    return str(_nbpath2html(Path(name)).with_suffix('.ipynb'))


def lay_out(pages, names):
    "Name the pages as they are linked, and write the sidebar out"
    for name in names:
        notebook = read_nb(pages / name)
        notebook.cells[0].source = re.sub(r'^output-file:.*\n', '', notebook.cells[0].source, flags=re.M)
        (pages / name).unlink()
        write_nb(notebook, pages / page_name(name))
    options = yaml.safe_load((ROOT / 'nbs' / '_quarto.yml').read_text(encoding='utf-8'))
    sidebar, left = options['website']['sidebar'], list(names)
    sidebar['contents'] = expand(sidebar['contents'], left)
    if left: sys.exit(f'nbs/_quarto.yml: no entry of the sidebar matches {", ".join(left)}')
    del options['format']['commonmark'] # Quarto's own; smalldocs makes HTML only
    (pages / '_quarto.yml').write_text(yaml.safe_dump(options, sort_keys=False), encoding='utf-8')


def vendor_katex(site):
    "Lay KaTeX, from the npm registry, into the site"
    packed = subprocess.run(['npm', 'pack', '--silent', f'katex@{KATEX_VERSION}'], cwd=site, check=True, capture_output=True, text=True)
    archive = site / packed.stdout.strip()
    wanted = ('katex.min.css', 'katex.min.js', 'auto-render.min.js', '.woff2')
    with tarfile.open(archive) as t:
        for member in t:
            if member.name.startswith('package/dist/') and member.name.endswith(wanted):
                member.name = member.name.replace('package/dist', 'site_libs/katex')
                t.extract(member, site, filter='data')
    archive.unlink()
    style = site / 'site_libs' / 'katex' / 'katex.min.css' # it names each font in two older formats too
    style.write_text(re.sub(r',url\(fonts/[^)]*\.(woff|ttf)\) format\("\w+"\)', '', style.read_text(encoding='utf-8')), encoding='utf-8')


def source_pages(site):
    "The exported modules as pages with an anchor for each line"
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer
    for file in sorted((ROOT / 'iteragpu_lab').rglob('*.py')):
        name = file.relative_to(ROOT).as_posix()
        page = site / 'source' / f'{name}.html'
        page.parent.mkdir(parents=True, exist_ok=True)
        style = HtmlFormatter(full=True, title=name, linenos='inline', lineanchors='L')
        page.write_text(highlight(file.read_text(encoding='utf-8'), PythonLexer(), style), encoding='utf-8')


def localize(site, config):
    "Make every link of our own relative, so that the site works in any folder and without a server"
    own, sources = f'{config.doc_host}{config.doc_baseurl}/', f'{config.git_url}/blob/{config.branch}/'
    pages = {file: file.read_text(encoding='utf-8') for file in site.rglob('*.html')}
    anchors = {file.relative_to(site).as_posix(): set(re.findall(r'\bid="([^"]+)"', text)) for file, text in pages.items()}
    if any(KATEX in text for text in pages.values()): vendor_katex(site)
    for file, text in pages.items():
        up = '../' * (len(file.relative_to(site).parts) - 1)
        def to_symbol(link): # nbdev links private symbols too, which have no anchor: lead to their page
            page, anchor = link.groups()
            return f'href="{up}{page}#{anchor}"' if anchor in anchors.get(page, ()) else f'href="{up}{page}"'
        text = re.sub(re.escape(f'href="{sources}') + r'([\w/.]+)#L(\d+)"', rf'href="{up}source/\1.html#L-\2"', text)
        text = re.sub(re.escape(f'href="{own}') + r'([^"#]+)#([^"]+)"', to_symbol, text)
        text = text.replace(f'href="{own}', f'href="{up}').replace(KATEX, f'{up}site_libs/katex')
        file.write_text(text, encoding='utf-8')


def own_fonts(site):
    "Themes fetch a font from another host; without it the next of their list is used, the system's own"
    for file in (site / 'site_libs' / 'themes').glob('*.css'):
        file.write_text(re.sub(r'@import url\(https?:[^)]*\);', '', file.read_text(encoding='utf-8')), encoding='utf-8')


def search_without_server(site):
    "Browsers do not fetch JSON from the file system, but they load scripts: keep the index as one"
    index = json.loads((site / 'search.json').read_text(encoding='utf-8'))
    (site / 'search.js').write_text(f'window.siteIndex = {json.dumps(index, ensure_ascii=False)};\n', encoding='utf-8')
    script = site / 'site_libs' / 'smalldocs.js'
    text = script.read_text(encoding='utf-8')
    if text.count(FETCH) != 1: sys.exit('smalldocs loads its search index in another way than expected')
    script.write_text(text.replace(FETCH, LOAD), encoding='utf-8')


def build_site(config):
    "Execute, process, lay out, render"
    started = time.monotonic()
    for folder in (BUILD, ROOT / '_proc'): shutil.rmtree(folder, ignore_errors=True)
    refresh_quarto_yml() # nbs/nbdev.yml
    shutil.copytree(ROOT / 'nbs', BUILD, ignore=shutil.ignore_patterns('.*'))
    names = sorted(o.relative_to(BUILD).as_posix() for o in BUILD.rglob('*.ipynb'))
    execute_all(names)
    print(f'{len(names)} notebooks executed after {time.monotonic() - started:.0f} s', flush=True)
    pages = proc_nbs(BUILD, n_workers=2, force=True)
    lay_out(pages, names)
    subprocess.run([Path(sys.executable).parent / 'smalldocs', 'render', '--strict', '--quiet', pages], check=True)
    shutil.rmtree(config.doc_path, ignore_errors=True)
    site = Path(shutil.move(pages / config.doc_path.name, config.doc_path))
    localize(site, config)
    source_pages(site)
    own_fonts(site)
    search_without_server(site)
    print(f'site built after {time.monotonic() - started:.0f} s')


def build_readme(target):
    "Execute the index and write it as Markdown"
    if error := execute('index.ipynb'): sys.exit(error)
    target.write_text(readme_text(read_nb(BUILD / 'index.ipynb')), encoding='utf-8')


def main(arguments):
    target = Path(arguments[1]).absolute() if len(arguments) > 1 else ROOT / 'README.md'
    os.chdir(ROOT)
    if arguments[:1] == ['--readme']: return build_readme(target)
    if arguments: sys.exit(__doc__)
    build_site(get_config())


if __name__ == '__main__': main(sys.argv[1:])
