/* API reference and event catalogue: forms to run calls, links to closed events, and the current sidebar entry. */
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

  /** The choice to allow changes applies to all calls until the tab is closed. */
  const allowKey = 'perkwire-allow-changes';
  const allowances = [...document.querySelectorAll('.try input[name=allow]')];

  /** Shows the choice in all forms. Until changes are allowed, calls without a dry run can't be made. */
  function showAllowance() {
    const isAllowed = sessionStorage.getItem(allowKey) === 'yes';
    for (const input of allowances) {
      input.checked = isAllowed;
      const isDry = !isAllowed && 'dryRun' in input.dataset;
      const button = input.form.querySelector('button[type=submit]');
      button.disabled = !isAllowed && !isDry;
      button.textContent = isDry ? 'Run without changes' : 'Run';
      if (input.form.elements.dry_run) input.form.elements.dry_run.value = isDry ? 'true' : '';
    }
  }

  for (const input of allowances)
    input.addEventListener('change', () => {
      sessionStorage.setItem(allowKey, input.checked ? 'yes' : 'no');
      showAllowance();
    });
  showAllowance();

  for (const part of document.querySelectorAll('.try')) {
    part.hidden = false;
    const form = part.querySelector('form');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form, part.querySelector('.outcome'));
    });
  }

  /** Opens the event that the address names. */
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches('details')) {
      target.open = true;
      target.scrollIntoView();
    }
  }
  addEventListener('hashchange', openTarget);
  openTarget();

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
  for (const section of document.querySelectorAll('section.operation, details.event')) observer.observe(section);
})();
