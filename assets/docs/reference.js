/* API reference: forms to try calls, and the highlight of the current operation in the sidebar. */
(() => {
  const maxTextLength = 100_000;

  /** Builds the request from a form's fields. Empty fields are not sent. */
  function callOf(form) {
    const fields = [...form.querySelectorAll('[data-in]')].filter(({ value }) => value !== '');
    const valuesIn = (location) =>
      fields.filter(({ dataset }) => dataset.in === location).map(({ name, value }) => [name, value]);
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

  /** Returns the response body as text. JSON is indented. For binary data, returns only its type and size. */
  async function readBody(response) {
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    if (type === 'text/event-stream') {
      await response.body.cancel();
      return 'The event stream was opened and then closed.';
    }
    if (!/^text\/|json|xml/.test(type)) {
      const { size } = await response.blob();
      return size === 0 ? '' : `${type}, ${size} bytes`;
    }
    const text = await response.text();
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  async function send(form, outcome) {
    const status = outcome.querySelector('[role=status]');
    const output = outcome.querySelector('pre');
    output.hidden = true;
    status.textContent = 'Sending…';
    const { url, options } = callOf(form);
    const startedAt = performance.now();
    try {
      const response = await fetch(url, options);
      const durationMs = Math.round(performance.now() - startedAt);
      const isRedirect = response.type === 'opaqueredirect';
      const text = isRedirect ? '' : await readBody(response);
      const name = isRedirect ? 'Redirect' : `${response.status} ${response.statusText}`.trim();
      status.textContent = `${name}, ${durationMs} ms`;
      output.textContent = text.slice(0, maxTextLength);
      output.hidden = text === '';
    } catch {
      status.textContent = 'Could not reach the service.';
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
      const visible = entries.find(({ isIntersecting }) => isIntersecting);
      if (visible === undefined) return;
      for (const link of links.values()) link.removeAttribute('aria-current');
      links.get(visible.target.id)?.setAttribute('aria-current', 'true');
    },
    { rootMargin: '-20% 0px -70%' },
  );
  for (const section of document.querySelectorAll('section.operation')) observer.observe(section);
})();
