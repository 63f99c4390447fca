/* The API reference: calls that can be tried, and the place of the reader in the list at the side. */
(() => {
  const maxShown = 100_000;

  /** The call that the fields of a form describe; what is empty is not sent. */
  function callOf(form) {
    const fields = [...form.querySelectorAll('[data-in]')].filter(({ value }) => value !== '');
    const valuesIn = (place) =>
      fields.filter(({ dataset }) => dataset.in === place).map(({ name, value }) => [name, value]);
    let path = form.dataset.path;
    for (const [name, value] of valuesIn('path')) path = path.replace(`{${name}}`, encodeURIComponent(value));
    const query = new URLSearchParams(valuesIn('query'));
    const headers = Object.fromEntries(valuesIn('header'));
    const key = form.elements.key?.value.trim();
    const body = form.elements.body?.value.trim();
    if (key) headers.authorization = `Bearer ${key}`;
    if (body) headers['content-type'] = 'application/json';
    const options = { method: form.dataset.method, headers, redirect: 'manual', ...(body && { body }) };
    return { url: query.size === 0 ? path : `${path}?${query}`, options };
  }

  /** Text as it is, JSON with indents; of anything else only what it is. */
  async function readAnswer(answer) {
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    if (type === 'text/event-stream') {
      await answer.body.cancel();
      return 'A stream of events has begun, and was closed.';
    }
    if (!/^text\/|json|xml/.test(type)) {
      const { size } = await answer.blob();
      return size === 0 ? '' : `${type}, ${size} bytes`;
    }
    const text = await answer.text();
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  async function send(form, outcome) {
    const status = outcome.querySelector('[role=status]');
    const shown = outcome.querySelector('pre');
    shown.hidden = true;
    status.textContent = 'Sending …';
    const { url, options } = callOf(form);
    const startedAt = performance.now();
    try {
      const answer = await fetch(url, options);
      const durationMs = Math.round(performance.now() - startedAt);
      const isRedirect = answer.type === 'opaqueredirect';
      const text = isRedirect ? '' : await readAnswer(answer);
      const name = isRedirect ? 'Redirect' : `${answer.status} ${answer.statusText}`.trim();
      status.textContent = `${name}, ${durationMs} ms`;
      shown.textContent = text.slice(0, maxShown);
      shown.hidden = text === '';
    } catch {
      status.textContent = 'The service could not be reached.';
    }
  }

  for (const part of document.querySelectorAll('.try')) {
    part.hidden = false;
    const form = part.querySelector('form');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form, part.querySelector('.outcome'));
    });
  }

  const links = new Map(
    [...document.querySelectorAll('nav.guides a[href^="#"]')].map((link) => [link.getAttribute('href').slice(1), link]),
  );
  if (links.size === 0) return;
  const observer = new IntersectionObserver(
    (entries) => {
      const seen = entries.find(({ isIntersecting }) => isIntersecting);
      if (seen === undefined) return;
      for (const link of links.values()) link.removeAttribute('aria-current');
      links.get(seen.target.id)?.setAttribute('aria-current', 'true');
    },
    { rootMargin: '-20% 0px -70%' },
  );
  for (const section of document.querySelectorAll('section.operation')) observer.observe(section);
})();
