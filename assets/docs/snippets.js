/* Snippets: copying, the choice of the language, and the reader's keys in them. */
(() => {
  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  for (const code of document.querySelectorAll('.code')) {
    const button = element('button', 'Copy', 'copy');
    button.type = 'button';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2000);
    });
    if (navigator.clipboard) code.append(button);
  }

  const languageKey = 'perkwire.docs.language';
  const samples = [...document.querySelectorAll('.samples')];

  /** Shows this language in all samples, and remembers it. */
  function choose(language) {
    for (const group of samples) {
      for (const sample of group.querySelectorAll('.sample')) sample.hidden = sample.dataset.language !== language;
      for (const button of group.querySelectorAll('.languages button'))
        button.setAttribute('aria-pressed', String(button.textContent === language));
    }
  }

  for (const group of samples) {
    const row = document.createElement('div');
    row.className = 'languages';
    for (const { dataset } of group.querySelectorAll('.sample')) {
      const button = element('button', dataset.language);
      button.type = 'button';
      button.addEventListener('click', () => {
        const before = button.getBoundingClientRect().top;
        choose(dataset.language);
        scrollBy(0, button.getBoundingClientRect().top - before);
        try {
          localStorage.setItem(languageKey, dataset.language);
        } catch {
          // Without storage, the choice is good for this page.
        }
      });
      row.append(button);
    }
    group.prepend(row);
  }
  if (samples.length > 0) {
    const known = [...samples[0].querySelectorAll('.sample')].map(({ dataset }) => dataset.language);
    let chosen = null;
    try {
      chosen = localStorage.getItem(languageKey);
    } catch {
      // As above.
    }
    choose(known.includes(chosen) ? chosen : known[0]);
  }

  const own = document.querySelector('.own');
  if (own === null) return;
  const storageKey = 'perkwire.docs.own';
  /** What keys and ids are made of: nothing that a shell or a page would read otherwise. */
  const isKey = /^[\w-]{1,200}$/;
  const places = [...document.querySelectorAll('[data-own]')].map((place) => ({ place, example: place.textContent }));
  let values = {};
  try {
    values = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}');
  } catch {
    // Without storage, keys are good for this page.
  }
  function show() {
    for (const { place, example } of places) {
      const value = values[place.dataset.own];
      place.textContent = isKey.test(value ?? '') ? value : example;
    }
  }
  const fields = [...document.querySelectorAll('[data-own-field]')];
  for (const input of fields) {
    const name = input.dataset.ownField;
    input.value = values[name] ?? '';
    input.addEventListener('input', () => {
      values[name] = input.value.trim();
      for (const other of fields) if (other !== input && other.dataset.ownField === name) other.value = values[name];
      input.setCustomValidity(values[name] === '' || isKey.test(values[name]) ? '' : 'This is not a key.');
      try {
        sessionStorage.setItem(storageKey, JSON.stringify(values));
      } catch {
        // As above.
      }
      show();
    });
  }
  own.hidden = places.length === 0;
  show();
})();
