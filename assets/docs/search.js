/* Search in the guides, the API reference and the event catalogue. */
(() => {
  const search = document.querySelector('.search');
  const field = search.querySelector('input');
  const results = search.querySelector('.found');
  const status = results.querySelector('[role=status]');
  const list = results.querySelector('ul');
  const maxResults = 12;
  const excerptLength = 110;
  let index = null;

  const loadIndex = () => {
    index ??= fetch(search.dataset.index).then((response) => response.json());
    return index;
  };

  const endings = /(?:ations?|ating|ated|ates?|ions?|ings?|ied|ies|ed|es|e|s|y)$/;
  const minStem = 3;

  /** Returns the stem shared by the forms of a word: "rot" for "rotate", "rotating" and "rotation". */
  function stemOf(word) {
    const stem = word.replace(endings, '');
    return stem.length < minStem ? word : stem.replace(/([bdgmnpt])\1$/, '$1');
  }

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

  /** Matches a word as typed or in another form, such as "rotate" in "Rotating the token keys". */
  function matcherOf(word) {
    const stem = stemOf(word);
    const isForm = (other) => stemOf(other) === stem;
    const begins = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(stem)}\\p{L}*`, 'giu');
    return {
      has: (text) => text.includes(word) || (text.match(begins) ?? []).some(isForm),
      indexIn: (text) => {
        const at = text.indexOf(word);
        return at >= 0 ? at : text.search(begins);
      },
    };
  }

  /** Scores an index row: headings count most, then page names, then text. Returns 0 if a word is missing. */
  function scoreOf([, page, heading, text], words) {
    const sections = [
      [heading.toLowerCase(), 10],
      [page.toLowerCase(), 4],
      [text.toLowerCase(), 1],
    ];
    let score = 0;
    for (const word of words) {
      const best = sections.find(([content]) => word.has(content));
      if (best === undefined) return 0;
      score += best[1];
    }
    return score;
  }

  function excerptOf(text, words) {
    const at = Math.max(0, ...words.map((word) => word.indexIn(text.toLowerCase())));
    const from = Math.max(0, at - 40);
    const to = from + excerptLength;
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${text.length > to ? '…' : ''}`;
  }

  function element(name, text, className) {
    const node = document.createElement(name);
    node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  async function find() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean).map(matcherOf);
    if (words.length === 0) {
      results.hidden = true;
      return;
    }
    const query = field.value;
    const rows = await loadIndex();
    if (field.value !== query) return;
    const hits = rows
      .map((row) => ({ row, score: scoreOf(row, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, maxResults);
    status.textContent = hits.length === 0 ? 'No results.' : hits.length === 1 ? '1 result' : `${hits.length} results`;
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
    results.hidden = false;
  }

  /** Opens the first result. The index may still be loading. */
  async function openFirst() {
    await find();
    if (!results.hidden) list.querySelector('a')?.click();
  }

  search.hidden = false;
  field.addEventListener('focus', () => void loadIndex());
  field.addEventListener('input', () => void find());
  list.addEventListener('click', () => {
    results.hidden = true;
  });
  document.addEventListener('click', (event) => {
    if (!search.contains(event.target)) results.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Escape' && search.contains(document.activeElement)) {
      results.hidden = true;
      field.focus();
    } else if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    } else if (event.key === 'Enter' && document.activeElement === field && !event.isComposing) {
      void openFirst();
    } else if (event.key === 'ArrowDown' && !results.hidden && (at >= 0 || document.activeElement === field)) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)]?.focus();
    } else if (event.key === 'ArrowUp' && at >= 0) {
      event.preventDefault();
      (links[at - 1] ?? field).focus();
    }
  });
})();
