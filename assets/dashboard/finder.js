// Global search, keyboard navigation in lists, remembered filters and column selection.

(() => {
  const finder = document.getElementById('finder');
  const field = finder.querySelector('input');
  const results = document.getElementById('found');
  const state = finder.querySelector('[data-found-state]');
  const options = () => [...results.querySelectorAll('[role="option"]')];
  const debounceMs = 120;
  let only = '';
  let latestRequest = 0;
  let timer;

  /** Path of the current list page without the publisher, so that another publisher opens on the same page. */
  const section = () => {
    const current = document.querySelector('.sidebar nav a[aria-current="page"]');
    return current === null ? '' : new URL(current.href).pathname.replace(/^\/dashboard\/p\/\d+/, '');
  };

  function choose(option) {
    for (const other of options()) other.setAttribute('aria-selected', String(other === option));
    if (option) {
      field.setAttribute('aria-activedescendant', option.id);
      option.scrollIntoView({ block: 'nearest' });
    } else field.removeAttribute('aria-activedescendant');
  }

  async function search() {
    const requestNumber = ++latestRequest;
    const query = new URLSearchParams({ q: field.value, only, section: section() });
    const response = await fetch(`${finder.dataset.url}?${query}`, { headers: { 'hx-request': 'true' } }).catch(
      () => null,
    );
    if (requestNumber !== latestRequest) return;
    if (response?.status !== 200) {
      const redirectUrl = response?.headers.get('hx-redirect');
      if (redirectUrl) location.assign(redirectUrl);
      state.textContent = message('searchFailed');
      return;
    }
    results.innerHTML = await response.text();
    if (field.value === '' && only === '') results.prepend(...pageLists.groups());
    const count = options().length;
    state.textContent = message('results', { count });
    choose(options()[0]);
  }

  function openFinder(kind) {
    only = kind;
    field.value = '';
    field.placeholder = message(kind === 'publishers' ? 'publisherPlaceholder' : 'finderPlaceholder');
    finder.setAttribute('aria-label', message(kind === 'publishers' ? 'switchPublisher' : 'search'));
    results.replaceChildren();
    finder.showModal();
    search();
  }

  field.addEventListener('input', () => {
    latestRequest++;
    clearTimeout(timer);
    timer = setTimeout(search, debounceMs);
  });
  field.addEventListener('keydown', (event) => {
    const all = options();
    const at = all.findIndex((option) => option.getAttribute('aria-selected') === 'true');
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && all.length > 0) {
      event.preventDefault();
      choose(all[(at + step + all.length) % all.length]);
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      all[at]?.click();
    }
    // The browser would only empty the search field.
    if (event.key === 'Escape') {
      event.preventDefault();
      finder.close();
    }
  });
  finder.addEventListener('click', ({ target }) => {
    if (target === finder) finder.close();
  });

  for (const opener of document.querySelectorAll('[data-find]')) {
    opener.hidden = false;
    opener.addEventListener('click', (event) => {
      event.preventDefault();
      openFinder(opener.dataset.find);
    });
  }

  /** Returns the first link in each table row of the page. */
  const rowLinks = () =>
    [...document.querySelectorAll('main .table tbody tr')].flatMap((row) => row.querySelector('a[href]') ?? []);

  function step(by) {
    const links = rowLinks();
    if (links.length === 0) return false;
    const row = document.activeElement.closest?.('tr');
    const at = links.findIndex((link) => link.closest('tr') === row);
    const next = at === -1 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1);
    links[next].focus();
    links[next].scrollIntoView({ block: 'nearest' });
    return true;
  }

  const isTyping = (target) => target.closest?.('input, textarea, select, dialog') !== null;

  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey) {
      event.preventDefault();
      if (!document.querySelector('dialog[open]')) openFinder('');
      return;
    }
    if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]')) return;
    if (isTyping(target)) return;
    const inRow = target.closest?.('main .table tbody tr');
    const by = { j: 1, k: -1, ...(inRow && { ArrowDown: 1, ArrowUp: -1 }) }[key];
    if (by !== undefined) {
      if (step(by)) event.preventDefault();
    } else if (key === '/') {
      event.preventDefault();
      openFinder('');
    } else if (key === '?') {
      event.preventDefault();
      document.getElementById('shortcuts').showModal();
    }
  });

  // Each tab remembers the filters of a list page and applies them again when the list is opened.
  const storageKey = (path) => `filters ${path}`;
  const filters = document.querySelector('form.filters[role="search"]');
  if (filters !== null) {
    const query = new URLSearchParams(
      [...new URLSearchParams(location.search)].filter(([name, value]) => name !== 'cursor' && value !== ''),
    );
    if (query.size > 0) {
      sessionStorage.setItem(storageKey(location.pathname), String(query));
      const clear = document.createElement('a');
      clear.className = 'button quiet';
      clear.textContent = message('clearFilters');
      clear.href = location.pathname;
      clear.addEventListener('click', () => sessionStorage.removeItem(storageKey(location.pathname)));
      const apply = filters.querySelector('button');
      const buttons = document.createElement('div');
      buttons.className = 'actions';
      apply.replaceWith(buttons);
      buttons.append(apply, clear);
    } else sessionStorage.removeItem(storageKey(location.pathname));
  }
  for (const link of document.querySelectorAll('.sidebar nav a, .trail a')) {
    const query = sessionStorage.getItem(storageKey(link.pathname));
    if (query !== null && link.search === '') link.search = query;
  }

  // Columns can be hidden, except the first and those without a visible heading. The browser stores the choice.
  const hiddenColumns = (name) => JSON.parse(localStorage.getItem(`columns ${name}`) ?? '[]');
  function applyColumns(table, name) {
    const hidden = hiddenColumns(name);
    const headings = [...table.querySelectorAll('thead th')];
    for (const row of table.querySelectorAll('tr'))
      for (const [at, cell] of [...row.cells].entries())
        cell.classList.toggle('hidden-column', hidden.includes(headings[at]?.textContent.trim()));
  }

  function columnBox(table, name, text) {
    const label = document.createElement('label');
    label.className = 'check';
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = !hiddenColumns(name).includes(text);
    box.addEventListener('change', () => {
      const others = hiddenColumns(name).filter((column) => column !== text);
      localStorage.setItem(`columns ${name}`, JSON.stringify(box.checked ? others : [...others, text]));
      applyColumns(table, name);
    });
    label.append(box, ` ${text}`);
    return label;
  }

  function pageActions() {
    const head = document.querySelector('.page-head');
    const existing = head.querySelector('.actions');
    if (existing !== null) return existing;
    const actions = document.createElement('div');
    actions.className = 'actions';
    head.append(actions);
    return actions;
  }

  const minColumns = 4;
  const holders = filters === null ? [] : document.querySelectorAll('main .table');
  for (const holder of holders) {
    const table = holder.querySelector('table');
    const name = table.caption.textContent.trim();
    const [, ...texts] = [...table.querySelectorAll('thead th:not(:has(.sr))')].map((heading) =>
      heading.textContent.trim(),
    );
    if (texts.length + 1 < minColumns) continue;
    const menu = document.createElement('details');
    menu.className = 'dropdown columns-menu';
    const summary = document.createElement('summary');
    summary.className = 'button';
    summary.textContent = holders.length > 1 ? `${message('columns')}: ${name}` : message('columns');
    const body = document.createElement('div');
    body.className = 'dropdown-body';
    body.append(...texts.map((text) => columnBox(table, name, text)));
    menu.append(summary, body);
    pageActions().prepend(menu);
    applyColumns(table, name);
  }
})();
