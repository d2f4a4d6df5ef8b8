# Everything is set in settings.ini; this file only reads it.
import shlex
from configparser import ConfigParser
from pathlib import Path

import setuptools
from setuptools.command.sdist import sdist

config = ConfigParser(delimiters=['='])
config.read('settings.ini', encoding='utf-8')
cfg = config['DEFAULT']
EXTRA = '_requirements'
DATA = [str(o.relative_to('data')) for o in sorted(Path('data').rglob('*')) if o.is_file()]
CHAPTERS = [str(o.relative_to('nbs/workbook')) for o in sorted(Path('nbs/workbook').rglob('*')) if o.is_file() and '.ipynb_checkpoints' not in o.parts]


class SdistWithSettings(sdist):
    "Ship settings.ini, which this file needs, in the source distribution"
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, [*files, 'settings.ini'])


def requirements(key):
    return shlex.split(cfg.get(key, ''))


setuptools.setup(
    name=cfg['lib_name'], version=cfg['version'], description=cfg['description'], keywords=cfg['keywords'],
    author=cfg['author'], author_email=cfg['author_email'], url=cfg['git_url'],
    license='MIT', license_files=['LICENSE.txt'], python_requires=f">={cfg['min_python']}",
    classifiers=['Development Status :: 4 - Beta', f"Intended Audience :: {cfg['audience']}",
                 f"Natural Language :: {cfg['language']}", 'Programming Language :: Python :: 3 :: Only'],
    long_description=Path('README.md').read_text(encoding='utf-8'), long_description_content_type='text/markdown',
    packages=[*setuptools.find_packages(include=[cfg['lib_path'], cfg['lib_path'] + '.*']), 'iteragpu_lab.data', 'iteragpu_lab.workbook'],
    package_dir={'iteragpu_lab.data': 'data', 'iteragpu_lab.workbook': 'nbs/workbook'},
    package_data={'iteragpu_lab.data': DATA, 'iteragpu_lab.workbook': CHAPTERS},
    install_requires=requirements('requirements'),
    extras_require={k[:-len(EXTRA)]: requirements(k) for k in cfg if k.endswith(EXTRA)},
    entry_points={'console_scripts': cfg['console_scripts'].split(),
                  'nbdev': [f"{cfg['lib_path']}={cfg['lib_path']}._modidx:d"]},
    cmdclass={'sdist': SdistWithSettings}, zip_safe=False)
