"""
The script that this package adds to viser's page; it runs before viser's own script.

It exchanges the token in the address for a key of the session, and opens the websocket with the key. The key stays in
the storage of the tab, which only this origin, port included, can read. Without a graphics card it turns off smooth
edges, which are slow to draw.

While a button is held in the scene, joint values do not wait for slow frames. The script passes each motion of the mouse
on at once, where browsers wait for the next frame, and applies the messages of the server at once. If frames take longer
than 30 ms, it halves the resolution of the scene until the button is released.

On a narrow screen the panels are as wide as the screen, of which viser leaves a third empty, and the scene ends where they
begin, because viser covers its lower half.

In the table of branches, a click on a row presses the button that takes the branch. The row under the mouse is sent as
the value of a hidden control. A button marked ``data-copy`` copies the text after it.
"""

import functools
import gzip

HEAD = b'<head>'
SCRIPT = b"""<style>@media (max-width: 36em) {
    [style*="width: 20em"] { width: 100% !important; }
    [style*="background-color"][style*="flex-grow: 1; height: 100%"] { height: calc(100% - var(--panels, 60%)) !important; }
}</style><script>(() => {
    const given = location.hash.slice(1), stored = 'ssik_view_key';
    history.replaceState(null, '', '/');
    const request = new XMLHttpRequest();
    const exchange = secret => {
        request.open('GET', '/session', false);
        request.setRequestHeader('Authorization', 'Bearer ' + encodeURIComponent(secret));
        try { request.send(); } catch { return ''; }
        return request.status === 200 ? request.responseText : '';
    };
    const key = (given && exchange(given)) || exchange(sessionStorage.getItem(stored) ?? '');
    if (!key) {
        sessionStorage.removeItem(stored);
        window.stop();
        document.documentElement.textContent = request.responseText || 'The view has ended.';
        return;
    }
    sessionStorage.setItem(stored, key);
    const server = location.origin.replace(/^http/, 'ws') + '/?key=' + key;
    const post = Worker.prototype.postMessage;
    let socket, isHeld = false, halvings = 0;
    // Values that come while a button is held do not wait for a frame.
    const listen = worker => {
        socket = worker;
        worker.addEventListener('message', () => { if (isHeld) window.__viserMutable?.drainMessageQueue?.(); });
    };
    Worker.prototype.postMessage = function (message, ...more) {
        const isAddress = message?.type === 'set_server', sent = message?.message;
        if (sent?.type === 'ViewerCameraMessage') {
            // Pictures keep the full resolution.
            sent.image_width *= 2 ** halvings;
            sent.image_height *= 2 ** halvings;
        }
        if (isAddress) listen(this);
        return post.call(this, isAddress ? {...message, server} : message, ...more);
    };
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
    let canvas, last = {timeStamp: 0}, wanted, frames = 0, since, rest;
    const draw = ratio => window.__viserTestpoints?.devSettings?.set?.({fixedDpr: ratio});
    const sharpen = () => { halvings = 0; draw(null); };
    const coarsen = () => {
        const {width, height, clientWidth} = canvas;
        wanted ??= isSlow ? 1 : 0;
        if (!isHeld || halvings >= wanted || width * height < 250000) return;
        halvings += 1;
        draw(0.5 * width / clientWidth);
    };
    const watch = now => {
        if (frames === 0) since = now;
        frames = isHeld && frames < 10 ? frames + 1 : 0;
        if (frames === 10 && now - since > 300) wanted = halvings + 1;
        if (isHeld) requestAnimationFrame(watch);
    };
    window.addEventListener('pointerdown', event => {
        clearTimeout(rest);
        canvas = event.target;
        isHeld = canvas.tagName === 'CANVAS';
        requestAnimationFrame(watch);
    }, true);
    const release = () => {
        isHeld = false;
        if (halvings) rest = setTimeout(sharpen, 400);
    };
    window.addEventListener('pointerup', release, true);
    window.addEventListener('pointercancel', release, true);
    window.addEventListener('pointerrawupdate', event => {
        if (!isHeld || event.timeStamp < last.timeStamp + 12) return;
        last = event;
        event.target.dispatchEvent(new PointerEvent('pointermove', event));
    }, true);
    window.addEventListener('pointermove', event => {
        if (!isHeld || !event.isTrusted) return;
        // The browser repeats the last motion before the next frame.
        const isKnown = event.clientX === last.clientX && event.clientY === last.clientY;
        if (isKnown) event.stopImmediatePropagation();
        last = event;
        // Another resolution takes time, so the values of the motion come first.
        setTimeout(coarsen, 60);
    }, true);
    const panels = new ResizeObserver(([{target}]) => {
        // The first camera is for panels that are complete.
        if (!target.querySelector('[role="tab"]')) return;
        document.body.style.setProperty('--panels', `${target.offsetHeight}px`);
    });
    // viser makes other panels when the window gets narrow.
    let observed;
    new MutationObserver(() => {
        const found = document.querySelector('[style*="position: fixed"][style*="max-height: 60%"]');
        if (found === observed) return;
        if (observed) panels.unobserve(observed);
        if (found) panels.observe(found);
        observed = found;
    }).observe(document, {childList: true, subtree: true});
    let under = '', uuid;
    document.addEventListener('mouseover', event => {
        const row = event.target.closest?.('tr[data-take]');
        const value = row?.dataset.take ?? '';
        if (value === under || !socket) return;
        uuid = row?.closest('table').dataset.hover ?? uuid;
        under = value;
        post.call(socket, {type: 'send', message: {type: 'GuiUpdateMessage', uuid, updates: {value}}});
    });
    document.addEventListener('click', event => {
        const name = event.target.closest?.('tr[data-take]')?.dataset.take;
        const buttons = name ? document.querySelectorAll('button') : [];
        [...buttons].find(button => button.textContent.trim() === name)?.click();
        const copy = event.target.closest?.('button[data-copy]');
        const text = copy?.nextElementSibling;
        if (!text) return;
        getSelection().selectAllChildren(text);
        const done = () => { copy.textContent = 'Copied'; };
        // A page without encryption from another machine has no clipboard, but this older command.
        if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(done);
        else if (document.execCommand('copy')) done();
    });
})();</script>"""
"""The address of the websocket is always the page's own. Smooth edges take a processor as long to draw as everything else: each pixel is drawn four times."""


@functools.lru_cache(maxsize=4)
def add_script(body: bytes, is_packed: bool) -> bytes:
    """
    Return a page with the script of this package inserted after its head tag; unchanged without a head tag.

    :param body: bytes of the page, as the server sends them.
    :param is_packed: whether they are compressed by gzip; the result is so, too.
    """
    page = gzip.decompress(body) if is_packed else body
    if HEAD not in page:
        return body
    page = page.replace(HEAD, HEAD + SCRIPT, 1)
    return gzip.compress(page) if is_packed else page
