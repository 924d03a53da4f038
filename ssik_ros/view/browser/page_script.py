"""A script that a page runs before viser's own: without a graphics card it turns off what is slow to draw."""

import functools
import gzip

HEAD = b'<head>'
SCRIPT = b"""<script>(() => {
    const make = HTMLCanvasElement.prototype.getContext;
    let isSlow;
    const look = () => {
        const probe = make.call(document.createElement('canvas'), 'webgl');
        if (!probe) return false;
        const names = probe.getExtension('WEBGL_debug_renderer_info');
        const name = String(probe.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : probe.RENDERER));
        probe.getExtension('WEBGL_lose_context')?.loseContext();
        return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
    };
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
        const isDrawn = String(kind).startsWith('webgl');
        if (isDrawn && (isSlow ??= look())) options = {...options, antialias: false};
        return make.call(this, kind, options);
    };
})();</script>"""
"""Smooth edges take a processor as long to draw as everything else: each pixel is drawn four times."""


@functools.lru_cache(maxsize=4)
def add_script(body: bytes, is_packed: bool) -> bytes:
    """
    Return a page with the script; what has no head is no page and stays as it is.

    :param body: the page, as it is served.
    :param is_packed: whether it is packed by gzip.
    """
    page = gzip.decompress(body) if is_packed else body
    if HEAD not in page:
        return body
    page = page.replace(HEAD, HEAD + SCRIPT, 1)
    return gzip.compress(page) if is_packed else page
