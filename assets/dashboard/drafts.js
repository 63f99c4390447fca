// Keeps form input when a session expires: this tab stores it until the same user signs in again.
// Passwords, codes and secrets (`data-secret`) are never stored.

(() => {
  const draftKey = 'draft';
  const restoredKey = 'restored';
  const read = () => JSON.parse(sessionStorage.getItem(draftKey) ?? 'null');
  const write = (draft) => sessionStorage.setItem(draftKey, JSON.stringify(draft));
  const forget = () => sessionStorage.removeItem(draftKey);
  const user = () => document.querySelector('.account strong')?.textContent ?? null;
  const here = () => location.pathname + location.search;

  const isSecret = ({ type, autocomplete, dataset }) =>
    type === 'password' || autocomplete === 'one-time-code' || dataset.secret !== undefined;
  const isField = ({ name, type }) =>
    name && !/^_(csrf|once|rows|optional)$/.test(name) && !/^(submit|button|file)$/.test(type);
  const controlsOf = (form) => [...form.elements].filter((control) => isField(control) && !isSecret(control));

  function keep(form) {
    if (form?.dataset.keep === undefined) return;
    const controls = controlsOf(form);
    if (controls.every(({ type }) => type === 'hidden')) return;
    const names = new Set(controls.map(({ name }) => name));
    write({
      user: user(),
      page: form.dataset.keep || here(),
      action: form.getAttribute('action'),
      rows: form.dataset.rows !== undefined,
      fields: [...new FormData(form)].filter(([name]) => names.has(name)),
      hadSecrets: [...form.elements].some((control) => isSecret(control) && control.value !== control.defaultValue),
    });
  }
  document.addEventListener('submit', (event) => {
    if (!event.defaultPrevented) keep(event.target);
  });
  document.addEventListener('htmx:beforeRequest', ({ detail }) => keep(detail.elt.form));
  document.addEventListener('htmx:afterSettle', forget);
  // If a background refresh finds that the session has expired, it redirects to the sign-in page during typing.
  document.addEventListener('htmx:beforeOnLoad', ({ detail }) => {
    if (detail.xhr.getResponseHeader('hx-redirect') === null) return;
    for (const form of edited) if (form.isConnected) keep(form);
    edited.clear();
  });

  /** Submits the stored fields of a form with rows, so that the server renders it again. `_rows=keep` saves nothing. */
  function draw({ action, fields }) {
    const form = document.createElement('form');
    form.method = 'post';
    form.action = action;
    form.hidden = true;
    const csrf = document.querySelector('input[name="_csrf"]').value;
    for (const [name, value] of [...fields, ['_csrf', csrf], ['_rows', 'keep']]) {
      const input = document.createElement('textarea');
      input.name = name;
      input.value = value;
      form.append(input);
    }
    document.body.append(form);
    form.submit();
  }

  function fill(form, { fields }) {
    const remaining = [...fields];
    for (const control of controlsOf(form)) {
      const { name, type, value, checked } = control;
      if (type === 'checkbox' || type === 'radio')
        control.checked = fields.some((field) => field[0] === name && field[1] === value);
      else {
        const at = remaining.findIndex((field) => field[0] === name);
        if (at >= 0) control.value = remaining.splice(at, 1)[0][1];
      }
      if (control.value === value && control.checked === checked) continue;
      control.dispatchEvent(new Event('input', { bubbles: true }));
      for (let details = control.closest('details'); details; details = details.parentElement.closest('details')) {
        // Sections with the same name would close each other.
        details.removeAttribute('name');
        details.open = true;
      }
    }
  }

  function showRestoredNotice(form, hadSecrets) {
    edited.add(form);
    const paragraph = document.createElement('p');
    paragraph.textContent = message(hadSecrets ? 'draftRestoredWithoutSecrets' : 'draftRestored');
    const notice = document.createElement('div');
    notice.className = 'notice warn';
    notice.setAttribute('role', 'alert');
    notice.append(paragraph);
    form.prepend(notice);
  }

  function restore(draft) {
    forget();
    if (draft.rows) {
      sessionStorage.setItem(restoredKey, 'yes');
      return draw(draft);
    }
    const form = document.querySelector(`form[data-keep][action="${CSS.escape(draft.action)}"]`);
    if (form === null) return;
    fill(form, draft);
    showRestoredNotice(form, draft.hadSecrets);
  }

  const draft = read();
  if (document.querySelector('.entrance') !== null) {
    if (draft === null) return;
    const next = document.querySelector('.entrance input[name="next"]');
    const links = document.querySelectorAll('.entrance a[href*="?next="]');
    // Pages that only confirm an action do not redirect, so they have no `next` page.
    if (next === null && links.length === 0) return;
    if (next !== null) next.value = draft.page;
    for (const link of links) link.search = `?next=${encodeURIComponent(draft.page)}`;
    write({ ...draft, hasEnded: true });
    return;
  }
  const restored = sessionStorage.getItem(restoredKey);
  sessionStorage.removeItem(restoredKey);
  const renderedForm = document.querySelector('form[data-rows]');
  if (restored !== null && renderedForm !== null) showRestoredNotice(renderedForm, false);
  if (draft?.hasEnded && draft.user === user()) {
    // Other pages keep the draft, such as the page where a user must first set up a second factor.
    if (draft.page === here()) restore(draft);
  } else forget();
})();
