/* Open the folded sections around the target of a link, and all of them before the page is printed. */
'use strict';

function openTarget() {
  let name;
  try {
    name = decodeURIComponent(window.location.hash.slice(1));
  } catch {
    return;
  }
  const target = name ? document.getElementById(name) : null;
  if (!target) return;
  const own = target.matches('section') ? target.querySelector(':scope > details.fold') : null;
  let fold = own || target.closest('details.fold');
  const around = fold;
  while (fold) {
    fold.open = true;
    fold = fold.parentElement.closest('details.fold');
  }
  if (around) target.scrollIntoView();
}

window.addEventListener('DOMContentLoaded', openTarget);
window.addEventListener('hashchange', openTarget);
/* A second click on the same link changes no hash. */
document.addEventListener('click', (event) => {
  const link = event.target.closest && event.target.closest('a[href*="#"]');
  if (link && link.hash && link.hash === window.location.hash) setTimeout(openTarget);
});
window.addEventListener('beforeprint', () => {
  document.querySelectorAll('details.fold').forEach((fold) => (fold.open = true));
});
