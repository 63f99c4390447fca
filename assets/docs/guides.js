/* The guides: search over all of them, copying of snippets, and the reader's keys in them. */
(() => {
  const search = document.querySelector('.search');
  const field = search.querySelector('input');
  const found = search.querySelector('.found');
  const status = found.querySelector('[role=status]');
  const list = found.querySelector('ul');
  const maxFound = 12;
  const shownText = 110;
  let index = null;

  const loadIndex = () => {
    index ??= fetch(search.dataset.index).then((answer) => answer.json());
    return index;
  };

  /** Better the earlier a word stands: in the heading, in the page's name, in the text; 0: a word is missing. */
  function scoreOf([, page, heading, text], words) {
    const places = [
      [heading.toLowerCase(), 10],
      [page.toLowerCase(), 4],
      [text.toLowerCase(), 1],
    ];
    let score = 0;
    for (const word of words) {
      const best = places.find(([place]) => place.includes(word));
      if (best === undefined) return 0;
      score += best[1];
    }
    return score;
  }

  function excerptOf(text, words) {
    const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
    const from = Math.max(0, at - 40);
    return `${from > 0 ? '…' : ''}${text.slice(from, from + shownText)}${text.length > from + shownText ? '…' : ''}`;
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  async function find() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) {
      found.hidden = true;
      return;
    }
    const asked = field.value;
    const rows = await loadIndex();
    if (field.value !== asked) return;
    const hits = rows
      .map((row) => ({ row, score: scoreOf(row, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, maxFound);
    status.textContent = hits.length === 0 ? 'Nothing found.' : `${hits.length} found`;
    list.replaceChildren(
      ...hits.map(({ row: [href, page, heading, text] }) => {
        const link = document.createElement('a');
        link.href = href;
        link.append(element('strong', heading), element('small', page), element('span', excerptOf(text, words)));
        const item = document.createElement('li');
        item.append(link);
        return item;
      }),
    );
    found.hidden = false;
  }

  search.hidden = false;
  field.addEventListener('focus', () => void loadIndex());
  field.addEventListener('input', () => void find());
  list.addEventListener('click', () => {
    found.hidden = true;
  });
  document.addEventListener('click', (event) => {
    if (!search.contains(event.target)) found.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Escape' && search.contains(document.activeElement)) {
      found.hidden = true;
      field.focus();
    } else if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    } else if (event.key === 'ArrowDown' && !found.hidden && (at >= 0 || document.activeElement === field)) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)]?.focus();
    } else if (event.key === 'ArrowUp' && at >= 0) {
      event.preventDefault();
      (links[at - 1] ?? field).focus();
    }
  });

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

  const own = document.querySelector('.own');
  if (own === null) return;
  const storageKey = 'perkwire.guides.own';
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
  for (const input of own.querySelectorAll('[data-own-field]')) {
    const name = input.dataset.ownField;
    input.value = values[name] ?? '';
    input.addEventListener('input', () => {
      values[name] = input.value.trim();
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
