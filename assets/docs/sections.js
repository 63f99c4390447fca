/* The list of pages is longer than the screen. It is scrolled to the open page. */
{
  const list = document.querySelector('nav.guides');
  const current = list?.querySelector('[aria-current="page"]');
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
}

/* Long pages on phones: each section of a guide and each call of the API reference opens from its heading. */
(() => {
  const phone = matchMedia('(max-width: 52rem)');
  /** Pages of up to this many screens stay open. */
  const maxScreens = 3;
  if (!phone.matches || document.documentElement.scrollHeight <= maxScreens * innerHeight) return;

  /** Returns the elements below a heading, up to the next one. */
  function bodyOf(heading) {
    const elements = [];
    for (let next = heading.nextElementSibling; next && next.tagName !== 'H2'; next = next.nextElementSibling)
      elements.push(next);
    return elements;
  }

  /** Moves a heading and its text into an element that is closed until its heading is pressed. */
  function collapse(heading, elements) {
    const part = document.createElement('details');
    const summary = document.createElement('summary');
    part.className = 'part';
    heading.querySelector('.anchor')?.remove();
    heading.before(part);
    summary.append(heading);
    part.append(summary, ...elements);
    return part;
  }

  const parts = [...document.querySelectorAll('article > h2')].map((heading) => collapse(heading, bodyOf(heading)));
  for (const call of document.querySelectorAll('section.operation')) {
    const heading = call.querySelector('h2');
    const [line] = bodyOf(heading);
    const part = collapse(heading, []);
    part.firstChild.append(line);
    call.prepend(part);
    part.append(...call.querySelectorAll(':scope > .about, :scope > .beside'));
    parts.push(part);
  }

  const list = document.getElementById('list');
  const title = document.createElement('h2');
  title.textContent = list.getAttribute('aria-label');
  list.prepend(title);
  parts.push(collapse(title, [...list.children].slice(1)));

  /** Opens the part that contains the target of the address. */
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = target?.closest('details.part') ?? target?.querySelector('details.part');
    if (!part) return;
    part.open = true;
    target.scrollIntoView();
  }
  addEventListener('hashchange', openTarget);
  openTarget();
  phone.addEventListener('change', () => {
    for (const part of parts) part.open = !phone.matches;
  });
})();
