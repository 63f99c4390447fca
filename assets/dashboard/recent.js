// Pinned and recently opened pages. The browser stores both lists for each user until the user signs out.

window.pageLists = (() => {
  const maxRecent = 8;
  const maxPinned = 12;
  const { user } = document.querySelector('.sidebar').dataset;
  const nameOf = (kind) => `${kind} pages ${user}`;
  const read = (kind) => JSON.parse(localStorage.getItem(nameOf(kind)) ?? '[]');
  const write = (kind, pages) => localStorage.setItem(nameOf(kind), JSON.stringify(pages));
  const without = (pages, { path }) => pages.filter((page) => page.path !== path);

  /** Removes the lists of all users, except those with the given names. */
  function forget(...except) {
    for (const name of Object.keys(localStorage))
      if (/^(pinned|recent) pages /.test(name) && !except.includes(name)) localStorage.removeItem(name);
  }

  /** Returns the open page. `detail` says which list and publisher it belongs to, if this is not obvious. */
  function openPage() {
    const area = [...document.querySelectorAll('.trail a')].at(-1)?.textContent;
    const publisher = document.querySelector('a.publisher strong')?.textContent;
    return {
      path: location.pathname,
      text: document.querySelector('h1').textContent,
      detail: [area, publisher].filter(Boolean).join(' · '),
    };
  }

  function linkTo({ path, text }) {
    const link = document.createElement('a');
    link.href = path;
    link.textContent = text;
    return link;
  }

  function showPinned() {
    const nav = document.querySelector('[data-pinned]');
    if (nav === null) return;
    // Pages of other publishers are only listed in the search.
    const shown = read('pinned').filter(
      ({ path }) => path.startsWith(nav.dataset.pinned) || !/^\/dashboard\/p\//.test(path),
    );
    nav.hidden = shown.length === 0;
    nav.querySelector('ul').replaceChildren(
      ...shown.map((page) => {
        const item = document.createElement('li');
        item.append(linkTo(page));
        return item;
      }),
    );
  }

  /** Returns a group of options for the search dialog, or nothing if there are no pages. */
  function group(kind, pages) {
    if (pages.length === 0) return [];
    const element = document.createElement('div');
    const title = document.createElement('p');
    title.id = `${kind}-pages`;
    title.textContent = message(kind);
    element.setAttribute('role', 'group');
    element.setAttribute('aria-labelledby', title.id);
    const options = pages.map((page, index) => {
      const option = linkTo(page);
      option.id = `${kind}-page-${index}`;
      option.tabIndex = -1;
      option.setAttribute('role', 'option');
      const detail = document.createElement('small');
      detail.textContent = page.detail;
      option.append(detail);
      return option;
    });
    element.append(title, ...options);
    return [element];
  }

  const pin = document.querySelector('[data-pin]');
  forget(nameOf('pinned'), nameOf('recent'));
  if (pin !== null) {
    const page = openPage();
    const isPinned = () => read('pinned').some(({ path }) => path === page.path);
    const show = () => {
      pin.setAttribute('aria-pressed', String(isPinned()));
      showPinned();
    };
    write('recent', [page, ...without(read('recent'), page)].slice(0, maxRecent + 1));
    pin.hidden = false;
    pin.addEventListener('click', () => {
      const others = without(read('pinned'), page);
      write('pinned', isPinned() ? others : [...others, page].slice(-maxPinned));
      show();
    });
    show();
  } else showPinned();

  document.addEventListener('submit', ({ target }) => {
    if (/\/(sign-out|sessions\/all\/end)$/.test(target.getAttribute('action') ?? '')) forget();
  });

  return {
    /** Returns the groups of pinned and recent pages for the search dialog. The open page is not a recent page. */
    groups() {
      const pinned = read('pinned');
      const isListed = ({ path }) => path === location.pathname || pinned.some((page) => page.path === path);
      const recent = read('recent').filter((page) => !isListed(page));
      return [...group('pinned', pinned), ...group('recent', recent.slice(0, maxRecent))];
    },
  };
})();
