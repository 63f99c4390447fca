// What was typed survives the end of the session: it waits in this tab for the next sign-in of the same user.

(() => {
  const draftKey = 'draft';
  const read = () => JSON.parse(sessionStorage.getItem(draftKey) ?? 'null');
  const user = () => document.querySelector('.account strong')?.textContent ?? null;

  function keep(form, submitter) {
    if (form?.dataset.keep === undefined) return;
    const fields = [...new FormData(form, submitter)].filter(
      ([name, value]) => typeof value === 'string' && name !== '_csrf' && name !== '_rows',
    );
    const page = location.pathname + location.search;
    sessionStorage.setItem(
      draftKey,
      JSON.stringify({ user: user(), page, action: form.getAttribute('action'), fields }),
    );
  }
  document.addEventListener('submit', (event) => {
    if (!event.defaultPrevented) keep(event.target, event.submitter);
  });
  document.addEventListener('htmx:beforeRequest', ({ detail }) => keep(detail.elt.form));
  document.addEventListener('htmx:afterSettle', () => sessionStorage.removeItem(draftKey));

  /** The page after the sign-in shows the form as it was typed; nothing is saved by it. */
  function restore({ action, fields }) {
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
    sessionStorage.setItem('restored', 'yes');
    form.submit();
  }

  const draft = read();
  const next = document.querySelector('.entrance input[name="next"]');
  if (document.querySelector('.entrance') !== null) {
    if (draft !== null && next !== null) {
      next.value = draft.page;
      sessionStorage.setItem(draftKey, JSON.stringify({ ...draft, hasEnded: true }));
    }
    return;
  }
  sessionStorage.removeItem(draftKey);
  if (sessionStorage.getItem('restored') !== null) {
    sessionStorage.removeItem('restored');
    const form = document.querySelector('form[data-keep]');
    if (form !== null) edited.add(form);
    toast(message('draftRestored'), 'failed');
  } else if (draft?.hasEnded && draft.user === user()) restore(draft);
})();
