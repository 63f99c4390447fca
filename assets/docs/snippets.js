/* Code snippets: the copy button, the language choice, and the reader's keys in examples. */
(() => {
  function element(name, text, className) {
    const node = document.createElement(name);
    node.textContent = text;
    if (className) node.className = className;
    return node;
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

  /** Shows one language in all samples. */
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
          // Without storage, the choice applies to this page only.
        }
      });
      row.append(button);
    }
    group.prepend(row);
  }
  if (samples.length > 0) {
    const languages = [...samples[0].querySelectorAll('.sample')].map(({ dataset }) => dataset.language);
    let storedLanguage = null;
    try {
      storedLanguage = localStorage.getItem(languageKey);
    } catch {
      // Without storage, the first language is shown.
    }
    choose(languages.includes(storedLanguage) ? storedLanguage : languages[0]);
  }

  const own = document.querySelector('.own');
  if (own === null) return;
  const storageKey = 'perkwire.docs.own';
  /** Characters of keys and IDs. Shells and HTML pages do not interpret any of them. */
  const isKey = /^[\w-]{1,200}$/;
  const placeholders = [...document.querySelectorAll('[data-own]')].map((element) => ({
    element,
    example: element.textContent,
  }));
  let values = {};
  try {
    values = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}');
  } catch {
    // Without storage, keys apply to this page only.
  }
  function show() {
    for (const { element, example } of placeholders) {
      const value = values[element.dataset.own];
      element.textContent = isKey.test(value ?? '') ? value : example;
    }
  }
  const fields = [...document.querySelectorAll('[data-own-field]')];
  for (const input of fields) {
    const name = input.dataset.ownField;
    input.value = values[name] ?? '';
    input.addEventListener('input', () => {
      values[name] = input.value.trim();
      for (const other of fields) if (other !== input && other.dataset.ownField === name) other.value = values[name];
      input.setCustomValidity(
        values[name] === '' || isKey.test(values[name]) ? '' : 'Use only letters, digits, hyphens and underscores.',
      );
      try {
        sessionStorage.setItem(storageKey, JSON.stringify(values));
      } catch {
        // Without storage, keys apply to this page only.
      }
      show();
    });
  }
  own.hidden = placeholders.length === 0;
  show();
})();
