"""How Sphinx builds the site: ``make docs``. ``tools/site_sources.py`` collects sources outside ``docs/``."""

from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]

import search_words  # noqa: E402
import site_pages  # noqa: E402
import site_sources  # noqa: E402

from ssik_ros import __version__  # noqa: E402

project = 'ssik_ros'
author = 'ssik_ros contributors'
copyright = author
version = release = __version__

extensions = [
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.intersphinx',
    'sphinx_copybutton',
    'sphinx_gallery.gen_gallery',
]
templates_path = ['_templates']
exclude_patterns = ['examples/*.py', 'examples/*.ipynb', 'examples/*.json', 'examples/*.zip']
nitpicky = False

myst_enable_extensions = ['colon_fence', 'deflist', 'attrs_block', 'attrs_inline']
myst_heading_anchors = 4

autodoc_typehints = 'description'
autodoc_typehints_format = 'short'
autodoc_member_order = 'bysource'
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

# Only inventories that respond: a machine without a network builds the same pages without links to others.
intersphinx_mapping = site_sources.reachable_inventories(
    {
        'python': 'https://docs.python.org/3/',
        'numpy': 'https://numpy.org/doc/stable/',
        'scipy': 'https://docs.scipy.org/doc/scipy/',
    }
)

copybutton_prompt_text = r'\$ |>>> |\.\.\. '
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    'examples_dirs': str(
        site_sources.copy_examples(ROOT / 'examples', ROOT / 'build/docs/examples')
    ),
    'gallery_dirs': 'examples',
    'filename_pattern': site_sources.runnable_examples(),
    'within_subsection_order': 'FileNameSortKey',
    'image_scrapers': (),
    'reset_modules': (),
    'download_all_examples': False,
    'show_memory': False,
    'write_computation_times': False,
    'min_reported_time': 1e9,
    'show_signature': False,
    'remove_config_comments': True,
    'abort_on_example_error': True,
}

html_theme = 'furo'
html_title = 'ssik_ros'
html_favicon = '_static/favicon.svg'
html_static_path = ['_static']
html_extra_path = [str(site_sources.write_scenes(ROOT / 'build/docs/extra'))]
html_css_files = ['site.css']
html_js_files = ['fold.js']
html_search_scorer = str(ROOT / 'docs/search_scorer.js')
html_copy_source = False
html_show_sourcelink = False
# Attributes of the same name in several classes: docstrings name them without their class.
suppress_warnings = ['config.cache', 'ref.python']


def setup(app):
    """
    Rewrite links out of ``docs/``, add words to the index, fold long pages, and mark pictures with a white ground.

    :param app: of Sphinx.
    """
    app.connect('source-read', site_sources.rewrite_links)
    app.connect('source-read', search_words.add_index_entries)
    app.connect('doctree-resolved', site_pages.mark_white_pictures)
    app.connect('doctree-resolved', site_pages.fold_sections)
