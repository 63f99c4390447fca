// What was typed survives the end of the session: it waits in this tab for the next sign-in of the same user.
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
  const isField = ({ name, type }) => name && !/^_(csrf|rows)$/.test(name) && !/^(submit|button|file)$/.test(type);
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
  // A page that refreshes itself is led to the sign-in while something is typed.
  document.addEventListener('htmx:beforeOnLoad', ({ detail }) => {
    if (detail.xhr.getResponseHeader('hx-redirect') === null) return;
    for (const form of edited) if (form.isConnected) keep(form);
    edited.clear();
  });

  /** A form with rows, as the server draws it from what was typed; nothing is saved by it. */
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
    const left = [...fields];
    for (const control of controlsOf(form)) {
      const { name, type, value, checked } = control;
      if (type === 'checkbox' || type === 'radio')
        control.checked = fields.some((field) => field[0] === name && field[1] === value);
      else {
        const at = left.findIndex((field) => field[0] === name);
        if (at >= 0) control.value = left.splice(at, 1)[0][1];
      }
      if (control.value === value && control.checked === checked) continue;
      control.dispatchEvent(new Event('input', { bubbles: true }));
      for (let outer = control.closest('details'); outer; outer = outer.parentElement.closest('details'))
        outer.open = true;
    }
  }

  function tellRestored(form, hadSecrets) {
    edited.add(form);
    const words = document.createElement('p');
    words.textContent = message(hadSecrets ? 'draftRestoredWithoutSecrets' : 'draftRestored');
    const told = document.createElement('div');
    told.className = 'notice warn';
    told.setAttribute('role', 'alert');
    told.append(words);
    form.prepend(told);
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
    tellRestored(form, draft.hadSecrets);
  }

  const draft = read();
  if (document.querySelector('.entrance') !== null) {
    if (draft === null) return;
    const next = document.querySelector('.entrance input[name="next"]');
    const links = document.querySelectorAll('.entrance a[href*="?next="]');
    // A confirmation leads nowhere else: it does itself what was asked for.
    if (next === null && links.length === 0) return;
    if (next !== null) next.value = draft.page;
    for (const link of links) link.search = `?next=${encodeURIComponent(draft.page)}`;
    write({ ...draft, hasEnded: true });
    return;
  }
  const restored = sessionStorage.getItem(restoredKey);
  sessionStorage.removeItem(restoredKey);
  const drawn = document.querySelector('form[data-rows]');
  if (restored !== null && drawn !== null) tellRestored(drawn, false);
  if (draft?.hasEnded && draft.user === user()) {
    // Until then it waits, as for a user who must set up a second factor first.
    if (draft.page === here()) restore(draft);
  } else forget();
})();
